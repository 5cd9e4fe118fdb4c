/**
 * The two newest samples of every node. Nobody is asked while nobody asks: measuring begins with the first question, which waits for
 * the two samples that an answer needs, and ends when none has come for a while.
 */
import { nodes as nodeType } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Client } from '../../client/client.ts';
import type { ReadKubeletPage } from './kubelet-pages.ts';
import { type NodeSample, parseResourcePage, type Sample, type Usage, usageBetween } from './samples.ts';

export interface MeasurementOptions {
  /** Passes every check. */
  readonly client: Client;
  readonly readPage: ReadKubeletPage;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** As metrics-server's `--metric-resolution`. */
const periodMs = 15_000;
/** Between the first two samples, for which somebody waits. */
const firstPauseMs = 1000;
const idleMs = 5 * 60_000;
const answerWithinMs = 10_000;
const atOnce = 32;

interface Pair {
  readonly before: NodeSample | undefined;
  readonly after: NodeSample;
}

export class Measurements {
  readonly #options: MeasurementOptions;
  readonly #pairs = new Map<string, Pair>();
  #askedMs = 0;
  #first: Promise<void> | undefined;

  constructor(options: MeasurementOptions) {
    this.#options = options;
  }

  /** Resolves when there is something to tell. */
  async wanted(): Promise<void> {
    this.#askedMs = this.#options.clock.monotonic();
    this.#first ??= this.#begin();
    await this.#first;
  }

  node(name: string): Usage | undefined {
    const pair = this.#pairs.get(name);
    return usageBetween(pair?.before?.node, pair?.after.node);
  }

  /** By container; undefined unless all of them are known. */
  pod(nodeName: string, key: string): ReadonlyMap<string, Usage> | undefined {
    const pair = this.#pairs.get(nodeName);
    const before: ReadonlyMap<string, Sample> = pair?.before?.pods.get(key) ?? new Map();
    const found = [...(pair?.after.pods.get(key) ?? [])].map(
      ([container, sample]) => [container, usageBetween(before.get(container), sample)] as const,
    );
    if (found.length === 0 || found.some(([, usage]) => usage === undefined)) return undefined;
    return new Map(found as readonly (readonly [string, Usage])[]);
  }

  async #begin(): Promise<void> {
    const { clock, signal } = this.#options;
    await this.#measure();
    await sleep(clock, firstPauseMs, signal);
    await this.#measure();
    this.#goOn().catch(() => undefined);
  }

  /** Rejects when the server stops. */
  async #goOn(): Promise<void> {
    const { clock, signal } = this.#options;
    while (clock.monotonic() - this.#askedMs < idleMs) {
      await sleep(clock, periodMs, signal);
      await this.#measure();
    }
    this.#pairs.clear();
    this.#first = undefined;
  }

  async #measure(): Promise<void> {
    const { client, signal } = this.#options;
    const { items } = await client.list(nodeType, { resourceVersion: '0', signal });
    const left = items.map(({ metadata }) => metadata.name ?? '');
    const present = new Set(left);
    for (const name of this.#pairs.keys()) if (!present.has(name)) this.#pairs.delete(name);
    const worker = async () => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) await this.#ask(name);
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, left.length) }, worker));
  }

  async #ask(name: string): Promise<void> {
    const { readPage, clock, log, signal } = this.#options;
    const late = new AbortController();
    const timer = clock.after(answerWithinMs, () => late.abort(new Error('it does not answer')));
    try {
      const page = await readPage(name, '/metrics/resource', AbortSignal.any([signal, late.signal]));
      const after = parseResourcePage(page, clock.now());
      const known = this.#pairs.get(name);
      // The same sample again says nothing new.
      if (known?.after.node.atMs !== after.node.atMs) this.#pairs.set(name, { before: known?.after, after });
    } catch (error) {
      signal.throwIfAborted();
      this.#pairs.delete(name);
      log.debug('a node does not tell what it uses', { node: name, error: messageOf(error) });
    } finally {
      timer.cancel();
    }
  }
}
