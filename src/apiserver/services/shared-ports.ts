/**
 * Node ports of several API servers over one store: which are taken is one object there, upstream's RangeAllocation at
 * `/registry/ranges/servicenodeports`, with a bit for each port of the range. Who takes or gives back reads it, changes its own picture,
 * and writes it back if nobody else has meanwhile; else all of it is done again on what the other has left:
 *
 *     30000-32767   data 05 = 0b101   ports 30000 and 30002 are taken
 */
import type { RangeAllocation } from '../../api/gen/core-v1.ts';
import type { KeptRecords } from '../kept-records.ts';
import type { PortRange } from './node-ports.ts';
import type { NumberRange } from './number-range.ts';

export interface SharedPortsOptions {
  readonly records: KeptRecords<RangeAllocation>;
  readonly range: PortRange;
  /** The picture of this server; right between reading and writing, a hint at other times. */
  readonly numbers: NumberRange;
  /** What is taken where the store does not say yet. */
  readonly rebuild: () => Promise<Iterable<number>>;
}

const key = '/registry/ranges/servicenodeports';

export class SharedPorts {
  readonly #options: SharedPortsOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: SharedPortsOptions) {
    this.#options = options;
  }

  /**
   * Runs `step` on what is taken now, and keeps what it has changed. It runs again, after `undo`, when another server was quicker. What it
   * throws is thrown, and nothing is kept then.
   */
  change<T>(step: () => T, undo: () => void): Promise<T> {
    const turn = this.#last.then(() => this.#change(step, undo));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #change<T>(step: () => T, undo: () => void): Promise<T> {
    const { numbers } = this.#options;
    for (;;) {
      const revision = await this.#read();
      try {
        const before = numbers.changes;
        const result = step();
        if (numbers.changes === before || (await this.#write(numbers.all(), revision))) return result;
      } catch (error) {
        // Whether it was written is not known: what nobody uses is found by the repair, what somebody uses must not be given away.
        undo();
        throw error;
      }
      undo();
    }
  }

  async #read(): Promise<number> {
    const { records, range, numbers, rebuild } = this.#options;
    const stored = await records.get(key);
    const known = stored?.object.range === rangeText(range);
    const taken = known ? portsIn(stored.object.data, range) : await rebuild();
    numbers.clear();
    for (const port of taken) numbers.take(BigInt(port));
    return stored?.revision ?? 0;
  }

  #write(taken: Iterable<bigint>, expected: number): Promise<boolean> {
    const { records, range } = this.#options;
    return write(taken, expected, { records, range });
  }
}

type Place = Pick<SharedPortsOptions, 'records' | 'range'>;

/** Replaces what is taken by what `next` makes of it; false when another server was quicker. */
export async function replacePorts(
  { records, range }: Place,
  next: (taken: ReadonlySet<number>) => Promise<Iterable<number>>,
): Promise<boolean> {
  const stored = await records.get(key);
  const taken = stored?.object.range === rangeText(range) ? portsIn(stored.object.data, range) : [];
  return write(await next(new Set(taken)), stored?.revision ?? 0, { records, range });
}

function write(taken: Iterable<number | bigint>, expected: number, { records, range }: Place): Promise<boolean> {
  const allocation = { metadata: {}, range: rangeText(range), data: bitsOf(taken, range) };
  return records.put(key, allocation, { expected });
}

export function rangeText({ first, last }: PortRange): string {
  return `${first}-${last}`;
}

/** Base64 of the bits as a big-endian number, without leading zero bytes. */
export function bitsOf(taken: Iterable<number | bigint>, { first, last }: PortRange): string {
  const bytes = Buffer.alloc(((last - first) >> 3) + 1);
  for (const port of taken) {
    const offset = Number(port) - first;
    if (offset < 0 || Number(port) > last) continue;
    const at = bytes.length - 1 - (offset >> 3);
    bytes[at] = bytes[at]! | (1 << (offset & 7));
  }
  const start = bytes.findIndex((byte) => byte !== 0);
  return start < 0 ? '' : bytes.toString('base64', start);
}

export function portsIn(data: string, { first, last }: PortRange): number[] {
  const bytes = Buffer.from(data, 'base64');
  const ports: number[] = [];
  for (let offset = 0; offset < bytes.length * 8 && first + offset <= last; offset++) {
    if (bytes[bytes.length - 1 - (offset >> 3)]! & (1 << (offset & 7))) ports.push(first + offset);
  }
  return ports;
}
