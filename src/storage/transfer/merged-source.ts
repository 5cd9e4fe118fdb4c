/**
 * Several stores of one cluster read as one. Revisions of different stores have no order among them and may be equal, so every object gets
 * a new one, above all that were known anywhere: whoever knew an object by its old revision finds that it has changed since.
 *
 *     a at revision 40 with objects of 7 and 38, b at 12 with one of 9      objects of 41, 42 and 43, and 43 is the revision of all
 */
import type { TransferSource } from './transfer.ts';

/** One store stays as it is. They are closed with what is returned. */
export function mergedSource(sources: readonly TransferSource[]): TransferSource {
  const [first] = sources;
  if (first && sources.length === 1) return first;
  const known = Math.max(...sources.map(({ revision }) => revision));
  const count = sources.reduce((sum, source) => sum + source.count, 0);
  return {
    revision: known + count,
    count,
    async *read() {
      let revision = known;
      for (const source of sources)
        for await (const object of source.read()) {
          revision++;
          yield { ...object, revision, createRevision: revision };
        }
    },
    async [Symbol.asyncDispose]() {
      for (const source of sources) await source[Symbol.asyncDispose]();
    },
  };
}
