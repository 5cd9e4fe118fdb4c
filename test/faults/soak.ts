/**
 * `npm run soak -- --backend lmdb|etcd --faults N --seed S`: a campaign of any length, with a line for each fault. Status 1 and the line that
 * tries it again when a promise of the store was broken.
 */
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';
import { type Backend, campaign, rigs } from './campaign.ts';

const { values } = parseArgs({
  options: {
    backend: { type: 'string', default: 'lmdb' },
    faults: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Math.floor(systemClock.now() / 86_400_000)) },
  },
});
if (!Object.hasOwn(rigs, values.backend)) {
  process.stderr.write(`no such backend: ${values.backend}. There are: ${Object.keys(rigs).join(', ')}\n`);
  process.exit(2);
}
const faults = Number(values.faults);
const ended = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort());
try {
  const result = await campaign({
    backend: values.backend as Backend,
    faults,
    seed: Number(values.seed),
    signal: ended.signal,
    onFault: ({ number, name, tookMs, operations }) =>
      console.log(`${number}/${faults} ${name}: ${Math.round(tookMs)} ms, ${operations} operations checked`),
  });
  const { operations, acknowledged, events } = result;
  for (const [name, count] of result.faults) console.log(`${String(count).padStart(6)} ${name}`);
  const struck = result.faults.values().reduce((sum, count) => sum + count, 0);
  console.log(
    `${struck} faults, ${operations} operations, ${acknowledged} writes acknowledged, ${events} events watched: no promise broken`,
  );
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
