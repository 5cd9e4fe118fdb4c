import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it, test } from 'node:test';
import { errorsText } from '../../apimachinery/field-error.ts';
import { seededRandom } from '../../base/random.ts';
import { Encryption } from './encryption.ts';
import { identityProvider, keyedProvider } from './provider.ts';
import { resourceOfKey } from './resource-of-key.ts';
import { type EncryptionConfiguration, maskedRule, validateEncryption } from './validation.ts';

const secret = Buffer.alloc(32, 7);
const key = { name: 'key1', secret: secret.toString('base64') };
const random = seededRandom(1);

test('AES-CBC is what openssl reads', async () => {
  const provider = keyedProvider('aescbc', [{ name: 'k', secret }], random);
  const stored = Buffer.from(await provider.encrypt(Buffer.from('open sesame'), '/a')).subarray(2);
  const args = ['-d', '-aes-256-cbc', '-K', secret.toString('hex'), '-iv', stored.subarray(0, 16).toString('hex')];
  const plain = execFileSync('openssl', ['enc', ...args], { input: stored.subarray(16) });
  assert.equal(plain.toString(), 'open sesame');
});

describe('Rules', () => {
  const providerOf = (name: string) => keyedProvider('aesgcm', [{ name, secret }], random);
  const encryption = new Encryption([
    { resource: 'secrets', providers: [providerOf('exact')] },
    { resource: '*.apps', providers: [providerOf('group')] },
    { resource: '*.', providers: [providerOf('core')] },
    { resource: 'events', providers: [identityProvider] },
    { resource: '*.*', providers: [providerOf('all')] },
  ]);
  const cases = [
    ['secrets', 'exact'],
    ['deployments.apps', 'group'],
    ['configmaps', 'core'],
    ['jobs.batch', 'all'],
  ] as const;
  for (const [resource, name] of cases) {
    it(`for ${resource}: ${name}`, async () => {
      const stored = Buffer.from(await encryption.of(resource).encrypt(Buffer.from('x'), '/a')).toString('latin1');
      assert.ok(stored.startsWith(`k8s:enc:aesgcm:v1:${name}:`), stored);
    });
  }

  it('can be replaced while they are in use', async () => {
    const changing = new Encryption([]);
    const secrets = changing.of('secrets');
    assert.equal(Buffer.from(await secrets.encrypt(Buffer.from('x'), '/a')).toString(), 'x');
    changing.replace([{ resource: 'secrets', providers: [providerOf('new')] }]);
    assert.ok(
      Buffer.from(await secrets.encrypt(Buffer.from('x'), '/a'))
        .toString('latin1')
        .includes(':new:'),
    );
  });
});

test('a key names its resource', () => {
  const resourceOf = resourceOfKey([
    { prefix: '/registry/secrets/', name: 'secrets' },
    { prefix: '/registry/namespaces/', name: 'namespaces' },
    { prefix: '/registry/services/specs/', name: 'services' },
    { prefix: '/registry/deployments/', name: 'deployments.apps' },
  ]);
  const keys = [
    ['/registry/secrets/a/b', 'secrets'],
    ['/registry/namespaces/a', 'namespaces'],
    ['/registry/services/specs/a/b', 'services'],
    ['/registry/deployments/a/b', 'deployments.apps'],
    ['/registry/example.com/gizmos/a/b', 'gizmos.example.com'],
    ['/coracle/encoding', undefined],
  ] as const;
  for (const [path, name] of keys) assert.equal(resourceOf(path), name, path);
});

describe('A configuration', () => {
  const withRule = (rule: object): EncryptionConfiguration => ({ resources: [rule] });
  const good = { resources: ['secrets'], providers: [{ aesgcm: { keys: [key] } }, { identity: {} }] };
  const kms = { apiVersion: 'v2', name: 'k', endpoint: 'unix:///k.sock' };
  const keys = (...list: object[]) => withRule({ resources: ['secrets'], providers: [{ aescbc: { keys: list } }] });
  const refusals: readonly (readonly [name: string, configuration: EncryptionConfiguration, message: string])[] = [
    ['without rules', {}, 'resources: Required value: at least one resources is required'],
    ['without providers', withRule({ resources: ['secrets'] }), 'at least one resources[0].providers is required'],
    ['with capital letters', withRule({ ...good, resources: ['Secrets'] }), 'should not contain capital letters'],
    ['for *', withRule({ ...good, resources: ['*'] }), "use '*.' to encrypt all the resources from core API group"],
    [
      'for events of the other group',
      withRule({ ...good, resources: ['events.events.k8s.io'] }),
      "Use 'events' instead",
    ],
    ['across groups', withRule({ ...good, resources: ['secrets.*'] }), 'across groups is not supported'],
    ['with doubles', withRule({ ...good, resources: ['secrets', 'secrets'] }), 'cannot be specified multiple times'],
    ['that overlaps', withRule({ ...good, resources: ['secrets', '*.'] }), 'is not allowed as they will be masked'],
    ['with two providers in one', withRule({ ...good, providers: [{ identity: {}, kms }] }), 'more than one provider'],
    ['with none in one', withRule({ ...good, providers: [{}] }), 'does not contain any of the expected providers'],
    ['with a short key', keys({ name: 'a', secret: 'YQ==' }), 'got 1, expected one of [16 24 32]'],
    ['with a nameless key', keys({ secret: key.secret }), 'name is a mandatory field for a key'],
    ['with a secret that is no base64', keys({ name: 'a', secret: '!' }), '"REDACTED": secrets must be base64 encoded'],
    [
      'with a service that is no socket',
      withRule({ ...good, providers: [{ kms: { ...kms, endpoint: 'https://k' } }] }),
      'unsupported scheme "https" for KMS provider, only unix is supported',
    ],
    [
      'with two services of one name',
      withRule({ ...good, providers: [{ kms }, { kms }] }),
      'duplicate KMS provider name k, names must be unique',
    ],
  ];
  for (const [name, configuration, message] of refusals)
    it(`${name} is refused`, () => {
      const told = errorsText(validateEncryption(configuration));
      assert.ok(told.includes(message), told);
      assert.ok(!told.includes(key.secret));
    });

  it('that is well is taken', () => assert.deepEqual(validateEncryption(withRule(good)), []));

  it('in which a rule comes too late is refused', () => {
    const late = {
      resources: [
        { ...good, resources: ['*.apps'] },
        { ...good, resources: ['deployments.apps'] },
      ],
    };
    assert.equal(maskedRule(late), 'resource "deployments.apps" is masked by earlier rule "*.apps"');
    assert.equal(maskedRule({ resources: [good, good] }), undefined);
  });
});
