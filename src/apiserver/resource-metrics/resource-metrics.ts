/**
 * `metrics.k8s.io`: what nodes and Pods use, as `kubectl top` and the HorizontalPodAutoscaler ask for it. This server answers itself what
 * elsewhere a metrics-server does behind an APIService; where an APIService names such a server, that one answers.
 */
import { apiServices } from '../../api/gen/apiregistration-v1.ts';
import { nodes as nodeType, type Pod, pods as podType } from '../../api/gen/core-v1.ts';
import { type NodeMetrics, nodeMetrics, type PodMetrics, podMetrics } from '../../api/gen/metrics-v1beta1.ts';
import { clusterRoles } from '../../api/gen/rbac-v1.ts';
import { builtinSchema } from '../../api/schema.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { apiVersionOf } from '../../apimachinery/resource.ts';
import { genericServerResponse, isAlreadyExists, isNotFound, notFound } from '../../apimachinery/status.ts';
import { formatDuration, formatTime } from '../../apimachinery/time.ts';
import type { Client } from '../../client/client.ts';
import { resourceListDocument } from '../discovery/plain-documents.ts';
import type { RemoteApis } from '../remote-apis.ts';
import type { ApiResponse, Handler, RequestInfo } from '../request.ts';
import { type MeasurementOptions, Measurements } from './measurements.ts';
import type { Usage } from './samples.ts';

export { kubeletPages } from './kubelet-pages.ts';

const { group, version } = nodeMetrics;
const apiVersion = apiVersionOf(nodeMetrics);
const rootPath = `/apis/${apiVersion}`;
const rank = { group, version, groupPriority: 100, versionPriority: 100 };

/** What a cluster knows it by, and who may read it: everybody who may view. Made when missing; what somebody changed stays. */
export async function registerResourceMetrics(client: Client): Promise<void> {
  const { groupPriority: groupPriorityMinimum, versionPriority } = rank;
  const unlessThere = (error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  };
  const spec = { group, version, groupPriorityMinimum, versionPriority };
  await client.create(apiServices, { metadata: { name: `${version}.${group}` }, spec }).catch(unlessThere);
  const aggregated = ['view', 'edit', 'admin'].map((to) => [`rbac.authorization.k8s.io/aggregate-to-${to}`, 'true']);
  const metadata = { name: 'system:aggregated-metrics-reader', labels: Object.fromEntries(aggregated) };
  const rules = [{ apiGroups: [group], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] }];
  await client.create(clusterRoles, { metadata, rules }).catch(unlessThere);
}

export function resourceMetricsApi(options: MeasurementOptions): RemoteApis {
  const resources = builtinSchema().document.resources.filter((row) => row.group === group && row.version === version);
  const document = resourceListDocument({ ...rank, apiVersion, resources });
  const reader = new MetricsReader(options);
  const answer: Handler = async (request, info) => {
    if (request.path === rootPath && request.method === 'GET') return objectOf(document);
    const isKnown =
      info.isResource && info.subresource === '' && resources.some((row) => row.resource === info.resource);
    if (!isKnown) throw genericServerResponse({ code: 404, method: request.method });
    if (info.verb === 'get') return objectOf(await reader.one(info));
    if (info.verb === 'list') return objectOf(await reader.all(info));
    throw genericServerResponse({ code: 405, method: request.method });
  };
  return {
    handler: (path) => (path === rootPath || path.startsWith(`${rootPath}/`) ? answer : undefined),
    discovered: { resources, ranks: [rank] },
    openApi: { v2: [], v3: {} },
    documented: resources,
  };
}

function objectOf(object: unknown): ApiResponse {
  return { status: 200, headers: {}, body: { kind: 'object', object } };
}

class MetricsReader {
  readonly #options: MeasurementOptions;
  readonly #measurements: Measurements;

  constructor(options: MeasurementOptions) {
    this.#options = options;
    this.#measurements = new Measurements(options);
  }

