/**
 * A process of clients: workers that write, read and list a few ConfigMaps of one namespace through one API server, and a watcher that goes
 * on where it was whatever happens. Everything they see is written down (`src/storage/history.fixture.ts`) and handed over when asked.
 * Moments are of the kernel's monotonic clock, which all processes of a machine share.
 */
import { type ConfigMap, configMaps, namespaces } from '../../src/api/gen/core-v1.ts';
import { isAlreadyExists, isExpired, StatusError } from '../../src/apimachinery/status.ts';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { type Random, seededRandom } from '../../src/base/random.ts';
import { createHttpTransport, type TlsOptions } from '../../src/client/http-transport.ts';
import { type Client, createClient, type ObjectList, type WatchEvent } from '../../src/client/index.ts';
import type {
  OperationRecord,
  WatchedEvent,
  WatchHistory,
  WriteOutcome,
  WriteRecord,
} from '../../src/storage/history.fixture.ts';

export interface LoadSettings {
  readonly name: string;
  readonly server: string;
  readonly tls: TlsOptions;
  readonly namespace: string;
  readonly workers: number;
  readonly keys: number;
  readonly seed: number;
}

export type LoadCommand =
  | { readonly do: 'start'; readonly settings: LoadSettings }
  /** Workers finish what they do and wait; answered with `paused`. */
  | { readonly do: 'pause' }
  /** One more write, until it is acknowledged; answered with `marked`. */
  | { readonly do: 'mark'; readonly value: string }
  /** Waits for the watcher to have seen this revision, then hands over all there is; answered with `records`. */
  | { readonly do: 'hand over'; readonly upTo: number; readonly withinMs: number }
  | { readonly do: 'resume' };

export type LoadMessage =
  | { readonly is: 'acknowledged'; readonly writes: number }
  | { readonly is: 'paused' }
  | { readonly is: 'marked'; readonly revision: number }
  /** Operations since the last time, and all of the watches. */
  | {
      readonly is: 'records';
      readonly operations: readonly OperationRecord[];
      readonly watches: readonly WatchHistory[];
    };

const callLimitMs = 2500;
const betweenCallsMs = 5;
const afterFailureMs = 60;

const nowMs = () => Number(process.hrtime.bigint()) / 1e6;
const revisionOf = ({ metadata }: { readonly metadata: { readonly resourceVersion?: string | undefined } }) =>
  Number(metadata.resourceVersion);

interface Watch {
  readonly afterRevision: number;
  upTo: number;
  readonly events: WatchedEvent[];
}

class Load {
  readonly #settings: LoadSettings;
  readonly #client: Client;
  readonly #random: Random;
  readonly #known = new Map<string, number>();
  readonly #watches: Watch[] = [];
  #operations: OperationRecord[] = [];
  #values = 0;
  #acknowledged = 0;
  #busy = 0;
  #resumed = Promise.withResolvers<void>();

  constructor(settings: LoadSettings) {
    this.#settings = settings;
    const { server, tls } = settings;
    const limits = { maxRetries: 0, pingAfterMs: 1000, pingTimeoutMs: 1000 };
    this.#client = createClient(createHttpTransport({ server, tls, clock: systemClock, ...limits }));
    this.#random = seededRandom(settings.seed);
    this.#resumed.resolve();
    void this.#begin();
  }

  async #begin(): Promise<void> {
    const { namespace, workers, name } = this.#settings;
    const create = () =>
      limited((signal) => this.#client.create(namespaces, { metadata: { name: namespace }, spec: {} }, { signal }));
    while (!(await create().then(() => true, isAlreadyExists))) await sleep(systemClock, afterFailureMs);
    for (let i = 0; i < workers; i++) void this.#work(`${name}.${i}`);
    void this.#watch();
  }

