/** What the disk and LMDB can do at most: writers that put values of an object's size, each waiting for the sync of its own. */
import { open } from 'lmdb';
import { answer } from '../parts/child.ts';

export interface PutRaw {
  readonly kind: 'put';
  readonly directory: string;
  readonly writers: number;
  readonly seconds: number;
  readonly valueBytes: number;
}

export interface PutResult {
  readonly perSecond: number;
}

answer({
  async put({ directory, writers, seconds, valueBytes }: PutRaw): Promise<PutResult> {
    const database = open<Buffer, number>({ path: directory, encoding: 'binary', overlappingSync: false });
    const value = Buffer.alloc(valueBytes, 'v');
    const startMs = performance.now();
    let next = 1;
    let done = 0;
    await Promise.all(
      Array.from({ length: writers }, async () => {
        while (performance.now() - startMs < seconds * 1000) {
          await database.put(next++, value);
          done++;
        }
      }),
    );
    const perSecond = done / ((performance.now() - startMs) / 1000);
    await database.close();
    return { perSecond };
  },
});
