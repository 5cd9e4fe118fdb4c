/** What is asked of the cluster to explain an object: every question once. What may not be read, or is not there, is nothing. */
import { type Event as ClusterEvent, events } from '../../api/gen/core-v1.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isForbidden, isNotFound } from '../../apimachinery/status.ts';
import type { Client, ObjectReference } from '../../client/client.ts';
import type { Cause } from '../../cluster/user-client.ts';
import type { Reason } from './explanation.ts';

export class Facts {
  readonly client: Client;
  readonly nowMs: number;
  readonly #asked = new Map<string, Promise<unknown>>();

  constructor(client: Client, nowMs: number) {
    this.client = client;
    this.nowMs = nowMs;
  }

  get<T extends KubeObject>(type: ResourceType<T>, ref: ObjectReference): Promise<T | undefined> {
    const key = `${type.group}/${type.resource} ${ref.namespace ?? ''}/${ref.name}`;
    return this.#once(key, () => this.client.get(type, ref).catch(unlessMissing));
  }

  list<T extends KubeObject>(type: ResourceType<T>, namespace?: string): Promise<readonly T[]> {
    const key = `${type.group}/${type.resource} ${namespace ?? '*'}`;
    return this.#once(key, async () => (await this.client.list(type, { namespace }).catch(unlessMissing))?.items ?? []);
  }

  /** What components of the control plane say themselves: nothing where they run in processes of their own. */
  async causes(kind: string, { namespace, name }: ObjectReference): Promise<readonly Reason[]> {
    const all = await this.#once('causes', async () => {
      const answer = await this.client.raw({ method: 'GET', path: '/debug/causes' }).catch(unlessMissing);
      return ((answer as { readonly items?: readonly Cause[] } | undefined)?.items ?? []) as readonly Cause[];
    });
    return all
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

function timeOf({ firstTimestamp, eventTime }: ClusterEvent): string {
  return firstTimestamp ?? eventTime ?? '';
}

function unlessMissing(error: unknown): undefined {
  if (isNotFound(error) || isForbidden(error)) return undefined;
  throw error;
}
