/** Encryption at rest as an administrator sets it up: a file, a store on disk, keys that change, a key management service. */
import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { configMaps, secrets } from '../../../api/gen/core-v1.ts';
import { openServer, openServerWithDefault } from '../../../apiserver/api-server.fixture.ts';
import {
  decryptRequest,
  decryptResponse,
  encryptRequest,
  encryptResponse,
  statusRequest,
  statusResponse,
} from '../../../apiserver/encryption/kms-messages.ts';
import { GrpcError, grpcCodes, grpcServer } from '../../../base/grpc/index.ts';
import { silentLog } from '../../../base/log.ts';
import { systemRandom } from '../../../base/random.ts';
import { bufferCodec, openLmdbStore } from '../../../storage/lmdb/lmdb-store.ts';
import { FakeClock, settle } from '../../../testing/fake-clock.ts';
import { openEncryption } from './encryption.ts';

const folder = mkdtempSync(join(tmpdir(), 'coracle-encryption-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const namespace = 'default';
const at = { namespace, name: 'a' };
const keyOf = (fill: number) => Buffer.alloc(32, fill).toString('base64');

function configuration(name: string, ...providers: object[]): string {
  const path = join(folder, name);
  const resources = [{ resources: ['secrets'], providers }];
  const document = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources };
  writeFileSync(path, JSON.stringify(document));
  return path;
}

async function open(data: string, config: string, { reload = false, clock = new FakeClock() } = {}) {
  const parts = { clock, random: systemRandom, log: silentLog };
  const path = join(folder, data);
  const store = await openLmdbStore({ path, codec: bufferCodec, clock, log: silentLog });
  const encryption = await openEncryption({ path: config, reload }, parts);
  const existing = (await store.get(`/registry/namespaces/${namespace}`)) !== undefined;
  const encrypted = encryption.over(store);
  const opened = await (existing ? openServer : openServerWithDefault)({
    store: { kind: 'bytes', store: encrypted, isStale: (key) => encrypted.isStale(key) },
  });
  return {
    ...opened,
    clock,
    health: () => encryption.healthCheck.check(),
    raw: async (key: string) => Buffer.from((await store.get(key))!.value).toString('latin1'),
    async [Symbol.asyncDispose]() {
      await opened.close();
      await encryption.close();
      await store.close();
    },
  };
}

const aes = (...keys: number[]) => ({
  aesgcm: { keys: keys.map((key) => ({ name: `key${key}`, secret: keyOf(key) })) },
});
const secretKey = '/registry/secrets/default/a';

test('the disk knows nothing of secrets, and keys are changed by writing them anew', async () => {
  {
    await using opened = await open('data', configuration('first.json', aes(1)));
    await opened.client.create(secrets, { metadata: at, stringData: { word: 'open-sesame' } });
    await opened.client.create(configMaps, { metadata: at, data: { word: 'plain-word' } });
    assert.match(await opened.raw(secretKey), /^k8s:enc:aesgcm:v1:key1:/);
  }
  const files = readdirSync(join(folder, 'data')).map((name) => readFileSync(join(folder, 'data', name), 'latin1'));
  assert.ok(files.some((text) => text.includes('plain-word')));
  assert.ok(!files.some((text) => text.includes(Buffer.from('open-sesame').toString('base64').slice(0, 12))));

  await using opened = await open('data', configuration('second.json', aes(2, 1)));
  const read = await opened.client.get(secrets, at);
  assert.equal(Buffer.from(read.data!.word!, 'base64').toString(), 'open-sesame');
  assert.match(await opened.raw(secretKey), /:key1:/);
  const again = await opened.client.update(secrets, read);
  assert.notEqual(again.metadata.resourceVersion, read.metadata.resourceVersion);
  assert.match(await opened.raw(secretKey), /:key2:/);
  const third = await opened.client.update(secrets, again);
  assert.equal(third.metadata.resourceVersion, again.metadata.resourceVersion);
});

test('a changed file is taken while the server runs, a wrong one is not', async () => {
  const config = configuration('changing.json', aes(1));
  await using opened = await open('changing', config, { reload: true });
  await opened.client.create(secrets, { metadata: at });
  writeFileSync(config, 'not: [an encryption configuration');
  await opened.clock.advance(60_000);
  await settle(100);
  await opened.client.patch(secrets, at, { type: 'merge', body: { data: { a: 'YQ==' } } });
  assert.match(await opened.raw(secretKey), /:key1:/);
  configuration('changing.json', aes(2, 1));
  await opened.clock.advance(60_000);
  await settle(100);
  await opened.client.patch(secrets, at, { type: 'merge', body: { data: { b: 'YQ==' } } });
  assert.match(await opened.raw(secretKey), /:key2:/);
});

/** A plugin whose keys are AES keys by name; `down` makes every call fail. */
async function startPlugin(socket: string) {
  const state = { keyId: 'one', down: false, decrypted: 0 };
  const keys = new Map<string, Buffer>();
  const keyFor = (id: string) => keys.get(id) ?? keys.set(id, Buffer.alloc(32, id)).get(id)!;
  const iv = Buffer.alloc(16);
  const server = await grpcServer();
  const path = (name: string) => `/v2.KeyManagementService/${name}`;
  const checkSeal = () => {
    if (state.down) throw new GrpcError(grpcCodes.unavailable, 'vault sealed');
  };
  server.unary({ path: path('Status'), request: statusRequest, response: statusResponse }, async () => {
    checkSeal();
    return { version: 'v2', healthz: 'ok', keyId: state.keyId };
  });
  server.unary({ path: path('Encrypt'), request: encryptRequest, response: encryptResponse }, async ({ plaintext }) => {
    checkSeal();
    const cipher = createCipheriv('aes-256-cbc', keyFor(state.keyId), iv);
    const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
    return { ciphertext, keyId: state.keyId, annotations: { 'version.example.com': Buffer.from('1') } };
  });
  server.unary({ path: path('Decrypt'), request: decryptRequest, response: decryptResponse }, async (request) => {
    checkSeal();
    state.decrypted++;
    const decipher = createDecipheriv('aes-256-cbc', keyFor(request.keyId), iv);
    return { plaintext: Buffer.concat([decipher.update(request.ciphertext), decipher.final()]) };
  });
  await server.listen(`unix://${socket}`);
  return { state, close: () => server.close() };
}

test('keys of a service: asked once for many values, changed when it says so, done without for three minutes', async () => {
  const socket = join(folder, 'kms.sock');
  const plugin = await startPlugin(socket);
  try {
    const config = configuration('kms.json', {
      kms: { apiVersion: 'v2', name: 'vault', endpoint: `unix://${socket}` },
    });
    {
      await using opened = await open('kms', config);
      for (const name of ['a', 'b', 'c']) await opened.client.create(secrets, { metadata: { namespace, name } });
      assert.match(await opened.raw(secretKey), /^k8s:enc:kms:v2:vault:/);
      await opened.health();
    }
    assert.equal(plugin.state.decrypted, 0);
    await using opened = await open('kms', config);
    assert.equal((await opened.client.list(secrets)).items.length, 3);
    assert.equal(plugin.state.decrypted, 1);

    const before = await opened.client.get(secrets, at);
    plugin.state.keyId = 'two';
    await opened.clock.advance(60_000);
    for (let i = 0; i < 50; i++) await settle();
    const rewritten = await opened.client.update(secrets, before);
    assert.notEqual(rewritten.metadata.resourceVersion, before.metadata.resourceVersion);
    assert.match(await opened.raw(secretKey), /two/);

    plugin.state.down = true;
    await opened.clock.advance(60_000);
    for (let i = 0; i < 50; i++) await settle();
    await assert.rejects(opened.health(), /kmsv2 Provider vault is not healthy, error: .*vault sealed/);
    await opened.client.patch(secrets, at, { type: 'merge', body: { data: { a: 'YQ==' } } });
    await opened.clock.advance(200_000);
    await assert.rejects(
      opened.client.patch(secrets, at, { type: 'merge', body: { data: { b: 'YQ==' } } }),
      /encryptedDEKSource with keyID hash "sha256:[0-9a-f]{64}" expired at/,
    );
    assert.equal((await opened.client.get(secrets, at)).data?.a, 'YQ==');
  } finally {
    plugin.close();
  }
});

test('a service of the first version is refused as upstream refuses it', async () => {
  const config = configuration('v1.json', { kms: { name: 'old', endpoint: 'unix:///nowhere' } });
  await assert.rejects(open('v1', config), /KMSv1 is deprecated and will only receive security updates going forward/);
});
