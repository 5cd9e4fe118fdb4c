import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { certificateSigningRequests } from '../../api/gen/certificates-v1.ts';
import { clusterRoleBindings } from '../../api/gen/rbac-v1.ts';
import { kubeconfigOf, parseKubeconfig, selectContext } from '../../client/kubeconfig.ts';
import { nodeCertificateBindings } from '../../controllers/certificatesigningrequest/rights.ts';
import { systemKeys } from '../../pki/keys.ts';
import { type EmbeddedControlPlane, startControlPlane } from '../../testing/index.ts';
import { bootstrapClient, isKubeconfigValid } from './bootstrap.ts';

describe('a kubelet without a certificate', () => {
  let cluster: EmbeddedControlPlane;
  let folder: string;
  before(async () => {
    cluster = await startControlPlane({ scheduler: false });
  });
  after(() => cluster.stop());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coracle-bootstrap-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const ask = (nodeName: string, signal: AbortSignal) =>
    bootstrapClient({
      nodeName,
      client: cluster.clientOf('system:bootstrap:abcdef', ['system:bootstrappers']),
      bootstrapKubeconfig: kubeconfigOf({
        name: 'c',
        server: cluster.url,
        caPem: 'the authority',
        user: { token: 't' },
      }),
      kubeconfigPath: join(folder, 'kubelet.conf'),
      certificateDirectory: join(folder, 'pki'),
      keys: systemKeys,
      nowMs: () => Date.now(),
      signal,
    });
  const never = new AbortController().signal;

  it('is told that it may not ask, and keeps its key for the next try', async () => {
    await assert.rejects(ask('n1', never), /cannot create certificate signing request: .* is forbidden/);
    const key = readFileSync(join(folder, 'pki/kubelet-client.key.tmp'), 'utf8');
    await assert.rejects(ask('n1', never), /forbidden/);
    assert.equal(readFileSync(join(folder, 'pki/kubelet-client.key.tmp'), 'utf8'), key);
    assert.ok(!existsSync(join(folder, 'kubelet.conf')));
  });

  it('takes up the request it made before it was restarted, and notes the certificate in a kubeconfig', async () => {
    const mayAsk = nodeCertificateBindings.find(({ roleRef }) => roleRef.name === 'system:node-bootstrapper')!;
    await cluster.client.create(clusterRoleBindings, mayAsk);
    const stopping = new AbortController();
    const first = ask('n2', stopping.signal);
    const requests = async () => (await cluster.client.list(certificateSigningRequests)).items;
    for await (const { type } of cluster.client.watch(certificateSigningRequests)) if (type === 'ADDED') break;
    stopping.abort(new Error('restarted'));
    await assert.rejects(first);
    for (const binding of nodeCertificateBindings)
      if (binding !== mayAsk) await cluster.client.create(clusterRoleBindings, binding);
    const second = ask('n2', never);
    const [request] = await requests();
    await cluster.client.patch(
      certificateSigningRequests,
      { name: request?.metadata.name ?? '' },
      {
        type: 'merge',
        body: { status: { conditions: [{ type: 'Approved', status: 'True', reason: 'ByHand', message: 'known' }] } },
      },
      { subresource: 'approval' },
    );
    await second;
    assert.equal((await requests()).length, 1);
    const { cluster: named, user } = selectContext(parseKubeconfig(readFileSync(join(folder, 'kubelet.conf'), 'utf8')));
    assert.equal(named.server, cluster.url);
    assert.equal(user['client-certificate'], join(folder, 'pki/kubelet-client-current.pem'));
    assert.equal(user.token, undefined);
    assert.deepEqual(
      readdirSync(join(folder, 'pki')).filter((name) => name.endsWith('.tmp')),
      [],
    );
  });

  it('uses a kubeconfig only while the certificate in it is there and lasts', async () => {
    for (const binding of nodeCertificateBindings)
      await cluster.client.create(clusterRoleBindings, binding).catch(() => {});
    await ask('n3', never);
    const path = join(folder, 'kubelet.conf');
    const problems: string[] = [];
    const valid = (nowMs: number) => isKubeconfigValid(path, nowMs, (problem) => problems.push(problem));
    assert.ok(valid(Date.now()));
    assert.deepEqual(problems, []);
    assert.ok(!valid(Date.now() + 366 * 86_400_000));
    rmSync(join(folder, 'pki'), { recursive: true });
    assert.ok(!valid(Date.now()));
    writeFileSync(path, 'clusters: 7');
    assert.ok(!valid(Date.now()));
    rmSync(path);
    assert.ok(!valid(Date.now()));
    assert.equal(problems.length, 3);
    assert.match(problems[0] ?? '', /expired/);
  });
});
