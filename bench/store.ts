/**
 * Raw durable puts of our store on LMDB beside etcd on the same disk in turns: 1, 8 and 64 writers. Besides: what an object takes on disk, and how
 * long a store of 150,000 objects takes to open, with every page and every record looked at.
 */
import { join } from 'node:path';
import { Child } from './parts/child.ts';
import { startEtcd } from './parts/etcd.ts';
import { median, print, rounded, say, spread } from './parts/figure.ts';
import { temporaryFolder } from './parts/temporary.ts';

const seconds = 2;
const rounds = 5;
const sizes = [1, 8, 64];
/** Of a stored ConfigMap of `parts/objects.ts`. */
const valueBytes = 600;
const objects = 150_000;
const objectBytes = 2000;

const folder = temporaryFolder();
await using ours = new Child('store-puts');
await using theirs = new Child('etcd-puts');
const etcd = await startEtcd(join(folder, 'etcd'));
if (!etcd) say('etcd is not installed here');
const results = new Map(sizes.map((size) => [size, { ours: [] as number[], etcd: [] as number[] }]));
try {
  for (let round = 0; round < rounds; round++) {
    for (const writers of sizes) {
      const request = { kind: 'put', seconds, valueBytes };
      const { perSecond } = await ours.ask<{ perSecond: number }>({
        ...request,
        directory: join(folder, 'puts'),
        writers,
      });
      results.get(writers)!.ours.push(perSecond);
      if (!etcd) continue;
      const rival = await theirs.ask<{ perSecond: number }>({ ...request, url: etcd.url, clients: writers });
      results.get(writers)!.etcd.push(rival.perSecond);
      say(`${writers} writers: ${rounded(perSecond)}/s; etcd ${rounded(rival.perSecond)}/s`);
    }
  }
} finally {
  await etcd?.stop();
}
const filled = await ours.ask<{ bytesEach: number; openMs: number }>({
  kind: 'fill',
  directory: join(folder, 'filled'),
  objects,
  valueBytes: objectBytes,
});
const ratio = ({ ours, etcd }: { readonly ours: readonly number[]; readonly etcd: readonly number[] }) =>
  rounded(median(etcd.map((perSecond, round) => ours[round]! / perSecond)));
const headline = results.get(64)!;
print({
  name: 'store',
  what: 'raw durable puts per second, LMDB store, 64 writers',
  figure: median(headline.ours),
  unit: '1/s',
  better: 'higher',
  note: `an object of ${objectBytes} bytes takes ${rounded(filled.bytesEach)} on disk; a store of ${objects} opens in ${rounded(filled.openMs)} ms`,
  rival: etcd && { name: 'etcd puts', figure: rounded(median(headline.etcd)), ratio: ratio(headline) },
  details: {
    ...Object.fromEntries(
      [...results].map(([writers, result]) => [
        `${writers} writers`,
        { ours: spread(result.ours), ...(etcd ? { etcd: spread(result.etcd), ratio: ratio(result) } : {}) },
      ]),
    ),
    bytesPerObject: rounded(filled.bytesEach),
    openMs: rounded(filled.openMs),
  },
});
process.exit();
