/**
 * Fault after fault on a rig under load, and after each the whole history is checked. Every so many faults a new chapter begins, with new
 * clients in a new namespace: a write of an earlier one that was never answered can then disturb nobody. A chapter's faults follow from its
 * seed, so a violation is looked for again with that seed and as many faults.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep, systemClock, withTimeout } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { OperationRecord, WatchHistory } from '../../src/storage/history.fixture.ts';
import { checkHistory } from '../../src/storage/history-check.fixture.ts';
import { etcdRig } from './etcd-rig.ts';
import { lmdbRig } from './lmdb-rig.ts';
import type { LoadCommand, LoadMessage } from './load-process.ts';
import { oneOf, type Rig } from './rig.ts';

export const rigs = { lmdb: lmdbRig, etcd: etcdRig } as const;
export type Backend = keyof typeof rigs;

export interface CampaignOptions {
  readonly backend: Backend;
  readonly faults: number;
  readonly seed: number;
  /** Ends the campaign after the fault that is under way. */
  readonly signal?: AbortSignal;
  /** Told of each fault that has been survived. */
  onFault?(struck: StruckFault): void;
}

export interface StruckFault {
  /** From 1. */
  readonly number: number;
  readonly name: string;
  /** Until writes were acknowledged again, the fault's own time included. */
  readonly tookMs: number;
  readonly operations: number;
}

export interface CampaignResult {
  readonly faults: ReadonlyMap<string, number>;
  readonly operations: number;
  readonly acknowledged: number;
  readonly events: number;
}

const faultsOfChapter = 20;
const writesBetween = 20;
const recoveryLimitMs = 60_000;
const handOverLimitMs = 30_000;

/** What was seen cannot be: the message has the violations and the line that tries it again. */
export class PromiseBroken extends Error {
  override readonly name = 'PromiseBroken';
}

export async function campaign(options: CampaignOptions): Promise<CampaignResult> {
  const rig = await rigs[options.backend]();
  const faults = new Map<string, number>();
  const total = { operations: 0, acknowledged: 0, events: 0 };
  try {
    for (let first = 0; first < options.faults && !options.signal?.aborted; first += faultsOfChapter) {
      const seed = options.seed + first / faultsOfChapter;
      const chapter = Chapter.open(rig, { seed, backend: options.backend });
      try {
        for (let i = 0; i < Math.min(faultsOfChapter, options.faults - first) && !options.signal?.aborted; i++) {
          const struck = await chapter.strike();
          faults.set(struck.name, (faults.get(struck.name) ?? 0) + 1);
          options.onFault?.({ ...struck, number: first + i + 1 });
        }
        for (const [name, count] of Object.entries(chapter.counts())) total[name as keyof typeof total] += count;
      } finally {
        await chapter.close();
      }
    }
  } finally {
    await rig.stop();
  }
  return { faults, ...total };
}

class Chapter {
  readonly #rig: Rig;
  readonly #about: { readonly seed: number; readonly backend: Backend };
  readonly #loads: readonly LoadProcess[];
  readonly #random;
  readonly #operations: OperationRecord[] = [];
  #watches: readonly WatchHistory[] = [];
  #struck = 0;

  private constructor(rig: Rig, about: { seed: number; backend: Backend }, loads: readonly LoadProcess[]) {
    this.#rig = rig;
    this.#about = about;
    this.#loads = loads;
    this.#random = seededRandom(about.seed);
  }

  static open(rig: Rig, about: { seed: number; backend: Backend }): Chapter {
    const namespace = `chapter-${about.seed}`;
    const loads = rig.servers.map((server, i) => {
      const settings = {
        name: `c${i}`,
        server,
        tls: rig.tls,
        namespace,
        workers: 5,
        keys: 10,
        seed: about.seed * 8 + i,
      };
      return new LoadProcess(rig.enter, { do: 'start', settings });
    });
    return new Chapter(rig, about, loads);
  }