  async pause(): Promise<void> {
    this.#resumed = Promise.withResolvers<void>();
    while (this.#busy > 0) await sleep(systemClock, 5);
  }

  resume(): void {
    this.#resumed.resolve();
  }

  async mark(value: string): Promise<number> {
    for (let attempt = 0; ; attempt++) {
      const current = await this.#read('mark', true).catch(() => undefined);
      if (current !== undefined) {
        const record = await this.#put('mark', `${value}.${attempt}`, current);
        if (record.outcome === 'acknowledged') return record.revision!;
      }
      await sleep(systemClock, afterFailureMs);
    }
  }

  async handOver(upTo: number, withinMs: number): Promise<LoadMessage> {
    const until = nowMs() + withinMs;
    const watch = () => this.#watches.at(-1);
    while ((watch()?.events.at(-1)?.revision ?? 0) < upTo && nowMs() < until) await sleep(systemClock, 5);
    const last = watch();
    if (last) last.upTo = upTo;
    const operations = this.#operations;
    this.#operations = [];
    const watches = this.#watches.map((each, i) => ({ name: `${this.#settings.name}.${i}`, ...each }));
    return { is: 'records', operations, watches };
  }

  async #work(client: string): Promise<never> {
    for (;;) {
      await this.#resumed.promise;
      this.#busy++;
      const done = await this.#step(client).catch(() => false);
      this.#busy--;
      await sleep(systemClock, done ? betweenCallsMs : afterFailureMs);
    }
  }

  /** Whether there was an answer. */
  async #step(client: string): Promise<boolean> {
    const key = `k${Math.floor(this.#random.next() * this.#settings.keys)}`;
    const choice = this.#random.next();
    if (choice < 0.15) return (await this.#read(key, true, client)) >= 0;
    if (choice < 0.25) return (await this.#read(key, false, client)) >= 0;
    if (choice < 0.32) return this.#list(choice < 0.29, client);
    const expected = this.#known.get(key) ?? 0;
    const value = `${this.#settings.name}-${this.#values++}`;
    const remove = choice < 0.45 && expected > 0;
    const { outcome } = remove
      ? await this.#remove(key, expected, client)
      : await this.#put(key, value, expected, client);
    // Who has lost a race or had no answer looks before it writes again.
    if (outcome !== 'acknowledged') await this.#read(key, true, client);
    return outcome === 'acknowledged' || outcome === 'conflict';
  }

  async #put(key: string, value: string, expected: number, client = 'mark'): Promise<WriteRecord> {
    const { namespace } = this.#settings;
    const metadata = { namespace, name: key, ...(expected === 0 ? {} : { resourceVersion: String(expected) }) };
    const object: ConfigMap = { metadata, data: { value } };
    return this.#write({ kind: 'put', client, key, value, expected }, async (signal) => {
      const call = expected === 0 ? this.#client.create : this.#client.update;
      return revisionOf(await call.call(this.#client, configMaps, object, { signal }));
    });
  }

