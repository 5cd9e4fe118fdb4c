/**
 * What remote servers say they serve, for this server's own discovery documents: asked of each server once for all its group versions, again
 * every minute and whenever its APIService changes, and marked stale while it does not answer. Servers without aggregated discovery
 * are asked for the plain document of the group version.
 */
import type { APIService } from '../../api/gen/apiregistration-v1.ts';
import { builtinSchema } from '../../api/schema.ts';
import type { APIResource } from '../../apimachinery/gen/meta-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type Controller, createController } from '../../reconcile/controller.ts';
import type { DiscoveredResource, VersionRank } from '../discovery/discovered.ts';
import type { DiscoveredApis } from '../remote-apis.ts';
import type { ServedResources } from '../resources.ts';
import { askJson, type JsonAnswer } from './remote-document.ts';
import type { RemoteEntry, RemoteRegistry } from './remote-registry.ts';

export interface RemoteDiscoveryOptions {
  readonly registry: RemoteRegistry;
  readonly resources: ServedResources;
}

interface Known {
  readonly resources: readonly DiscoveredResource[];
  readonly stale: boolean;
}

/** By `group/version`. */
type ResourcesByVersion = ReadonlyMap<string, readonly DiscoveredResource[]>;

/** What a server told, for all APIServices that name it. */
interface Told {
  readonly etag: string;
  readonly resources: ResourcesByVersion;
}

const refreshMs = 60_000;
const firstRetryMs = 500;
const accepted =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';
const asker = { name: 'system:kube-aggregator', groups: ['system:masters'] };

export class RemoteDiscovery {
  readonly #context: ComponentContext;
  readonly #options: RemoteDiscoveryOptions;
  readonly #controller: Controller;
  /** By APIService; what was known stays while its server is away. */
  readonly #known = new Map<string, Known>();
  /** By server. */
  readonly #told = new WeakMap<object, Told>();
  #services: readonly APIService[] = [];
  #discovered: DiscoveredApis = { resources: [], ranks: [] };

  constructor(context: ComponentContext, options: RemoteDiscoveryOptions) {
    this.#context = context;
    this.#options = options;
    this.#controller = createController(context, {
      name: 'discovery-manager',
      workers: 2,
      backoff: { baseDelayMs: firstRetryMs, maxDelayMs: refreshMs },
      reconcile: (name) => this.#refresh(name),
    });
  }

  /** Another object after each change. */
  get discovered(): DiscoveredApis {
    return this.#discovered;
  }

  /** Takes over what the objects say now, and asks the servers of those that changed. */
  update(services: readonly APIService[]): void {
    const before = new Map(this.#services.map((service) => [service.metadata.name, service]));
    this.#services = services;
    for (const service of services) {
      const { name = '' } = service.metadata;
      if (service.spec.service && before.get(name) !== service) this.#controller.enqueue(name);
    }
    this.#publish();
  }

  /** Runs until the context's signal is aborted. */
  run(): Promise<void> {
    return this.#controller.run();
  }

  async #refresh(name: string) {
    const entry = this.#options.registry.named(name);
    if (!entry) {
      this.#known.delete(name);
      this.#publish();
      return undefined;
    }
    try {
      if (!entry.available) throw new Error('service unavailable');
      const resources = await this.#ask(entry);
      this.#learn(name, { resources, stale: false });
    } catch (error) {
      if (this.#context.signal.aborted) return undefined;
      this.#context.log.debug('a remote API does not tell what it serves', { name, error: messageOf(error) });
      this.#learn(name, { resources: this.#known.get(name)?.resources ?? [], stale: true });
      // A server that is away is heard of by its APIService; one that answers badly is asked again.
      return { againAfterMs: entry.available ? firstRetryMs * 10 : refreshMs };
    }
    return { againAfterMs: refreshMs };
  }

  #learn(name: string, known: Known): void {
    const before = this.#known.get(name);
    this.#known.set(name, known);
    if (before && before.stale === known.stale && isSame(before.resources, known.resources)) return;
    this.#publish();
  }

  async #ask({ server, group, version }: RemoteEntry): Promise<readonly DiscoveredResource[]> {
    const { clock, signal } = this.#context;
    const told = this.#told.get(server);
    const ask = { server, user: asker, clock, signal };
    const answer = await askJson(ask, { path: '/apis', accept: accepted, etag: told?.etag });
    if (answer.status === 304 && told) return told.resources.get(`${group}/${version}`) ?? [];
    if (answer.status === 503) throw new Error('service unavailable');
    if (answer.status === 200 && isAggregated(answer)) {
      const resources = resourcesOf(answer.value);
      this.#told.set(server, { etag: answer.etag, resources });
      return resources.get(`${group}/${version}`) ?? [];
    }
    const path = `/apis/${group}/${version}`;
    const plain = await askJson({ ...ask, user: { ...asker, groups: [] } }, { path, accept: 'application/json' });
    if (plain.status !== 200) throw new Error(`failed to download legacy discovery for ${path}: ${plain.status}`);
    return plainResources(plain.value, { group, version });
  }

  #publish(): void {
    const { registry, resources: served } = this.#options;
    const resources: DiscoveredResource[] = [];
    const ranks: VersionRank[] = [];
    for (const { spec } of this.#services) {
      const { group = '', version = '', groupPriorityMinimum: groupPriority, versionPriority } = spec;
      const rank = { group, version, groupPriority, versionPriority };
      const entry = registry.of(group, version);
      if (entry) {
        const known = this.#known.get(entry.name) ?? { resources: [], stale: true };
        ranks.push({ ...rank, stale: known.stale });
        resources.push(...known.resources);
      } else if (group !== '' && served.hasVersion(group, version) && !isUsual(rank)) ranks.push(rank);
    }
    this.#discovered = { resources, ranks };
  }
}

