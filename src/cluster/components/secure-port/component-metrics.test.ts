/** Who may read the metrics of kube-controller-manager and kube-scheduler, by their flags. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { silentLog } from '../../../base/log.ts';
import { systemRandom } from '../../../base/random.ts';
import { RequestStatistics } from '../../../client/request-statistics.ts';
import { flags } from '../../../controllers/gen/flags.ts';
import { createCertificateAuthority, issueCertificate } from '../../../pki/authority.ts';
import { systemKeys } from '../../../pki/keys.ts';
import { QueueStatistics } from '../../../reconcile/queue-statistics.ts';
import { parseFlags } from '../../../serving/flags.ts';
import { type EmbeddedControlPlane, startControlPlane } from '../../../testing/index.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import { GivenFlags } from '../flags/given-flags.ts';
import { withMetrics } from './component-metrics.ts';
import { delegatedAccess } from './delegated-access.ts';
import { alwaysOk, startHealthServer } from './health-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'coracle-access-'));
const environment = { clock: systemClock, random: systemRandom, log: silentLog } as ComponentEnvironment;
const authority = createCertificateAuthority(
  { commonName: 'ca' },
  { clock: systemClock, random: systemRandom, keys: systemKeys },
);
const user = (commonName: string, ...organizations: string[]) => {
  const { certificatePem, keyPem } = issueCertificate(authority, {
    commonName,
    organizations,
    usages: ['client auth'],
  });
  return { cert: certificatePem, key: keyPem };
};
const kubeconfig = join(folder, 'kubeconfig');
const caFile = join(folder, 'ca.crt');
writeFileSync(caFile, authority.certificatePem);
let cluster: EmbeddedControlPlane;
before(async () => {
  cluster = await startControlPlane();
  writeFileSync(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
});
after(async () => {
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

function freePort(): Promise<number> {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => found(port));
    });
  });
}

/** A component's server with these flags. */
async function serve(...words: string[]) {
  const access = await delegatedAccess('test', new GivenFlags(parseFlags(flags, words)), environment);
  const queues = new QueueStatistics();
  queues.of('deployment').added();
  const counted = { clock: systemClock, queues, requests: new RequestStatistics() };
  const guarded = withMetrics({ ...access, log: silentLog, pages: {} }, counted);
  const { certificatePem, keyPem } = issueCertificate(authority, {
    commonName: 'component',
    ipAddresses: ['127.0.0.1'],
    usages: ['server auth'],
  });
  const port = await freePort();
  const server = await startHealthServer({
    host: '127.0.0.1',
    port,
    paths: { '/healthz': alwaysOk },
    guarded,
    tls: { certificate: certificatePem, key: keyPem },
  });
  const ask = (path: string, credentials: { cert?: string; key?: string; token?: string } = {}) =>
    new Promise<{ readonly code: number | undefined; readonly text: string }>((resolve, reject) => {
      const { token, ...tls } = credentials;
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const asked = get({ host: '127.0.0.1', port, path, agent: false, ca: authority.certificatePem, headers, ...tls });
      asked.on('error', reject).on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ code: response.statusCode, text }));
      });
    });
  return {
    ask,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await access[Symbol.asyncDispose]();
    },
  };
}

test('without anybody to ask, health is open to all and metrics to administrators', async () => {
  await using server = await serve(`--client-ca-file=${caFile}`);
  assert.deepEqual(await server.ask('/healthz'), { code: 200, text: 'ok' });
  const refused = await server.ask('/metrics');
  assert.equal(refused.code, 403);
  const { message, reason } = JSON.parse(refused.text) as { message: string; reason: string };
  assert.deepEqual([reason, message], ['Forbidden', 'forbidden: User "system:anonymous" cannot get path "/metrics"']);
  assert.equal((await server.ask('/metrics', user('alice', 'dev'))).code, 403);
  const { code, text } = await server.ask('/metrics', user('root', 'system:masters'));
  assert.equal(code, 200);
  assert.match(text, /^workqueue_adds_total\{name="deployment"\} 1$/m);
  assert.match(text, /^rest_client_exec_plugin_ttl_seconds \+Inf$/m);
});

test('the API server says who may, and whose a token is', async () => {
  await using server = await serve(
    `--client-ca-file=${caFile}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
  );
  assert.equal((await server.ask('/metrics', user('system:serviceaccount:a:b', 'system:monitoring'))).code, 200);
  assert.equal((await server.ask('/metrics', user('alice'))).code, 403);
  assert.equal((await server.ask('/metrics', { token: 'nonsense' })).code, 401);
  assert.equal((await server.ask('/nowhere', user('root', 'system:masters'))).code, 404);
});

test('controllers in one process with the server are counted on its page', async () => {
  const page = async (): Promise<string> => {
    const text = String(await cluster.client.raw({ method: 'GET', path: '/metrics' }));
    return text.includes('workqueue_depth{name="deployment"}') ? text : page();
  };
  assert.match(await page(), /^# TYPE workqueue_queue_duration_seconds histogram$/m);
});
