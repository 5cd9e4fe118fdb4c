/** Against a real API server with the real controllers that approve and sign; only the kubelet's own clock is a fake one. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { certificateSigningRequests } from '../../api/gen/certificates-v1.ts';
import { nodes } from '../../api/gen/core-v1.ts';
import { clusterRoleBindings, clusterRoles } from '../../api/gen/rbac-v1.ts';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { nodeCertificateBindings, servingApproverRole } from '../../controllers/certificatesigningrequest/rights.ts';
import { systemKeys } from '../../pki/keys.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { type EmbeddedControlPlane, startControlPlane } from '../../testing/index.ts';
import { nodeTemplate } from './bootstrap.ts';
import { CertificateFiles, type KeyPair } from './certificate-files.ts';
import { CertificateRotation, type CertificateRotationOptions, kubeletSigners } from './certificate-rotation.ts';

const dayMs = 86_400_000;

describe('a certificate that the kubelet renews', () => {
  let cluster: EmbeddedControlPlane;
  let folder: string;
  let clock: FakeClock;
  let stopping: AbortController;
  let rotated: PromiseWithResolvers<KeyPair>;

  before(async () => {
    cluster = await startControlPlane({ scheduler: false });
    await cluster.client.create(clusterRoles, servingApproverRole);
    for (const binding of nodeCertificateBindings) await cluster.client.create(clusterRoleBindings, binding);
  });
  after(() => cluster.stop());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coracle-rotation-'));
    clock = new FakeClock(Date.now());
    stopping = new AbortController();
    rotated = Promise.withResolvers();
  });
  afterEach(() => {
    stopping.abort();
    rmSync(folder, { recursive: true });
  });

  const start = (options: Partial<CertificateRotationOptions> = {}) => {
    const rotation = new CertificateRotation({
      client: cluster.clientOf('system:node:n1', ['system:nodes']),
      files: new CertificateFiles({ folder, name: 'kubelet-client' }),
      template: nodeTemplate('n1'),
      signerName: kubeletSigners.client,
      use: 'client auth',
      onRotated: (pair) => rotated.resolve(pair),
      keys: systemKeys,
      clock,
      // The middle of what chance decides: 80 percent of a certificate's life.
      random: { ...seededRandom(5), next: () => 0.5 },
      log: silentLog,
      signal: stopping.signal,
      ...options,
    });
    void rotation.run();
    return rotation;
  };
  const next = async () => {
    const pair = await rotated.promise;
    rotated = Promise.withResolvers();
    return pair;
  };

  it('is asked for when there is none, and again when about 80 percent of its life are over', async () => {
    const rotation = start();
    const first = await next();
    assert.equal(first.leaf.subject.commonName, 'system:node:n1');
    assert.equal(rotation.current?.leaf.serialNumber, first.leaf.serialNumber);
    const lifeMs = first.leaf.notAfterMs - first.leaf.notBeforeMs;
    assert.equal(Math.round(lifeMs / dayMs), 365);
    const requests = async () => (await cluster.client.list(certificateSigningRequests)).items.length;
    const before = await requests();
    const dueMs = first.leaf.notBeforeMs + lifeMs * 0.8;
    await clock.advance(dueMs - clock.now() - 1);
    assert.equal(await requests(), before);
    await clock.advance(1);
    const second = await next();
    assert.notEqual(second.leaf.serialNumber, first.leaf.serialNumber);
    assert.notDeepEqual(second.keyPem, first.keyPem);
    assert.equal(rotation.failures, 0);
  });

  it('is taken up from the files by the next start, without asking', async () => {
    start();
    const { leaf } = await next();
    stopping.abort();
    stopping = new AbortController();
    const again = start();
    assert.equal(again.current?.leaf.serialNumber, leaf.serialNumber);
    assert.ok(again.ttlSeconds > 300 * 86_400);
  });

  it('is asked for anew when the node has another address, and keeps its names', async () => {
    let ipAddresses = ['10.0.0.1'];
    await cluster.client.create(nodes, { metadata: { name: 'n1' }, spec: {} });
    const report = async () => {
      const addresses = ipAddresses.map((address) => ({ type: 'InternalIP', address }));
      const status = { addresses: [...addresses, { type: 'InternalDNS', address: 'n1.example' }] };
      await cluster.client.patch(nodes, { name: 'n1' }, { type: 'merge', body: { status } }, { subresource: 'status' });
    };
    await report();
    const template = () => ({ ...nodeTemplate('n1'), dnsNames: ['n1.example'], ipAddresses });
    start({ template, signerName: kubeletSigners.serving, use: 'server auth' });
    assert.deepEqual((await next()).leaf.ipAddresses, ['10.0.0.1']);
    ipAddresses = ['10.0.0.1', '10.0.0.2'];
    await report();
    await clock.advance(10_000);
    const { leaf } = await next();
    assert.deepEqual([leaf.dnsNames, leaf.ipAddresses], [['n1.example'], ['10.0.0.1', '10.0.0.2']]);
  });

  it('waits for the node’s first address', async () => {
    let known = false;
    start({ template: () => (known ? nodeTemplate('n1') : undefined) });
    await clock.advance(60_000);
    known = true;
    await clock.advance(10_000);
    assert.ok(await next());
  });

  it('is tried for again after 2 s, then 4 s, when the server refuses', async () => {
    const refused: number[] = [];
    const client = cluster.clientOf('system:node:n1', ['system:nodes']);
    const create: typeof client.create = (...call) => {
      refused.push(clock.now());
      return refused.length < 3 ? Promise.reject(new Error('no')) : client.create(...call);
    };
    const watch: typeof client.watch = (...call) => client.watch(...call);
    const refusing = { create, watch } as typeof client;
    const rotation = start({ client: refusing });
    await clock.advance(2_200);
    await clock.advance(4_400);
    await next();
    const [first = 0, second = 0, third = 0] = refused;
    assert.ok(second - first >= 2000 && second - first <= 2200, `${second - first}`);
    assert.ok(third - second >= 4000 && third - second <= 4400, `${third - second}`);
    assert.equal(rotation.failures, 2);
  });
});
