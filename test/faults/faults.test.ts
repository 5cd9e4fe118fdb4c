/**
 * A short campaign on each durable backend, with another seed every day: no fault makes an acknowledged write disappear or a watch miss or
 * repeat an event. `npm run soak` is the long form.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { type Backend, campaign } from './campaign.ts';

const faultsOfEach = 15;
const seedOfTheDay = Math.floor(systemClock.now() / 86_400_000);

function missing(backend: Backend): string | false {
  const programs = ['nft', 'ip', 'nsenter', 'unshare', ...(backend === 'etcd' ? ['etcd', 'etcdctl'] : [])];
  const folders = (process.env.PATH ?? '').split(':');
  const absent = programs.filter((name) => !folders.some((folder) => existsSync(join(folder, name))));
  const reasons = [...(process.getuid?.() === 0 ? [] : ['root']), ...absent];
  return reasons.length === 0 || process.env.CI === 'true' ? false : `needs ${reasons.join(', ')}`;
}

describe('under load, fault after fault', () => {
  for (const backend of ['lmdb', 'etcd'] as const)
    test(`an API server over ${backend} keeps its promises`, { skip: missing(backend) }, async (t) => {
      await campaign({
        backend,
        faults: faultsOfEach,
        seed: seedOfTheDay,
        onFault: ({ number, name, tookMs }) => t.diagnostic(`${number} ${name}: ${Math.round(tookMs)} ms`),
      });
    });
});