/** What discovery shows of a version anyway. */
function isUsual({ group, version, groupPriority, versionPriority }: VersionRank): boolean {
  const known = builtinSchema().document.groups.find((candidate) => candidate.group === group);
  const usual = known?.versions.find((candidate) => candidate.version === version)?.versionPriority ?? 100;
  return groupPriority === (known?.groupPriority ?? 1000) && versionPriority === usual;
}

function isSame(a: readonly DiscoveredResource[], b: readonly DiscoveredResource[]): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function isAggregated({ contentType, value }: JsonAnswer): boolean {
  return contentType.includes('as=APIGroupDiscoveryList') && Array.isArray((value as { items?: unknown })?.items);
}

interface AggregatedSubresource {
  readonly subresource: string;
  readonly responseKind?: { readonly kind?: string; readonly group?: string; readonly version?: string };
  readonly verbs?: readonly string[];
}

interface AggregatedResource extends Omit<AggregatedSubresource, 'subresource'> {
  readonly resource: string;
  readonly scope?: string;
  readonly singularResource?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly AggregatedSubresource[];
}

interface AggregatedList {
  readonly items: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly { readonly version: string; readonly resources?: readonly AggregatedResource[] }[];
  }[];
}

/** A stranger's document: what has not the form that was asked for makes this throw, and the server counts as one that does not tell. */
function resourcesOf(document: unknown): ResourcesByVersion {
  const result = new Map<string, readonly DiscoveredResource[]>();
  for (const { metadata, versions = [] } of (document as AggregatedList).items) {
    for (const { version, resources = [] } of versions) {
      const at = { group: metadata?.name ?? '', version };
      result.set(
        `${at.group}/${version}`,
        resources.map((resource) => ({
          ...at,
          resource: text(resource.resource),
          kind: text(resource.responseKind?.kind ?? ''),
          singular: text(resource.singularResource ?? ''),
          namespaced: resource.scope === 'Namespaced',
          shortNames: texts(resource.shortNames),
          categories: texts(resource.categories),
          verbs: texts(resource.verbs),
          subresources: (resource.subresources ?? []).map(({ subresource, responseKind, verbs }) => ({
            name: text(subresource),
            kind: text(responseKind?.kind ?? ''),
            ...(responseKind?.group ? { group: text(responseKind.group) } : {}),
            ...(responseKind?.version ? { version: text(responseKind.version) } : {}),
            verbs: texts(verbs),
          })),
        })),
      );
    }
  }
  return result;
}

function plainResources(document: unknown, at: { readonly group: string; readonly version: string }) {
  const { resources } = document as { readonly resources: readonly APIResource[] };
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map(
      ({ name, kind, singularName, namespaced, shortNames, categories, verbs }): DiscoveredResource => ({
        ...at,
        resource: text(name),
        kind: text(kind),
        singular: text(singularName ?? ''),
        namespaced: namespaced === true,
        shortNames: texts(shortNames),
        categories: texts(categories),
        verbs: texts(verbs),
        subresources: resources
          .filter((other) => other.name.startsWith(`${name}/`))
          .map((other) => ({
            name: other.name.slice(name.length + 1),
            kind: text(other.kind),
            ...(other.group ? { group: text(other.group) } : {}),
            ...(other.version ? { version: text(other.version) } : {}),
            verbs: texts(other.verbs),
          })),
      }),
    );
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('a name in discovery is no text');
  return value;
}

function texts(values: readonly unknown[] | undefined): readonly string[] {
  return (values ?? []).map(text);
}