  #remove(key: string, expected: number, client: string): Promise<WriteRecord> {
    const { namespace } = this.#settings;
    return this.#write({ kind: 'remove', client, key, expected }, async (signal) => {
      const preconditions = { resourceVersion: String(expected) };
      await this.#client.delete(configMaps, { namespace, name: key }, { signal, preconditions });
      return undefined;
    });
  }

  async #write(
    what: Pick<WriteRecord, 'kind' | 'client' | 'key' | 'value' | 'expected'>,
    call: (signal: AbortSignal) => Promise<number | undefined>,
  ): Promise<WriteRecord> {
    const startedAt = nowMs();
    let outcome: WriteOutcome = 'acknowledged';
    let revision: number | undefined;
    try {
      revision = await limited(call);
      this.#known.set(what.key, revision ?? 0);
      process.send!({ is: 'acknowledged', writes: ++this.#acknowledged } satisfies LoadMessage);
    } catch (error) {
      outcome = outcomeOf(error);
    }
    const endedAt = outcome === 'unknown' ? Number.POSITIVE_INFINITY : nowMs();
    const record: WriteRecord = { ...what, startedAt, endedAt, outcome, revision };
    this.#operations.push(record);
    return record;
  }

  /** The revision that stands there, 0 for none; rejects when there is no answer. */
  async #read(key: string, fresh: boolean, client = 'mark'): Promise<number> {
    const { namespace } = this.#settings;
    const startedAt = nowMs();
    const found = await limited((signal) => {
      const version = fresh ? {} : { resourceVersion: '0' };
      return this.#client.get(configMaps, { namespace, name: key }, { signal, ...version });
    }).catch((error) => {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    });
    const revision = found ? revisionOf(found) : 0;
    const span = { startedAt, endedAt: nowMs() };
    this.#operations.push({ kind: 'read', client, key, fresh, revision, value: found?.data?.value, ...span });
    if (fresh) this.#known.set(key, revision);
    return revision;
  }

  async #list(fresh: boolean, client: string): Promise<true> {
    const startedAt = nowMs();
    const { namespace } = this.#settings;
    const version = fresh ? {} : { resourceVersion: '0' };
    const list = await limited((signal) => this.#client.list(configMaps, { namespace, signal, ...version }));
    this.#recordList(list, { startedAt, fresh, client });
    return true;
  }

  #recordList(
    list: ObjectList<ConfigMap>,
    about: { readonly startedAt: number; readonly fresh: boolean; readonly client: string },
  ): void {
    const entries = list.items.map((item) => ({
      key: item.metadata.name!,
      value: item.data!.value!,
      revision: revisionOf(item),
    }));
    const revision = Number(list.resourceVersion);
    this.#operations.push({ kind: 'list', ...about, revision, entries, endedAt: nowMs() });
  }

  /** Goes on after the last revision it heard of; begins anew, with a list, only when it is told that this is too old. */
  async #watch(): Promise<never> {
    const { namespace, name } = this.#settings;
    for (;;) {
      const startedAt = nowMs();
      const list = await limited((signal) => this.#client.list(configMaps, { namespace, signal })).catch(
        () => undefined,
      );
      if (!list) {
        await sleep(systemClock, afterFailureMs);
        continue;
      }
      this.#recordList(list, { startedAt, fresh: true, client: `${name}.watch` });
      const from = Number(list.resourceVersion);
      const watch: Watch = { afterRevision: from, upTo: from, events: [] };
      this.#watches.push(watch);
      while (!(await this.#follow(watch).catch((error) => isExpired(error)))) await sleep(systemClock, afterFailureMs);
    }
  }

  async #follow(watch: Watch): Promise<false> {
    const { namespace } = this.#settings;
    const after = watch.events.at(-1)?.revision ?? watch.afterRevision;
    const options = { namespace, resourceVersion: String(after), allowWatchBookmarks: true };
    for await (const event of this.#client.watch(configMaps, options)) {
      if (event.type === 'BOOKMARK') continue;
      watch.events.push(watched(event));
      watch.upTo = revisionOf(event.object);
    }
    return false;
  }
}

const eventTypes = { ADDED: 'created', MODIFIED: 'changed', DELETED: 'removed' } as const;

function watched({ type, object }: Exclude<WatchEvent<ConfigMap>, { readonly type: 'BOOKMARK' }>): WatchedEvent {
  const key = object.metadata.name!;
  return { type: eventTypes[type], key, revision: revisionOf(object), value: object.data?.value };
}

/** Whether the answer says for certain that nothing was written. */
function outcomeOf(error: unknown): WriteOutcome {
  if (!(error instanceof StatusError)) return 'unknown';
  if (error.code === 409 || error.code === 404) return 'conflict';
  const surely = [401, 403, 422, 429].includes(error.code) || /storage is unavailable/.test(error.message);
  return surely ? 'failed' : 'unknown';
}

async function limited<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = new AbortController();
  const timer = systemClock.after(callLimitMs, () => limit.abort(new Error('no answer in time')));
  try {
    return await call(limit.signal);
  } finally {
    timer.cancel();
  }
}

let load: Load | undefined;
process.on('disconnect', () => process.exit());
process.on('message', async (command: LoadCommand) => {
  const tell = (message: LoadMessage) => process.send!(message);
  if (command.do === 'start') load = new Load(command.settings);
  else if (command.do === 'resume') load!.resume();
  else if (command.do === 'pause') await load!.pause().then(() => tell({ is: 'paused' }));
  else if (command.do === 'mark') tell({ is: 'marked', revision: await load!.mark(command.value) });
  else tell(await load!.handOver(command.upTo, command.withinMs));
});