  /** Throws 404 where nothing is known of it. */
  async one(info: RequestInfo): Promise<NodeMetrics | PodMetrics> {
    const { client, signal } = this.#options;
    await this.#measurements.wanted();
    const isPod = info.resource === podMetrics.resource;
    const name = isPod ? `${info.namespace}/${info.name}` : info.name;
    const unknown = () => notFound(isPod ? podMetrics : nodeMetrics, name);
    const ref = { name: info.name, namespace: isPod ? info.namespace : undefined };
    const object = await client.get<KubeObject>(isPod ? podType : nodeType, ref, { signal }).catch((error: unknown) => {
      throw isNotFound(error) ? unknown() : error;
    });
    const found = isPod ? this.#pod(object as Pod) : this.#node(object);
    if (!found) throw unknown();
    return found;
  }

  async all({ resource, namespace, labelSelector, fieldSelector }: RequestInfo): Promise<object> {
    const { client, signal } = this.#options;
    await this.#measurements.wanted();
    const selection = { labelSelector, fieldSelector, signal, resourceVersion: '0' };
    const isPod = resource === podMetrics.resource;
    const items = isPod
      ? (await client.list(podType, { ...selection, namespace: namespace || undefined })).items.map((pod) =>
          this.#pod(pod),
        )
      : (await client.list(nodeType, selection)).items.map((node) => this.#node(node));
    const kind = `${isPod ? podMetrics.kind : nodeMetrics.kind}List`;
    return { kind, apiVersion, metadata: {}, items: items.filter((item) => item !== undefined) };
  }

  #node({ metadata }: KubeObject): NodeMetrics | undefined {
    const usage = this.#measurements.node(metadata.name ?? '');
    return usage && { ...this.#envelope(nodeMetrics.kind, metadata, usage), usage: usage.usage };
  }

  /** Nothing for a Pod that does not run. */
  #pod({ metadata, spec, status }: Pod): PodMetrics | undefined {
    if (status?.phase !== 'Running') return undefined;
    const containers = this.#measurements.pod(spec.nodeName ?? '', `${metadata.namespace}/${metadata.name}`);
    const [first] = containers?.values() ?? [];
    if (!containers || !first) return undefined;
    return {
      ...this.#envelope(podMetrics.kind, metadata, first),
      containers: [...containers].map(([name, { usage }]) => ({ name, usage })),
    };
  }

  #envelope(kind: string, { name, namespace, labels }: KubeObject['metadata'], { atMs, windowMs }: Usage) {
    const creationTimestamp = formatTime(this.#options.clock.now());
    const metadata = { name, ...(namespace ? { namespace } : {}), creationTimestamp, ...(labels ? { labels } : {}) };
    return { kind, apiVersion, metadata, timestamp: formatTime(atMs), window: formatDuration(windowMs) };
  }
}

/** Both as one: what is the first's answers for it, the second for the rest. */
export function joinedApis(first: RemoteApis, second: RemoteApis): RemoteApis {
  let joined: { readonly from: RemoteApis['discovered']; readonly result: RemoteApis['discovered'] } | undefined;
  return {
    handler: (path) => first.handler(path) ?? second.handler(path),
    get discovered() {
      const from = first.discovered;
      // The same object as long as nothing changes: documents are made anew for another.
      if (joined?.from !== from) joined = { from, result: joinedDiscovery(from, second.discovered) };
      return joined.result;
    },
    get openApi() {
      return first.openApi;
    },
    get documented() {
      return second.documented?.filter(isFreeBeside(first.discovered));
    },
  };
}

/** Whether nobody of these serves the group version. */
function isFreeBeside({ resources, ranks }: RemoteApis['discovered']) {
  const taken = new Set([...resources, ...ranks].map(apiVersionOf));
  return (of: { readonly group: string; readonly version: string }) => !taken.has(apiVersionOf(of));
}

function joinedDiscovery(first: RemoteApis['discovered'], second: RemoteApis['discovered']): RemoteApis['discovered'] {
  const isFree = isFreeBeside(first);
  return {
    resources: [...first.resources, ...second.resources.filter(isFree)],
    ranks: [...first.ranks, ...second.ranks.filter(isFree)],
  };
}
