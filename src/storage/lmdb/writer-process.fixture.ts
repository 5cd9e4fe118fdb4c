/**
 * A process of its own that writes to a store, for tests that kill it or take its disk away. It is told what to do by messages
 * and answers with messages; run it with `fork`.
 */
import { systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import type { Store } from '../store.ts';
import { bufferCodec, openLmdbStore } from './lmdb-store.ts';

export type WriterCommand =
  /** Writes until killed, with so many writers at once; each acknowledged write is answered with `acknowledged`. */
  | { readonly do: 'write'; readonly writers: number; readonly firstValue: number }
  /** Writes until a write fails; answers with `failed`. */
  | { readonly do: 'fill'; readonly valueBytes: number }
  /** Writes once; answers with `acknowledged` or `failed`. */
  | { readonly do: 'once'; readonly key: string };

export type WriterMessage =
  | { readonly is: 'open' }
  | { readonly is: 'refused'; readonly error: string; readonly pid: number }
  | { readonly is: 'acknowledged'; readonly key: string; readonly value: string; readonly revision: number }
  /** `others`: errors of the writes queued behind; `written`: keys that can still be read; `revision`: the store's. */
  | {
      readonly is: 'failed';
      readonly error: string;
      readonly message: string;
      readonly others: readonly string[];
      readonly acknowledged: number;
      readonly readable: number;
      readonly revision: number;
    };

function tell(message: WriterMessage): void {
  process.send!(message);
}

async function writeForever(store: Store<Buffer>, writers: number, firstValue: number): Promise<never> {
  let next = firstValue;
  const loops = Array.from({ length: writers }, async (_, writer) => {
    for (;;) {
      const value = String(next++);
      const key = `/keys/${writer}-${Number(value) % 50}`;
      const result = await store.put(key, Buffer.from(value.padEnd(500)));
      if (result.ok) tell({ is: 'acknowledged', key, value, revision: result.revision });
    }
  });
  await Promise.all(loops);
  throw new Error('unreachable: the writers never end');
}

async function fill(store: Store<Buffer>, valueBytes: number): Promise<void> {
  const value = Buffer.alloc(valueBytes);
  let acknowledged = 0;
  for (let round = 0; ; round++) {
    const writes = [0, 1, 2, 3].map((i) => store.put(`/full/${round}-${i}`, value, { expected: 0 }));
    const outcomes = await Promise.allSettled(writes);
    acknowledged += outcomes.filter(({ status }) => status === 'fulfilled').length;
    const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []));
    if (!errors[0]) continue;
    const { entries } = await store.range({ start: '/full/', end: '/full0' });
    tell({
      is: 'failed',
      error: errors[0].name,
      message: errors[0].message,
      others: errors.slice(1).map(({ name }) => name),
      acknowledged,
      readable: entries.filter((entry) => entry.value.length === valueBytes).length,
      revision: store.revision,
    });
    return;
  }
}

async function once(store: Store<Buffer>, key: string): Promise<void> {
  const { name, message } = await store.put(key, Buffer.from('once'), { expected: 0 }).then(
    (result) => ({ name: result.ok ? '' : 'refused', message: '' }),
    (error: Error) => error,
  );
  const { revision } = store;
  if (name === '') tell({ is: 'acknowledged', key, value: 'once', revision });
  else tell({ is: 'failed', error: name, message, others: [], acknowledged: 0, readable: 0, revision });
}

process.once('message', async ({ path }: { readonly path: string }) => {
  try {
    const store = await openLmdbStore({ path, codec: bufferCodec, clock: systemClock, log: silentLog });
    process.on('message', (command: WriterCommand) => {
      if (command.do === 'write') void writeForever(store, command.writers, command.firstValue);
      else if (command.do === 'fill') void fill(store, command.valueBytes);
      else void once(store, command.key);
    });
    tell({ is: 'open' });
  } catch (error) {
    tell({ is: 'refused', error: (error as Error).name, pid: (error as { pid?: number }).pid ?? 0 });
    process.disconnect();
  }
});
