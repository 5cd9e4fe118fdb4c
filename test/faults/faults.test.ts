/**
 * A short campaign on each durable backend, with another seed every day: no fault makes an acknowledged write disappear or a watch miss or
 * repeat an event. `npm run soak` is the long form.
 */
import { describe, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { needs } from '../../src/testing/needs.ts';
import { campaign } from './campaign.ts';
import { fieldParts } from './rig.ts';

const faultsOfEach = 15;
const seedOfTheDay = Math.floor(systemClock.now() / 86_400_000);

describe('under load, fault after fault', () => {
  for (const [backend, parts] of [
    ['lmdb', []],
    ['etcd', ['etcd', 'etcdctl']],
  ] as const)
    test(`an API server over ${backend} keeps its promises`, needs(...fieldParts, ...parts), async (t) => {
      await campaign({
        backend,
        faults: faultsOfEach,
        seed: seedOfTheDay,
        onFault: ({ number, name, tookMs }) => t.diagnostic(`${number} ${name}: ${Math.round(tookMs)} ms`),
      });
    });
});
