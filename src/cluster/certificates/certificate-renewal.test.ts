import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { parseCertificates } from '../../pki/certificate.ts';
import { systemKeys } from '../../pki/keys.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { nodeKeys } from '../node/node-config.ts';
import { followRenewals } from './certificate-renewal.ts';
import { clusterPki, keysInMemory } from './cluster-pki.ts';

const dayMs = 86_400_000;
const notAfterMs = (pem: string) => parseCertificates(pem)[0]!.notAfterMs;

function setUp() {
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const files = keysInMemory();
  const pki = clusterPki(files, { clock, random: seededRandom(1), keys: systemKeys });
  const stopping = new AbortController();
  const options = { clock, log: silentLog, signal: stopping.signal };
  return { clock, files, pki, options, stop: () => stopping.abort() };
}

test('the server´s certificate is made anew and taken a month before its end, and not before', async () => {
  const { clock, pki, options, stop } = setUp();
  const first = pki.apiServer([], []);
  const taken: string[] = [];
  const following = followRenewals(
    () => pki.apiServer([], []),
    ({ certificatePem }) => taken.push(certificatePem),
    options,
  );
  await clock.advance(334 * dayMs);
  assert.deepEqual(taken, []);
  await clock.advance(2 * dayMs);
  assert.equal(taken.length, 1);
  assert.ok(notAfterMs(taken[0]!) >= notAfterMs(first.certificatePem) + 334 * dayMs);
  await clock.advance(336 * dayMs);
  assert.equal(taken.length, 2, 'and so every year');
  stop();
  await following;
  assert.equal(clock.pending, 0);
});

test('a node´s certificates are made anew by looking, for their users to find', async () => {
  const { clock, files, pki, options, stop } = setUp();
  const keys = () => nodeKeys(pki, 'n1', ['192.0.2.1']);
  keys();
  const names = ['kubelet-n1', 'kube-proxy', 'kube-dns', 'kubelet-server'];
  const before = names.map((name) => files.load(name)!.certificatePem);
  const following = followRenewals(keys, () => {}, options);
  await clock.advance(340 * dayMs);
  for (const [i, name] of names.entries()) {
    assert.ok(notAfterMs(files.load(name)!.certificatePem) > notAfterMs(before[i]!) + 300 * dayMs, name);
  }
  stop();
  await following;
});

test('a look that fails is told and repeated', async () => {
  const { clock, options, stop } = setUp();
  let look = 0;
  const told: string[] = [];
  const log = { ...silentLog, error: (message: string) => void told.push(message) };
  const taken: number[] = [];
  const following = followRenewals(
    () => {
      if (++look === 2) throw new Error('disk full');
      return look;
    },
    (value) => taken.push(value),
    { ...options, log },
  );
  await clock.advance(dayMs / 2);
  assert.deepEqual([taken, told.length], [[], 1]);
  await clock.advance(dayMs / 2);
  assert.deepEqual(taken, [3]);
  stop();
  await following;
});
