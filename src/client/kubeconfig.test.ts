import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { configMaps } from '../api/gen/core-v1.ts';
import { systemClock } from '../base/clock.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { MemoryApi } from '../testing/memory-api.ts';
import { isConnectionError } from './connection-error.ts';
import { createHttpTransport, type HttpTransport } from './http-transport.ts';
import {
  certificateUser,
  emptyKubeconfig,
  fileToken,
  formatKubeconfig,
  type Kubeconfig,
  kubeconfigOf,
  mergeKubeconfig,
  parseKubeconfig,
  selectContext,
  transportOptions,
  withoutContext,
} from './kubeconfig.ts';
import { type MemoryServer, serveTransport } from './memory-server.fixture.ts';
import { createClient } from './typed-client.ts';

const text = `
apiVersion: v1
kind: Config
current-context: one
preferences: {colors: true}
clusters:
- name: c1
  cluster: {server: https://one:6443, certificate-authority: ca.pem}
- name: c2
  cluster: {server: https://two:6443, certificate-authority: /etc/ca.pem, insecure-skip-tls-verify: true}
users:
- name: u1
  user: {client-certificate: pki/me.pem, client-key: pki/me.key}
- name: u2
  user: {tokenFile: token, as: jane, as-groups: [dev]}
contexts:
- name: one
  context: {cluster: c1, user: u1}
- name: two
  context: {cluster: c2, user: u2, namespace: shop}
- name: broken
  context: {cluster: c3, user: u2}
`;
const noFile = async (path: string): Promise<string> => `contents of ${path}`;

describe('kubeconfig', () => {
  test('paths are relative to the folder of the file', async () => {
    const config = parseKubeconfig(text, '/home/me/.kube');
    assert.equal(config.clusters.c1?.['certificate-authority'], '/home/me/.kube/ca.pem');
    assert.equal(config.clusters.c2?.['certificate-authority'], '/etc/ca.pem');
    const options = await transportOptions(config, { clock: new FakeClock(), readFile: noFile });
    assert.equal(options.server, 'https://one:6443');
    assert.equal(options.tls?.ca, 'contents of /home/me/.kube/ca.pem');
    assert.equal(options.tls?.cert, 'contents of /home/me/.kube/pki/me.pem');
    assert.equal(options.tls?.key, 'contents of /home/me/.kube/pki/me.key');
    assert.equal(options.token, undefined);
  });

  test('a context can be chosen; its user may act as another', async () => {
    const config = parseKubeconfig(text, '/k');
    const options = await transportOptions(config, { clock: new FakeClock(), readFile: noFile, context: 'two' });
    assert.equal(options.server, 'https://two:6443');
    assert.equal(options.tls?.insecureSkipVerify, true);
    assert.deepEqual(options.impersonate, { user: 'jane', groups: ['dev'], uid: undefined, extra: undefined });
    assert.equal(await (options.token as () => Promise<string>)(), 'contents of /k/token');
    assert.equal(selectContext(config, 'two').namespace, 'shop');
    assert.equal(selectContext(config).namespace, 'default');
  });

  test('what is missing is named', () => {
    const config = parseKubeconfig(text);
    assert.throws(() => selectContext(config, 'three'), /context "three" does not exist/);
    assert.throws(() => selectContext(config, 'broken'), /cluster "c3" does not exist/);
    assert.throws(() => selectContext(emptyKubeconfig), /names no current context/);
    assert.throws(() => parseKubeconfig('kind: Pod'), /not a kubeconfig: kind is "Pod"/);
    assert.throws(() => parseKubeconfig('- a'), /must be a mapping/);
    assert.deepEqual(parseKubeconfig(''), emptyKubeconfig);
  });

  test('what is written reads as the same, unknown fields included', () => {
    const config = parseKubeconfig(text);
    assert.deepEqual(parseKubeconfig(formatKubeconfig(config)), config);
    assert.deepEqual(config.other, { preferences: { colors: true } });
  });

  test('merging adds entries and takes over the current context', () => {
    const entry = kubeconfigOf({
      name: 'coracle',
      server: 'https://me:1',
      caPem: 'CA',
      user: certificateUser('C', 'K'),
    });
    const merged = mergeKubeconfig(parseKubeconfig(text), entry);
    assert.equal(merged.currentContext, 'coracle');
    assert.deepEqual(Object.keys(merged.clusters), ['c1', 'c2', 'coracle'].toSorted());
    assert.equal(merged.users.coracle?.['client-key-data'], Buffer.from('K').toString('base64'));
    assert.equal(mergeKubeconfig(merged, emptyKubeconfig).currentContext, 'coracle');
  });

  test('a context is taken out with its cluster and user, unless another names them', () => {
    const entry = kubeconfigOf({ name: 'coracle', server: 'https://me:1', user: { token: 't' } });
    const before = parseKubeconfig(text);
    const merged = mergeKubeconfig(before, entry);
    assert.deepEqual(withoutContext(merged, 'coracle'), { ...before, currentContext: '' });
    assert.deepEqual(withoutContext(merged, 'nobody'), merged);
    const shared = { ...merged, contexts: { ...merged.contexts, mine: { cluster: 'coracle', user: 'u1' } } };
    const rest = withoutContext({ ...shared, currentContext: 'mine' }, 'coracle');
    assert.deepEqual(
      [rest.clusters.coracle, rest.users.coracle, rest.currentContext],
      [{ server: 'https://me:1' }, undefined, 'mine'],
    );
  });

  test('a token file is read again after a minute, and its last good token outlives a missing file', async () => {
    const clock = new FakeClock();
    let content: string | undefined = 'one\n';
    let reads = 0;
    const token = fileToken('/token', {
      clock,
      async readFile() {
        reads++;
        if (content === undefined) throw new Error('no such file');
        return content;
      },
    });
    assert.deepEqual([await token(), await token(), reads], ['one', 'one', 1]);
    content = 'two';
    await clock.advance(60_000);
    assert.equal(await token(), 'two');
    content = undefined;
    await clock.advance(60_000);
    assert.equal(await token(), 'two');
  });
});

