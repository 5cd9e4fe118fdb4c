/**
 * What the server says it serves: `/api`, `/apis`, `/apis/GROUP`, `/api/v1`, `/apis/GROUP/VERSION`, and all of it in one document
 * for clients that ask for it (aggregated discovery). A `Discovery` is an immutable picture of one moment: when resources come or go
 * (a CustomResourceDefinition, an APIService, a switch in `--runtime-config`), a new one is made. Documents are made when first asked
 * for, encoded once, and carry an ETag of their content.
 */
import { createHash } from 'node:crypto';
import { builtinCodec, builtinSchema } from '../../api/schema.ts';
import { wrapMessage } from '../../apimachinery/protobuf/envelope.ts';
import { apiVersionOf } from '../../apimachinery/resource.ts';
import { type AggregatedVersion, aggregatedList } from './aggregated.ts';
import type { DiscoveredGroup, DiscoveredResource, DiscoveredVersion, VersionRank } from './discovered.ts';
import { groupDocument, groupListDocument, resourceListDocument, versionsDocument } from './plain-documents.ts';
import { compareVersions } from './version-order.ts';

export interface DiscoveryInput {
  readonly resources: readonly DiscoveredResource[];
  /** Overrides the built-in ranks. A version listed here is shown even if it has no resources. */
  readonly ranks?: readonly VersionRank[] | undefined;
  /** `10.0.0.1:6443`: where clients reach the server, for `/api`. */
  readonly serverAddress?: string;
}

export interface DiscoveryDocument {
  readonly body: Buffer;
  readonly contentType: string;
  /** Quoted, as the header has it. */
  readonly etag: string;
}

/** Custom resources' rank, and that of whatever has none of its own. */
const commonRank = { groupPriority: 1000, versionPriority: 100 };

export class Discovery {
  /** In the order of `/apis`; the core group is first. */
  readonly groups: readonly DiscoveredGroup[];
  readonly #serverAddress: string;
  readonly #documents = new Map<string, DiscoveryDocument | undefined>();

  constructor({ resources, ranks = [], serverAddress = '' }: DiscoveryInput) {
    this.groups = groupsOf(resources, ranks);
    this.#serverAddress = serverAddress;
  }

  /**
   * The document at a path (without trailing slash) in the best form the Accept header allows; undefined when there is none. Only
   * `/api` and `/apis` have the aggregated form.
   */
  document(path: string, accept: string | undefined): DiscoveryDocument | undefined {
    const { mediaType, aggregated } = formOf(accept, path === '/api' || path === '/apis');
    const key = `${path} ${mediaType} ${aggregated ?? ''}`;
    if (!this.#documents.has(key)) this.#documents.set(key, this.#make(path, { mediaType, aggregated }));
    return this.#documents.get(key);
  }

  #make(path: string, { mediaType, aggregated }: DocumentForm): DiscoveryDocument | undefined {
    const content = aggregated ? this.#aggregated(path, aggregated) : this.#plain(path);
    if (content === undefined) return undefined;
    const body = mediaType === protobuf ? protobufDocument(content) : Buffer.from(`${JSON.stringify(content)}\n`);
    const etag = `"${createHash('sha512').update(body).digest('hex').toUpperCase()}"`;
    const parameters = aggregated ? `;g=apidiscovery.k8s.io;v=${aggregated};as=APIGroupDiscoveryList` : '';
    return { body, etag, contentType: `${mediaType}${parameters}` };
  }

  #aggregated(path: string, version: AggregatedVersion): object {
    const groups = this.groups.filter((group) => (group.name === '') === (path === '/api'));
    return aggregatedList(groups, version);
  }

  #plain(path: string): object | undefined {
    const [root, ...rest] = path.slice(1).split('/');
    if (root === 'api' && rest.length === 0) return versionsDocument(this.#group(''), this.#serverAddress);
    if (root === 'apis' && rest.length === 0)
      return groupListDocument(this.groups.filter((group) => group.name !== ''));
    if (root === 'api') return rest.length === 1 ? this.#version('', rest[0]!) : undefined;
    if (root !== 'apis' || rest[0] === '') return undefined;
    const group = this.#group(rest[0]!);
    if (rest.length === 1) return group && groupDocument(group);
    return rest.length === 2 ? this.#version(rest[0]!, rest[1]!) : undefined;
  }

  #group(name: string): DiscoveredGroup | undefined {
    return this.groups.find((group) => group.name === name);
  }

  #version(group: string, version: string): object | undefined {
    const found = this.#group(group)?.versions.find((candidate) => candidate.version === version);
    return found && resourceListDocument(found);
  }
}

