/** Whom ImagePolicyWebhook asks and what, how long it remembers the answer, and what becomes of Pods when nobody answers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Pod, pods } from '../../../api/gen/core-v1.ts';
import { systemClock } from '../../../base/clock.ts';
import { type Answer, startWebhookServer } from '../../webhook-client/webhook-server.fixture.ts';
import { attributesOf, pluginHarness, refusalOf, run } from '../admission.fixture.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { imagePolicyWebhook } from './image-policy-webhook.ts';

const pod = (annotations: Readonly<Record<string, string>> = {}): Pod => ({
  metadata: { name: 'web', namespace: 'a', annotations },
  spec: {
    containers: [{ name: 'c', image: 'app:1' }],
    initContainers: [{ name: 'i', image: 'init:1' }],
    ephemeralContainers: [{ name: 'e', image: 'debug:1' }],
  },
});
const review = (status: object) => ({ apiVersion: 'imagepolicy.k8s.io/v1alpha1', kind: 'ImageReview', status });

async function asking(answer: Answer, imagePolicy: object = {}) {
  const server = await startWebhookServer(answer);
  const { context, clock } = pluginHarness();
  const stopping = new AbortController();
  // Real time where there is a network, the plugin's own for what it remembers.
  const running = {
    ...context,
    clock: { ...systemClock, monotonic: () => clock.monotonic() },
    signal: stopping.signal,
  };
  const tls = { ca: Buffer.from(server.caBundle, 'base64').toString() };
  const plugin = imagePolicyWebhook(running, { imagePolicy, server: { server: `${server.url}/images`, tls } });
  return {
    server,
    clock,
    plugin,
    ask: (object = pod(), subresource = '') => refusalOf(plugin, attributesOf({ type: pods, object, subresource })),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe('ImagePolicyWebhook', () => {
  it('shows the images, and of the annotations those that are meant for it', async () => {
    await using webhook = await asking(() => review({ allowed: true }));
    assert.equal(await webhook.ask(pod({ 'x.image-policy.k8s.io/ticket': '7', other: 'x' })), undefined);
    assert.equal(await webhook.ask(pod(), 'ephemeralcontainers'), undefined);
    assert.equal(await webhook.ask(pod(), 'status'), undefined);
    assert.deepEqual(
      webhook.server.received.map(({ path, body }) => [path, body.apiVersion, body.kind, body.spec]),
      [
        [
          '/images?timeout=30s',
          'imagepolicy.k8s.io/v1alpha1',
          'ImageReview',
          {
            containers: [{ image: 'app:1' }, { image: 'init:1' }],
            annotations: { 'x.image-policy.k8s.io/ticket': '7' },
            namespace: 'a',
          },
        ],
        [
          '/images?timeout=30s',
          'imagepolicy.k8s.io/v1alpha1',
          'ImageReview',
          { containers: [{ image: 'debug:1' }], namespace: 'a' },
        ],
      ],
    );
  });

  it('refuses with the reason, if there is one, and tells the audit log', async () => {
    const status = { allowed: false, reason: 'not signed', auditAnnotations: { rule: '12' } };
    await using webhook = await asking(() => review(status));
    const told: string[] = [];
    const attributes: AdmissionAttributes = {
      ...attributesOf({ type: pods, object: pod() }),
      annotate: (key, value) => void told.push(`${key}=${value}`),
    };
    assert.equal(
      await refusalOf(webhook.plugin, attributes),
      'pods "web" is forbidden: image policy webhook backend denied one or more images: not signed',
    );
    assert.deepEqual(told, ['imagepolicywebhook.image-policy.k8s.io/rule=12']);
    await using silent = await asking(() => review({ allowed: false }));
    assert.equal(await silent.ask(), 'pods "web" is forbidden: one or more images rejected by webhook backend');
  });

  it('remembers what was allowed and what was denied, each for its own time', async () => {
    let allowed = true;
    await using webhook = await asking(() => review({ allowed }), { allowTTL: 60, denyTTL: 10 });
    const asked = async () => [(await webhook.ask()) === undefined, webhook.server.received.length];
    assert.deepEqual(await asked(), [true, 1]);
    allowed = false;
    await webhook.clock.advance(59_000);
    assert.deepEqual(await asked(), [true, 1]);
    await webhook.clock.advance(1000);
    assert.deepEqual(await asked(), [false, 2]);
    allowed = true;
    await webhook.clock.advance(9000);
    assert.deepEqual(await asked(), [false, 2]);
    await webhook.clock.advance(1000);
    assert.deepEqual(await asked(), [true, 3]);
  });

  it('asks each time where nothing is to be remembered', async () => {
    await using webhook = await asking(() => review({ allowed: true }), { allowTTL: -1 });
    await webhook.ask();
    await webhook.ask();
    assert.equal(webhook.server.received.length, 2);
  });

  it('refuses when nobody answers, unless the default is to allow, and then marks the Pod', async () => {
    const nonsense = () => ({ kind: 'Pod', apiVersion: 'v1' });
    await using closed = await asking(nonsense);
    assert.match((await closed.ask())!, /^pods "web" is forbidden: the webhook replied with kind "Pod"/);
    await using open = await asking(nonsense, { defaultAllow: true });
    const told: string[] = [];
    const attributes: AdmissionAttributes = {
      ...attributesOf({ type: pods, object: pod() }),
      annotate: (key, value) => void told.push(`${key}=${value}`),
    };
    await run(open.plugin, attributes);
    assert.deepEqual(told, ['imagepolicywebhook.image-policy.k8s.io/failed-open=true']);
    assert.deepEqual(attributes.object?.metadata.annotations, { 'alpha.image-policy.k8s.io/failed-open': 'true' });
  });

  it('asks again when the failure may pass', async () => {
    let failures = 1;
    const failing = { apiVersion: 'v1', kind: 'Status', status: 'Failure', code: 500, reason: 'InternalError' };
    await using webhook = await asking(() => (failures-- > 0 ? failing : review({ allowed: true })), {
      retryBackoff: -1,
    });
    assert.equal(await webhook.ask(), undefined);
    assert.equal(webhook.server.received.length, 2);
  });

  it('does not start on a configuration that is none', () => {
    const { context } = pluginHarness();
    const server = { server: 'https://images.example' };
    const cases: readonly (readonly [unknown, RegExp])[] = [
      [undefined, /^Error: no config specified$/],
      [{}, /no configuration has been provided/],
      [{ imagePolicy: { allowTTL: 1801 }, server }, /valid value is between 1s and 30m0s, got 30m1s/],
      [{ imagePolicy: { denyTTL: -2 }, server }, /valid value is between 1s and 30m0s, got -2s/],
      [{ imagePolicy: { retryBackoff: 300_001 }, server }, /valid value is between 1ns and 5m0s, got 5m0\.001s/],
      [{ imagePolicy: { denyTTL: '30s' }, server }, /denyTTL is not a whole number/],
    ];
    for (const [configuration, message] of cases) {
      assert.throws(() => imagePolicyWebhook(context, configuration), message);
    }
  });
});
