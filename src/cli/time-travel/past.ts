/**
 * What an API server tells of the past: objects as they were, by lists of exactly an old version, which any server answers; the changes of one
 * object and the revision of a time, which ours does.
 */
import type { KubeObject } from '../../apimachinery/meta.ts';
import { notFound } from '../../apimachinery/status.ts';
import { formatTime, parseDuration, parseTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import { CommandError } from '../../cluster/command-error.ts';
import { findResource, type NamedResource } from './kinds.ts';

export interface PastObject {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: string;
  readonly time?: string;
  readonly object: KubeObject;
  /** Who asked for it, where an audit log was given: several, where it cannot tell which of them it was. */
  readonly users?: readonly string[];
}

export interface ObjectHistory {
  readonly sinceRevision: string;
  readonly earlierForgotten: boolean;
  readonly skipped: number;
  readonly items: readonly PastObject[];
}

export interface StoreHistory {
  readonly revision: string;
  readonly oldestRevision: string;
  readonly oldestTime?: string;
  readonly changes?: number;
  readonly bytes?: number;
  readonly storeBytes: number;
}

interface At {
  readonly revision: string;
  /** Where that is not the time that was asked for: when the revision is known to have been there. */
  readonly knownAt?: string;
}

export interface Target {
  readonly resource: NamedResource;
  readonly namespace: string | undefined;
  readonly name: string;
}

const page = '/coracle/v1/history';
const tables = 'application/json;as=Table;v=v1;g=meta.k8s.io';

export class Past {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #note: (text: string) => void;

  /** `note`: told what a person should know of an answer. */
  constructor(client: Client, { clock, note }: { readonly clock: Clock; readonly note: (text: string) => void }) {
    this.#client = client;
    this.#clock = clock;
    this.#note = note;
  }

  /** `deployment/web` */
  async target(text: string, namespace: string): Promise<Target> {
    const [kind = '', name = '', ...rest] = text.split('/');
    if (name === '' || rest.length > 0)
      throw new CommandError(`${JSON.stringify(text)} names no object.`, 'Write it as KIND/NAME: deployment/web.');
    return this.named(kind, { name, namespace });
  }

  async named(
    kind: string,
    { name, namespace }: { readonly name: string; readonly namespace: string | undefined },
  ): Promise<Target> {
    const resource = await findResource(this.#client, kind);
    return { resource, name, namespace: resource.namespaced ? namespace : undefined };
  }

  /** A revision as it is; a time (RFC 3339, or how long ago: `10m`) as what was the newest revision then. */
  async revisionAt(text: string): Promise<string> {
    if (/^\d+$/.test(text)) return text;
    const ago = parseDuration(text);
    const timeMs = ago === undefined ? parseTime(text) : this.#clock.now() - ago;
    if (timeMs === undefined)
      throw new CommandError(
        `${JSON.stringify(text)} is neither a revision nor a time.`,
        'Give a resourceVersion (1234), a time (2026-01-31T12:00:00Z), or how long ago (10m).',
      );
    const query = new Map([['at', formatTime(timeMs)]]);
    const { at } = (await this.#client.raw({ method: 'GET', path: page, query })) as { at: At };
    if (at.knownAt !== undefined)
      this.#note(
        `The store writes no times down: this is revision ${at.revision}, of ${at.knownAt} and the newest known of that time.`,
      );
    return at.revision;
  }

  kept(): Promise<StoreHistory> {
    return this.#client.raw({ method: 'GET', path: page }) as Promise<StoreHistory>;
  }

  history({ resource, namespace, name }: Target, limit: number): Promise<ObjectHistory> {
    const path = `${resource.pathIn(namespace)}/${name}/history`;
    const query = new Map([['limit', String(limit)]]);
    return this.#client.raw({ method: 'GET', path, query }) as Promise<ObjectHistory>;
  }

  /** Undefined: it did not exist. */
  async object(target: Target, revision: string | undefined): Promise<KubeObject | undefined> {
    const { items } = (await this.#list(target, revision)) as { items: readonly KubeObject[] };
    return items[0];
  }

  list(target: Target, revision: string): Promise<unknown> {
    return this.#list(target, revision);
  }

  table(target: Target, revision: string): Promise<unknown> {
    return this.#list(target, revision, tables);
  }

  missing({ resource, name }: Target): Error {
    return notFound({ group: '', resource: resource.name }, name);
  }

  #list({ resource, namespace, name }: Target, revision: string | undefined, accept?: string): Promise<unknown> {
    const query = new Map([
      ...(revision === undefined
        ? []
        : ([
            ['resourceVersion', revision],
            ['resourceVersionMatch', 'Exact'],
          ] as const)),
      ...(name === '' ? [] : ([['fieldSelector', `metadata.name=${name}`]] as const)),
    ]);
    return this.#client.raw({ method: 'GET', path: resource.pathIn(namespace), query, accept });
  }
}