  async strike(): Promise<Omit<StruckFault, 'number'>> {
    const fault = oneOf(this.#random, this.#rig.faults);
    await this.#underWay(fault.name);
    const startedMs = systemClock.monotonic();
    this.#struck++;
    await fault.strike(this.#random);
    await this.#underWay(fault.name);
    const tookMs = systemClock.monotonic() - startedMs;
    await this.#inTime(this.#collect(), fault.name, 'the clients do not come to an end');
    const violations = checkHistory({ operations: this.#operations, watches: this.#watches });
    if (violations.length > 0)
      this.#fail(fault.name, violations.map(({ rule, detail }) => `${rule}: ${detail}`).slice(0, 20));
    for (const load of this.#loads) load.tell({ do: 'resume' });
    return { name: fault.name, tookMs, operations: this.#operations.length };
  }

  counts() {
    const acknowledged = this.#operations.filter((each) => 'outcome' in each && each.outcome === 'acknowledged').length;
    const events = this.#watches.reduce((sum, watch) => sum + watch.events.length, 0);
    return { operations: this.#operations.length, acknowledged, events };
  }

  async close(): Promise<void> {
    await Promise.all(this.#loads.map((load) => load.close()));
  }

  /** Each server acknowledges writes. */
  async #underWay(fault: string): Promise<void> {
    const all = Promise.all(this.#loads.map((load) => load.untilFurther(writesBetween)));
    await this.#inTime(all, fault, 'no write is acknowledged any more');
  }

  #inTime<T>(work: Promise<T>, fault: string, otherwise: string): Promise<T> {
    return withTimeout(systemClock, work, recoveryLimitMs, () => new PromiseBroken(otherwise)).catch((error) =>
      error instanceof PromiseBroken ? this.#fail(fault, [error.message]) : Promise.reject(error),
    );
  }

  async #collect(): Promise<void> {
    await Promise.all(this.#loads.map((load) => load.ask({ do: 'pause' }, 'paused')));
    const [first] = this.#loads as [LoadProcess];
    const { revision: upTo } = await first.ask({ do: 'mark', value: `mark-${this.#struck}` }, 'marked');
    const command = { do: 'hand over', upTo, withinMs: handOverLimitMs } as const;
    const handed = await Promise.all(this.#loads.map((load) => load.ask(command, 'records')));
    this.#operations.push(...handed.flatMap(({ operations }) => operations));
    this.#watches = handed.flatMap(({ watches }) => watches);
  }

  #fail(fault: string, violations: readonly string[]): never {
    const { backend, seed } = this.#about;
    const file = join(tmpdir(), `coracle-history-${backend}-${seed}.json`);
    writeFileSync(file, JSON.stringify({ operations: this.#operations, watches: this.#watches }));
    const again = `npm run soak -- --backend ${backend} --faults ${this.#struck} --seed ${seed}`;
    throw new PromiseBroken(
      `after "${fault}":\n  ${violations.join('\n  ')}\nthe history is in ${file}; to try again: ${again}`,
    );
  }
}

class LoadProcess {
  readonly #child: ChildProcess;
  #acknowledged = 0;

  constructor(enter: readonly string[], start: LoadCommand) {
    const [program, ...words] = [...enter, process.execPath, '--disable-warning=ExperimentalWarning'];
    this.#child = spawn(program!, [...words, join(import.meta.dirname, 'load-process.ts')], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
    });
    this.#child.on('message', (message: LoadMessage) => {
      if (message.is === 'acknowledged') this.#acknowledged = message.writes;
    });
    this.tell(start);
  }

  tell(command: LoadCommand): void {
    this.#child.send(command);
  }

  ask<Is extends LoadMessage['is']>(command: LoadCommand, is: Is): Promise<Extract<LoadMessage, { is: Is }>> {
    return new Promise((resolve) => {
      const listen = (message: LoadMessage) => {
        if (message.is !== is) return;
        this.#child.off('message', listen);
        resolve(message as Extract<LoadMessage, { is: Is }>);
      };
      this.#child.on('message', listen);
      this.tell(command);
    });
  }

  async untilFurther(writes: number): Promise<void> {
    const wanted = this.#acknowledged + writes;
    for (; this.#acknowledged < wanted; await sleep(systemClock, 10))
      if (!this.#runs()) throw new Error('a process of clients has ended');
  }

  #runs(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async close(): Promise<void> {
    if (!this.#runs()) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}
