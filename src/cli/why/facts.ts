/** What is asked of the cluster to explain an object: every question once. What may not be read, or is not there, is nothing. */
import { type Event as ClusterEvent, events } from '../../api/gen/core-v1.ts';
import { builtinResources } from '../../api/schema.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isForbidden, isNotFound } from '../../apimachinery/status.ts';
import type { Client, ObjectReference } from '../../client/client.ts';
import { discover } from '../../client/discovery.ts';
import { type Cause, type CauseList, causesPath } from '../../reconcile/causes.ts';
import type { Reason } from './explanation.ts';

export class Facts {
  readonly client: Client;
  readonly nowMs: number;
  readonly #alone: readonly Cause[];
  readonly #asked = new Map<string, Promise<unknown>>();

  /** `alone` is what components said that run in processes of their own. */
  constructor(client: Client, nowMs: number, alone: readonly Cause[] = []) {
    this.client = client;
    this.nowMs = nowMs;
    this.#alone = alone;
  }

  get<T extends KubeObject>(type: ResourceType<T>, ref: ObjectReference): Promise<T | undefined> {
    const key = `${type.group}/${type.resource} ${ref.namespace ?? ''}/${ref.name}`;
    return this.#once(key, () => this.client.get(type, ref).catch(unlessMissing));
  }

  list<T extends KubeObject>(type: ResourceType<T>, namespace?: string): Promise<readonly T[]> {
    const key = `${type.group}/${type.resource} ${namespace ?? '*'}`;
    return this.#once(key, async () => (await this.client.list(type, { namespace }).catch(unlessMissing))?.items ?? []);
  }

  /** By kind, plural, singular or short name, whatever its case: built in, else as the server tells; undefined for one that it has not. */
  async type(word: string): Promise<ResourceType<KubeObject> | undefined> {
    const wanted = word.toLowerCase();
    const builtin = builtinResources().find((row) => isCalled(row, wanted) && !row.external);
    if (builtin) {
      const { group, version, resource, kind, singular, namespaced, shortNames, categories, verbs } = builtin;
      return { group, version, resource, kind, singular, namespaced, shortNames, categories, verbs, subresources: [] };
    }
    const { preferred } = await this.#once('types', () => discover(this.client));
    return preferred.find((type) => isCalled(type, wanted));
  }

  /** What components say themselves: those of the control plane, and the kubelet of the node that the object is on. */
  async causes(
    kind: string,
    { namespace, name }: ObjectReference,
    nodeName: string | undefined,
  ): Promise<readonly Reason[]> {
    const [together, own] = await Promise.all([
      this.#causesAt(causesPath),
      nodeName === undefined ? [] : this.#causesAt(`/api/v1/nodes/${nodeName}/proxy${causesPath}`),
    ]);
    return [...together, ...this.#alone, ...own]
      .filter(
        ({ about }) => about.kind === kind && about.name === name && (about.namespace ?? '') === (namespace ?? ''),
      )
      .map(({ message, by, since, until, waitsFor }) => ({
        text: message,
        source: by,
        since,
        until,
        because: waitsFor?.map((subject) => ({ ...subject, kind: subject.kind.toLowerCase() })),
      }));
  }

  /** A server without such a page, or that nobody reaches, says nothing. */
  #causesAt(path: string): Promise<readonly Cause[]> {
    return this.#once(path, async () => {
      const answer = await this.client.raw({ method: 'GET', path }).catch(() => undefined);
      return (answer as Partial<CauseList> | undefined)?.items ?? [];
    });
  }

  /** The newest warnings about the object, one of each reason. */
  async warnings(object: KubeObject): Promise<readonly Reason[]> {
    const { namespace = 'default', uid } = object.metadata;
    const about = (await this.list(events, namespace)).filter(
      (event) => event.type === 'Warning' && event.involvedObject.uid === uid,
    );
    const newest = about.toSorted((a, b) => timeOf(b).localeCompare(timeOf(a)));
    const seen = new Set<string | undefined>();
    return newest
      .filter(({ reason }) => !seen.has(reason) && seen.add(reason))
      .slice(0, 3)
      .map((event) => ({
        text: `${event.reason}: ${event.message}`,
        source: `event of ${event.source?.component ?? event.reportingComponent ?? 'unknown'}`,
        since: timeOf(event) || undefined,
      }));
  }

  #once<T>(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#asked.get(key) as Promise<T> | undefined;
    if (known) return known;
    const asked = ask();
    this.#asked.set(key, asked);
    return asked;
  }
}

function isCalled(
  { kind, resource, singular, shortNames }: Pick<ResourceType, 'kind' | 'resource' | 'singular' | 'shortNames'>,
  wanted: string,
): boolean {
  return [kind.toLowerCase(), resource, singular, ...shortNames].includes(wanted);
}

function timeOf({ firstTimestamp, eventTime }: ClusterEvent): string {
  return firstTimestamp ?? eventTime ?? '';
}

function unlessMissing(error: unknown): undefined {
  if (isNotFound(error) || isForbidden(error)) return undefined;
  throw error;
}