describe('a kubeconfig over TLS', () => {
  let server: MemoryServer;
  let pem: Awaited<ReturnType<typeof certificates>>;
  const transports: HttpTransport[] = [];
  const connect = async (config: Kubeconfig) => {
    const transport = createHttpTransport(await transportOptions(config, { clock: systemClock, readFile: noFile }));
    transports.push(transport);
    return createClient(transport);
  };
  before(async () => {
    pem = await certificates();
    const tls = { key: pem.serverKey, cert: pem.server, ca: pem.ca, requestCert: true, rejectUnauthorized: true };
    server = await serveTransport(new MemoryApi(), { tls });
  });
  after(async () => {
    await Promise.all(transports.map((transport) => transport.close()));
    await server.close();
  });

  test('a certificate of the right authority is let in', async () => {
    const user = certificateUser(pem.client, pem.clientKey);
    const client = await connect(kubeconfigOf({ name: 'x', server: server.url, caPem: pem.ca, user }));
    assert.deepEqual((await client.list(configMaps)).items, []);
  });

  test('a server that the authority does not vouch for is refused', async () => {
    const other = (await certificates()).ca;
    const user = certificateUser(pem.client, pem.clientKey);
    const client = await connect(kubeconfigOf({ name: 'x', server: server.url, caPem: other, user }));
    await assert.rejects(client.list(configMaps), isConnectionError);
  });

  test('without a certificate the server hangs up', async () => {
    const client = await connect(kubeconfigOf({ name: 'x', server: server.url, caPem: pem.ca, user: {} }));
    await assert.rejects(client.list(configMaps), isConnectionError);
  });
});

/** An authority, a server for 127.0.0.1 and a client, as PEM. */
async function certificates() {
  const folder = await mkdtemp(join(tmpdir(), 'coracle-certificates-'));
  const openssl = (...parameters: string[]) => promisify(execFile)('openssl', parameters, { cwd: folder });
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '3650'];
  await writeFile(join(folder, 'san'), 'subjectAltName=IP:127.0.0.1\n');
  await openssl('req', '-x509', ...curve, '-subj', '/CN=test-ca', '-keyout', 'ca.key', '-out', 'ca.pem');
  for (const name of ['server', 'client']) {
    const request = ['-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`];
    await openssl('req', ...curve.filter((part) => part !== '-days' && part !== '3650'), ...request);
    const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '3650', '-extfile', 'san'];
    await openssl('x509', '-req', '-in', `${name}.csr`, ...signing, '-out', `${name}.pem`);
  }
  const read = (name: string) => readFile(join(folder, name), 'utf8');
  const pem = {
    ca: await read('ca.pem'),
    server: await read('server.pem'),
    serverKey: await read('server.key'),
    client: await read('client.pem'),
    clientKey: await read('client.key'),
  };
  await rm(folder, { recursive: true });
  return pem;
}
