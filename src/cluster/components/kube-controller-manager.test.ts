/** Controllers in a process of their own have all that those beside the API server have. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { resourceQuotas, secrets } from '../../api/gen/core-v1.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { encodePrivateKey, systemKeys } from '../../pki/keys.ts';
import { parseFlags } from '../../serving/flags.ts';
import { type EmbeddedControlPlane, startControlPlane } from '../../testing/index.ts';
import { thisMachine } from '../machine/machine.ts';
import { GivenFlags } from './flags/given-flags.ts';
import { kubeControllerManager } from './kube-controller-manager.ts';

const folder = mkdtempSync(join(tmpdir(), 'coracle-controller-manager-'));
const kubeconfig = join(folder, 'kubeconfig');
const keyFile = join(folder, 'sa.key');
const stopping = new AbortController();
let cluster: EmbeddedControlPlane;
let ended: Promise<void>;

before(async () => {
  cluster = await startControlPlane({ controllers: ['serviceaccount-controller'] });
  writeFileSync(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
  writeFileSync(keyFile, encodePrivateKey(systemKeys.generate()), { mode: 0o600 });
  const words = [
    `--kubeconfig=${kubeconfig}`,
    `--service-account-private-key-file=${keyFile}`,
    '--controllers=resourcequota-controller,serviceaccount-token-controller',
    '--use-service-account-credentials',
    '--leader-elect=false',
    '--secure-port=0',
  ];
  ended = kubeControllerManager.run(new GivenFlags(parseFlags(kubeControllerManager.flags, words)), {
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    machine: thisMachine(),
    signal: stopping.signal,
    started() {},
  });
});
after(async () => {
  stopping.abort();
  await ended;
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

const namespace = 'default';

test('they count what quotas are about', async () => {
  const { client } = cluster;
  await client.create(resourceQuotas, { metadata: { name: 'few', namespace }, spec: { hard: { configmaps: '5' } } });
  for await (const event of client.watch(resourceQuotas, { namespace }))
    if (event.type !== 'BOOKMARK' && event.object.status?.hard?.configmaps === '5') break;
});

test('they fill Secrets that are to hold a token', async () => {
  const { client } = cluster;
  const annotations = { 'kubernetes.io/service-account.name': 'default' };
  await client.create(secrets, {
    metadata: { name: 'token', namespace, annotations },
    type: 'kubernetes.io/service-account-token',
  });
  for await (const event of client.watch(secrets, { namespace })) {
    const token = event.type !== 'BOOKMARK' && event.object.data?.token;
    if (!token) continue;
    const [, claims = ''] = Buffer.from(token, 'base64').toString().split('.');
    assert.equal(JSON.parse(Buffer.from(claims, 'base64url').toString()).iss, 'kubernetes/serviceaccount');
    break;
  }
});