function groupsOf(resources: readonly DiscoveredResource[], ranks: readonly VersionRank[]): DiscoveredGroup[] {
  const versions = new Map<
    string,
    VersionRank & { readonly apiVersion: string; readonly resources: DiscoveredResource[] }
  >();
  const known = new Map([...builtinRanks(), ...ranks].map((rank) => [apiVersionOf(rank), rank]));
  for (const rank of ranks)
    versions.set(apiVersionOf(rank), { ...rank, apiVersion: apiVersionOf(rank), resources: [] });
  for (const resource of resources) {
    const apiVersion = apiVersionOf(resource);
    const { group, version } = resource;
    const entry = versions.get(apiVersion) ?? {
      ...(known.get(apiVersion) ?? { group, version, ...commonRank }),
      apiVersion,
      resources: [],
    };
    entry.resources.push(resource);
    versions.set(apiVersion, entry);
  }
  const groups = new Map<string, DiscoveredVersion[]>();
  for (const entry of versions.values()) {
    entry.resources.sort((a, b) => compareText(a.resource, b.resource));
    const members = groups.get(entry.group);
    if (members) members.push(entry);
    else groups.set(entry.group, [entry]);
  }
  const result = [...groups].map(([name, members]) => ({ name, versions: members.sort(compareRanks) }));
  return result.sort((a, b) => topPriority(b) - topPriority(a) || compareText(firstService(a), firstService(b)));
}

function builtinRanks(): VersionRank[] {
  return builtinSchema().document.groups.flatMap((group) =>
    group.versions.map(({ version, versionPriority }) => ({
      group: group.group,
      version,
      // The core group leads, whatever numbers others give themselves.
      groupPriority: group.group === '' ? Number.MAX_SAFE_INTEGER : group.groupPriority,
      versionPriority,
    })),
  );
}

function compareRanks(a: VersionRank, b: VersionRank): number {
  return b.versionPriority - a.versionPriority || compareVersions(a.version, b.version);
}

function topPriority(group: DiscoveredGroup): number {
  return Math.max(...group.versions.map((version) => version.groupPriority));
}

/** Name of the group's first APIService: decides between groups of equal priority. */
function firstService(group: DiscoveredGroup): string {
  return `${group.versions[0]!.version}.${group.name}`;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const json = 'application/json';
const protobuf = 'application/vnd.kubernetes.protobuf';

interface DocumentForm {
  readonly mediaType: typeof json | typeof protobuf;
  /** Undefined stands for the plain documents. */
  readonly aggregated: AggregatedVersion | undefined;
}

/** The first clause of the Accept header that this server can meet decides. */
function formOf(accept: string | undefined, canAggregate: boolean): DocumentForm {
  for (const clause of (accept ?? '').split(',')) {
    const [range, ...parameters] = clause.split(';').map((part) => part.trim());
    const mediaType = range === protobuf ? protobuf : jsonRanges.has(range ?? '') ? json : undefined;
    if (mediaType === undefined) continue;
    const values = new Map(parameters.map((parameter) => parameter.split('=', 2) as [string, string]));
    if (values.get('as') === undefined) return { mediaType, aggregated: undefined };
    const version = values.get('v');
    if (!canAggregate || values.get('as') !== 'APIGroupDiscoveryList') continue;
    if (values.get('g') !== 'apidiscovery.k8s.io') continue;
    if (version === 'v2' || version === 'v2beta1') return { mediaType, aggregated: version };
  }
  return { mediaType: json, aggregated: undefined };
}

const jsonRanges: ReadonlySet<string> = new Set([json, '*/*', 'application/*']);

/** Some plain documents carry no apiVersion, and their envelope none either; all are of `meta/v1`. */
function protobufDocument(content: object): Buffer {
  const { apiVersion = '', kind } = content as { readonly apiVersion?: string; readonly kind: string };
  const codec = builtinCodec();
  const type = codec.registry.typeOf(apiVersion || 'v1', kind)!;
  return wrapMessage(apiVersion, kind, codec.encodeMessage(content, type.id));
}
