/** Our own store on LMDB, without a server around it: writers that put values of an object's size, each waiting for its answer. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { bufferCodec, openLmdbStore } from '../../src/storage/lmdb/lmdb-store.ts';
import { answer } from '../parts/child.ts';

export interface PutStored {
  readonly kind: 'put';
  readonly directory: string;
  readonly writers: number;
  readonly seconds: number;
  readonly valueBytes: number;
}

export interface FillStore {
  readonly kind: 'fill';
  readonly directory: string;
  readonly objects: number;
  readonly valueBytes: number;
}

const open = (path: string) => openLmdbStore({ path, codec: bufferCodec, clock: systemClock, log: silentLog });

let named = 0;

answer({
  async put({ directory, writers, seconds, valueBytes }: PutStored): Promise<{ readonly perSecond: number }> {
    const store = await open(directory);
    const value = Buffer.alloc(valueBytes, 'v');
    const startMs = performance.now();
    let done = 0;
    await Promise.all(
      Array.from({ length: writers }, async () => {
        while (performance.now() - startMs < seconds * 1000) {
          await store.put(`/registry/configmaps/default/p-${named++}`, value, { expected: 0 });
          done++;
        }
      }),
    );
    const perSecond = done / ((performance.now() - startMs) / 1000);
    await store.close();
    return { perSecond };
  },
  /** Bytes of the file for each object, and how long it takes to open. */
  async fill({ directory, objects, valueBytes }: FillStore): Promise<{ bytesEach: number; openMs: number }> {
    const store = await open(directory);
    const value = Buffer.alloc(valueBytes, 'v');
    for (let i = 0; i < objects; i += 1000)
      await Promise.all(
        Array.from({ length: 1000 }, (_, j) => store.put(`/registry/pods/default/pod-${i + j}`, value)),
      );
    await store.close();
    const startMs = performance.now();
    const again = await open(directory);
    const openMs = performance.now() - startMs;
    await again.close();
    return { bytesEach: statSync(join(directory, 'data.mdb')).size / objects, openMs };
  },
});
