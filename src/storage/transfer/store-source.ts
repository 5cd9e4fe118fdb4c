/** Reads the objects of an open store, all at one revision. For stores that cannot be read beside their owner. */
import type { Store } from '../store.ts';
import type { TransferSource } from './transfer.ts';

export interface StoreSourceOptions {
  readonly start: string;
  readonly end: string;
  /** What of it is read; default: all. */
  keeps?(key: string): boolean;
  /** Stores do not tell lifetimes; when a key disappears that lives from now on, 0: never. */
  expiresAtMs(key: string): number;
}

/** All values are held in memory until they have been read. The store stays its owner's. */
export async function storeSource(store: Store<Buffer>, options: StoreSourceOptions): Promise<TransferSource> {
  const { start, end, keeps = () => true } = options;
  const { entries: found, revision } = await store.range({ start, end });
  const entries = found.filter(({ key }) => keeps(key));
  return {
    revision,
    count: entries.length,
    async *read() {
      const rising = [...entries].sort((a, b) => a.revision - b.revision);
      for (const entry of rising) yield { ...entry, expiresAtMs: options.expiresAtMs(entry.key) };
    },
    async [Symbol.asyncDispose]() {},
  };
}
