/**
 * `./coracle up --detach` until the node is Ready, on a data directory of its own: the very first time (keys are made, images brought in,
 * the compile cache is empty), and then again on the same data after `coracle down`. The figure is a first start with a warm compile cache.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startCluster } from './parts/cluster.ts';
import { type Figure, median, print, rounded, say, spread } from './parts/figure.ts';
import { temporaryFolder } from './parts/temporary.ts';

const runs = 5;
const figure: Figure = {
  name: 'cluster-start',
  what: '`coracle up` on new data until one real node is Ready',
  unit: 's',
  target: 3,
  better: 'lower',
};
const folder = temporaryFolder();
process.env.NODE_COMPILE_CACHE = join(folder, 'cache');
const firstMs: number[] = [];
const againMs: number[] = [];
let missing: string | undefined;
for (let run = 0; run <= runs && missing === undefined; run++) {
  const place = join(folder, String(run));
  mkdirSync(place);
  const cluster = await startCluster(place);
  if (typeof cluster === 'string') {
    missing = cluster;
    break;
  }
  try {
    firstMs.push(cluster.tookMs);
    againMs.push(cluster.again());
    say(`new data ${rounded(firstMs.at(-1)! / 1000)} s, the same data ${rounded(againMs.at(-1)! / 1000)} s`);
  } finally {
    cluster.stop();
  }
}
if (missing !== undefined) print({ ...figure, note: `not measured: ${missing}` });
else {
  const [coldMs, ...warmMs] = firstMs;
  const seconds = (values: readonly number[]) => spread(values.map((value) => value / 1000));
  print({
    ...figure,
    figure: median(warmMs) / 1000,
    note: `cold compile cache ${rounded(coldMs! / 1000)} s; the same data again ${rounded(median(againMs) / 1000)} s`,
    details: { runs, warm: seconds(warmMs), cold: rounded(coldMs! / 1000), again: seconds(againMs) },
  });
}
process.exit();
