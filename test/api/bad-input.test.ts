/**
 * What goes wrong between clients and the API server, tried over real HTTPS, both versions of HTTP: every mistake gets upstream's
 * status code, reason and words, the server answers the next good request, and nothing half-done is stored. The mistakes themselves lie
 * in `mistakes/`, by subject; mistakes of connections are in `bad-connections.test.ts`, those that kubectl makes of manifests in
 * `bad-manifests.test.ts`.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { deployments } from '../../src/api/gen/apps-v1.ts';
import { configMaps, services } from '../../src/api/gen/core-v1.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import type { Status } from '../../src/apimachinery/status.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { createCertificateAuthority } from '../../src/pki/authority.ts';
import { encodePrivateKey, systemKeys } from '../../src/pki/keys.ts';
import { createTokenSigner } from '../../src/pki/token-signer.ts';
import { type OpenCluster, openCluster } from './cluster.ts';
import { addresses } from './mistakes/addresses.ts';
import { brokenBodies, mediaTypes, unwantedFields, wrongKinds, wrongTypes } from './mistakes/bodies.ts';
import {
  collection,
  configMap,
  continueAt,
  deploymentsPath,
  list,
  type Mistake,
  patch,
  podsPath,
  post,
} from './mistakes/mistake.ts';
import { changes, names } from './mistakes/objects.ts';
import { patches } from './mistakes/patches.ts';
import { questions } from './mistakes/questions.ts';
import { type Endpoint, json, mergePatch, openWires, statusOf, type Wire, yaml } from './wire.ts';

const groups: Readonly<Record<string, readonly Mistake[]>> = {
  'broken bodies': brokenBodies,
  'wrong types': wrongTypes,
  'wrong kinds': wrongKinds,
  'unwanted fields': unwantedFields,
  'media types': mediaTypes,
  'lists and watches': questions,
  patches,
  names,
  changes,
  'paths and methods': addresses,
};

describe('bad requests', () => {
  let cluster: OpenCluster;
  let wires: readonly Wire[];
  const logged: string[] = [];
  before(async () => {
    const log = {
      debug() {},
      info() {},
      warn() {},
      error: (message: string) => void logged.push(message),
      child: () => log,
    };
    cluster = await openCluster({ log });
    wires = openWires(cluster.admin);
    const client = cluster.controlPlane.admin;
    const metadata = (name: string) => ({ name, namespace: 'default' });
    await client.create(configMaps, { metadata: metadata('a'), data: { x: '1' } });
    await client.create(configMaps, { metadata: metadata('frozen'), data: { x: '1' }, immutable: true });
    const labels = { app: 'web' };
    await client.create(deployments, {
      metadata: metadata('web'),
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'example.com/web' }] } },
      },
    });
    await client.create(services, { metadata: metadata('web'), spec: { ports: [{ port: 80 }], selector: labels } });
  });
  after(async () => {
    for (const wire of wires) wire.close();
    await cluster.close();
    assert.deepEqual(logged, [], 'none of it was unexpected');
  });

  /** What is stored, apart from what controllers do of their own accord. */
  async function stored(): Promise<string> {
    const texts: string[] = [];
    for (const path of [
      collection,
      '/api/v1/namespaces/default/services',
      '/api/v1/namespaces/default/secrets',
      podsPath,
    ]) {
      const { status, text } = await wires[1]!.ask({ path });
      assert.equal(status, 200);
      const items = JSON.parse(text).items as readonly KubeObject[];
      texts.push(JSON.stringify(items.filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt')));
    }
    const { text } = await wires[1]!.ask({ path: deploymentsPath });
    for (const { spec, metadata } of JSON.parse(text).items)
      texts.push(JSON.stringify([metadata.name, metadata.uid, spec]));
    return texts.join('\n');
  }

  for (const [group, mistakes] of Object.entries(groups)) {
    describe(group, () => {
      for (const { name, code, reason, message, causes, ...asked } of mistakes) {
        test(`${name}: ${code} ${reason ?? ''}`, async () => {
          const before = await stored();
          for (const wire of wires) {
            const answer = await wire.ask(asked);
            const status = statusOf(answer);
            if (typeof message === 'string') assert.equal(status.message, message, wire.protocol);
            else assert.match(status.message ?? '', message, wire.protocol);
            checkStatus(status, { code, reason });
            assert.equal(answer.status, code);
            if (causes)
              assert.deepEqual(
                status.details?.causes?.map(({ field }) => field),
                causes,
              );
            assert.doesNotMatch(answer.text, /\.ts:\d+|node:internal/, 'no stack is shown');
            assert.equal((await wire.ask({ path: `${collection}/a` })).status, 200, 'the next request is answered');
          }
          assert.equal(await stored(), before, 'nothing has changed');
        });
      }
    });
  }

  test('versions of the future are waited for, then refused', async () => {
    const future = '99999999';
    const token = continueAt({ v: 'meta.k8s.io/v1', rv: Number(future), start: 'default/a' });
    const asked = [
      { path: `${collection}/a?resourceVersion=${future}` },
      list({ resourceVersion: future }),
      list({ resourceVersion: future, resourceVersionMatch: 'Exact' }),
      list({ limit: '1', continue: token }),
    ];
    const answers = await Promise.all(asked.flatMap((one) => wires.map((wire) => wire.ask(one))));
    for (const answer of answers) {
      const status = statusOf(answer);
      assert.match(status.message ?? '', /^Timeout: Too large resource version: 99999999, current: \d{1,5}$/);
      checkStatus(status, { code: 504, reason: 'Timeout' });
      assert.deepEqual(status.details, {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      });
      assert.equal(answer.headers['retry-after'], '1');
    }
  });

  test('paths that nobody serves are plain pages', async () => {
    for (const wire of wires) {
      for (const path of [
        '/nonsense',
        '/apis/nonsense/v1/things',
        '//api/v1/namespaces',
        '/healthz/',
        '/openapi/v2/',
      ]) {
        const { status, text, headers } = await wire.ask({ path });
        assert.equal(status, 404, path);
        assert.equal(text, '404 page not found\n');
        assert.equal(headers['content-type'], 'text/plain; charset=utf-8');
      }
    }
  });

  test('who makes a mistake is warned of unwanted fields and deprecated kinds all the same', async () => {
    for (const wire of wires) {
      const answer = await wire.ask(post(configMap('Bad', ',"foo":1')));
      assert.equal(answer.status, 422);
      assert.equal(answer.headers.warning, '299 - "unknown field \\"foo\\""');
      const deprecated = await wire.ask({ path: '/api/v1/namespaces/default/endpoints/none' });
      assert.equal(deprecated.status, 404);
      assert.match(deprecated.headers.warning!, /v1 Endpoints is deprecated/);
    }
  });

  test('a name whose object is on its way out is taken, and why is told', async () => {
    const [wire] = wires as [Wire];
    const held = '{"metadata":{"name":"held","finalizers":["example.com/hold"]}}';
    assert.equal((await wire.ask(post(held))).status, 201);
    assert.equal((await wire.ask({ method: 'DELETE', path: `${collection}/held` })).status, 200);
    const { status, text } = await wire.ask(post(held));
    assert.equal(status, 409);
    assert.equal((JSON.parse(text) as Status).message, 'object is being deleted: configmaps "held" already exists');
    await wire.ask({ ...patch(mergePatch, '{"metadata":{"finalizers":null}}'), path: `${collection}/held` });
  });

  test('fewer than none is no limit of a list', async () => {
    const [wire] = wires as [Wire];
    const whole = await wire.ask(list({}));
    assert.equal((await wire.ask(list({ limit: '-1' }))).text, whole.text);
  });

  test('there is no asking for headers alone', async () => {
    for (const wire of wires) assert.equal((await wire.ask({ method: 'HEAD', path: collection })).status, 405);
  });

  test('a path without a resource is told on a page', async () => {
    const [wire] = wires as [Wire];
    const { status, text } = await wire.ask({ path: '/api/v1/watch' });
    assert.equal(status, 500);
    const reason = 'failed to create RequestInfo: unable to determine kind and namespace from url, /api/v1/watch';
    assert.equal(text, `Internal Server Error: "/api/v1/watch": ${reason}\n`);
  });

  test('Warn warns of unwanted fields, Ignore does not, and both drop them', async () => {
    const body = (name: string) => configMap(name, ',"foo":1,"data":{"a":"1","a":"2"}');
    const expected = '299 - "unknown field \\"foo\\"", 299 - "duplicate field \\"data.a\\""';
    for (const wire of wires) {
      const label = wire.protocol.toLowerCase().replace('/', '-');
      const cases = [
        { mode: '', warning: expected },
        { mode: 'Warn', warning: expected },
        { mode: 'Ignore', warning: undefined },
      ];
      for (const { mode, warning } of cases) {
        const query = mode && `?fieldValidation=${mode}`;
        const answer = await wire.ask(post(body(`fields-${label}-${mode.toLowerCase()}x`), collection + query));
        assert.equal(answer.status, 201);
        assert.equal(answer.headers.warning, warning);
        const { foo, data } = JSON.parse(answer.text);
        assert.deepEqual({ foo, data }, { foo: undefined, data: { a: '2' } });
      }
      const twice = `kind: ConfigMap\napiVersion: v1\nmetadata: {name: fields-${label}-y}\ndata: {a: "1", a: "2"}\n`;
      const answer = await wire.ask(post(twice, collection, yaml));
      assert.equal(answer.headers.warning, '299 - "line 4: key \\"a\\" already set in map"');
    }
  });

  test('keys that mean something to JavaScript are keys like any other', async () => {
    for (const wire of wires) {
      const name = `keys-${wire.protocol.toLowerCase().replace('/', '-')}`;
      const data = '{"__proto__":"1","constructor":"2","toString":"3"}';
      const { status, text } = await wire.ask(post(configMap(name, `,"data":${data}`)));
      assert.equal(status, 201);
      assert.ok(text.includes(`"data":${data}`), text);
    }
  });

  describe('strangers', () => {
    const unauthorized = { code: 401, reason: 'Unauthorized' };

    async function refuse(endpoint: Endpoint, headers: Readonly<Record<string, string>> = {}): Promise<void> {
      const strangers = openWires(endpoint);
      for (const wire of strangers) {
        for (const asked of [
          { path: collection, headers },
          post(configMap('x'), collection, { ...json, ...headers }),
        ]) {
          const answer = await wire.ask(asked);
          assert.equal(answer.status, 401, wire.protocol);
          const status = statusOf(answer);
          assert.equal(status.message, 'Unauthorized');
          checkStatus(status, unauthorized);
        }
        wire.close();
      }
      for (const wire of wires) assert.equal((await wire.ask({ path: `${collection}/a` })).status, 200);
    }
    const nobody = (): Endpoint => ({ url: cluster.url, ca: cluster.ca });
    const sources = { clock: systemClock, random: systemRandom, keys: systemKeys };

    test('an expired client certificate is of no use', () =>
      refuse(cluster.as('admin', { groups: ['system:masters'], madeInDays: -3 })));
    test('one that is not yet valid neither', () =>
      refuse(cluster.as('admin', { groups: ['system:masters'], madeInDays: 3 })));
    test('nor one that is meant for servers', () =>
      refuse(cluster.as('admin', { groups: ['system:masters'], usages: ['server auth'] })));
    test('nor one of a foreign authority, though it bears the same name', () => {
      const authority = createCertificateAuthority({ commonName: 'kubernetes' }, sources);
      return refuse(cluster.as('admin', { groups: ['system:masters'], authority }));
    });
    test('nor a bearer token of any wrong sort', async () => {
      const foreign = createTokenSigner({
        clock: systemClock,
        issuers: ['https://kubernetes.default.svc.cluster.local'],
        signingKeyPem: encodePrivateKey(systemKeys.generate()),
      });
      const now = Math.floor(systemClock.now() / 1000);
      const claims = {
        iss: 'https://kubernetes.default.svc.cluster.local',
        sub: 'system:serviceaccount:default:default',
        aud: ['https://kubernetes.default.svc.cluster.local'],
        iat: now,
        nbf: now,
        exp: now + 3600,
        'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'default', uid: 'x' } },
      };
      const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const unsigned = `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.`;
      const tokens = ['nonsense', 'a.b.c', '....', 'x'.repeat(20_000), 'abcdef.0123456789abcdef', unsigned];
      tokens.push(await foreign.sign(claims as never));
      for (const token of tokens) await refuse(nobody(), { authorization: `Bearer ${token}` });
    });

    test('who shows nothing is anonymous, may see that the server lives, and no more', async () => {
      for (const wire of openWires(nobody())) {
        for (const path of ['/healthz', '/livez', '/readyz', '/version']) {
          assert.equal((await wire.ask({ path })).status, 200, path);
        }
        const cases = [
          {
            asked: { path: collection },
            message:
              'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default"',
          },
          {
            asked: post('{', collection, { ...json, authorization: 'Basic YWRtaW46YWRtaW4=' }),
            message:
              'configmaps is forbidden: User "system:anonymous" cannot create resource "configmaps" in API group "" in the namespace "default"',
          },
          {
            asked: { method: 'DELETE', path: `${collection}/a` },
            message:
              'configmaps "a" is forbidden: User "system:anonymous" cannot delete resource "configmaps" in API group "" in the namespace "default"',
          },
          { asked: { path: '/metrics' }, message: 'forbidden: User "system:anonymous" cannot get path "/metrics"' },
        ];
        for (const { asked, message } of cases) {
          const answer = await wire.ask(asked);
          assert.equal(statusOf(answer).message, message);
          checkStatus(statusOf(answer), { code: 403, reason: 'Forbidden' });
          assert.equal(answer.status, 403);
        }
        wire.close();
      }
    });

    test('nobody becomes somebody else without the right to', async () => {
      const jane = openWires(cluster.as('jane'));
      for (const wire of jane) {
        const answer = await wire.ask({ path: collection, headers: { 'impersonate-user': 'admin' } });
        assert.equal(answer.status, 403);
        assert.equal(
          statusOf(answer).message,
          'configmaps is forbidden: User "jane" cannot impersonate-on:user-info:list resource "configmaps" in API group "" in the namespace "default"',
        );
        wire.close();
      }
    });
  });
});

function checkStatus(
  status: Status,
  { code, reason }: { readonly code: number; readonly reason?: string | undefined },
): void {
  assert.equal(status.kind, 'Status');
  assert.equal(status.apiVersion, 'v1');
  assert.equal(status.status, 'Failure');
  assert.equal(status.reason, reason);
  assert.equal(status.code, code);
  assert.deepEqual(status.metadata, {});
}
