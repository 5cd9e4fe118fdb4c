import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Pod, pods, type ServiceAccount, serviceAccounts } from '../../../api/gen/core-v1.ts';
import { attributesOf, pluginHarness, refusalOf, run } from '../admission.fixture.ts';
import { serviceAccount } from './service-account.ts';

const account = (name: string, rest: Partial<ServiceAccount> = {}): ServiceAccount => ({
  ...rest,
  metadata: { name, namespace: 'a', ...rest.metadata },
});
const pod = (spec: Partial<Pod['spec']> = {}, annotations: Record<string, string> = {}): Pod => ({
  metadata: { name: 'web', namespace: 'a', annotations },
  spec: { containers: [{ name: 'c' }], ...spec },
});

async function admitted(object: Pod, ...accounts: ServiceAccount[]): Promise<Pod> {
  const { api, context } = pluginHarness();
  api.put(serviceAccounts, ...accounts);
  const attributes = attributesOf({ type: pods, object });
  await run(serviceAccount(context), attributes);
  return attributes.object as Pod;
}

describe('ServiceAccount', () => {
  it('runs a pod as default and mounts its token, certificate and namespace', async () => {
    const { spec } = await admitted(pod({ initContainers: [{ name: 'i' }] }), account('default'));
    assert.equal(spec.serviceAccountName, 'default');
    assert.equal(spec.serviceAccount, 'default');
    const [volume] = spec.volumes ?? [];
    assert.match(volume!.name, /^kube-api-access-[bcdfghjklmnpqrstvwxz2-9]{5}$/);
    assert.deepEqual(volume!.projected, {
      sources: [
        { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
      defaultMode: 420,
    });
    const mount = { name: volume!.name, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' };
    assert.deepEqual(spec.containers[0]!.volumeMounts, [mount]);
    assert.deepEqual(spec.initContainers![0]!.volumeMounts, [mount]);
  });

  const automounts: readonly (readonly [string, boolean | undefined, boolean | undefined, boolean])[] = [
    ['by default', undefined, undefined, true],
    ['not when the account says no', undefined, false, false],
    ['not when the pod says no', false, true, false],
    ['when the pod says yes and the account no', true, false, true],
  ];
  for (const [name, ofPod, ofAccount, mounts] of automounts) {
    it(`mounts the token ${name}`, async () => {
      const { spec } = await admitted(
        pod({ automountServiceAccountToken: ofPod }),
        account('default', { automountServiceAccountToken: ofAccount }),
      );
      assert.equal(spec.volumes !== undefined, mounts);
    });
  }

  it('leaves a container alone that mounts something else there', async () => {
    const mounted = { name: 'own', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' };
    const { spec } = await admitted(pod({ containers: [{ name: 'c', volumeMounts: [mounted] }] }), account('default'));
    assert.equal(spec.volumes, undefined);
    assert.deepEqual(spec.containers[0]!.volumeMounts, [mounted]);
  });

  it('adds the pull secrets of the account only where the pod has none', async () => {
    const bot = account('bot', { imagePullSecrets: [{ name: 'registry' }] });
    assert.deepEqual((await admitted(pod({ serviceAccountName: 'bot' }), bot)).spec.imagePullSecrets, [
      { name: 'registry' },
    ]);
    const own = pod({ serviceAccountName: 'bot', imagePullSecrets: [{ name: 'own' }] });
    assert.deepEqual((await admitted(own, bot)).spec.imagePullSecrets, [{ name: 'own' }]);
  });

  it('takes the deprecated field for the name', async () => {
    assert.equal((await admitted(pod({ serviceAccount: 'bot' }), account('bot'))).spec.serviceAccountName, 'bot');
  });

  it("refuses an account that is not there, in upstream's words", async () => {
    const { context } = pluginHarness();
    const message = await refusalOf(
      serviceAccount(context),
      attributesOf({ type: pods, object: pod({ serviceAccountName: 'x' }) }),
    );
    assert.equal(
      message,
      'pods "web" is forbidden: error looking up service account a/x: serviceaccount "x" not found',
    );
  });

  it('waits for the default account of a new namespace', async () => {
    const { api, context, clock, informers } = pluginHarness();
    const attributes = attributesOf({ type: pods, object: pod() });
    const running = run(serviceAccount(context), attributes);
    await clock.advance(300);
    informers.lag = true;
    api.put(serviceAccounts, account('default'));
    await clock.advance(300);
    await running;
    assert.equal((attributes.object as Pod).spec.serviceAccountName, 'default');
  });

  it('gives up on a default account that never comes', async () => {
    const { context, clock } = pluginHarness();
    const outcome = refusalOf(serviceAccount(context), attributesOf({ type: pods, object: pod() }));
    await clock.advance(2000);
    assert.match((await outcome)!, /serviceaccount "default" not found$/);
  });

  const mirror = { 'kubernetes.io/config.mirror': 'x' };
  const mirrors: readonly (readonly [string, Partial<Pod['spec']>, string])[] = [
    ['service accounts', { serviceAccountName: 'x' }, 'a mirror pod may not reference service accounts'],
    ['secrets', { volumes: [{ name: 'v', secret: { secretName: 's' } }] }, 'a mirror pod may not reference secrets'],
    [
      'tokens',
      { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }] },
      'a mirror pod may not use ServiceAccountToken volume projections',
    ],
  ];
  for (const [name, spec, message] of mirrors) {
    it(`refuses a mirror pod with ${name}`, async () => {
      const { context } = pluginHarness();
      const refused = await refusalOf(serviceAccount(context), attributesOf({ type: pods, object: pod(spec, mirror) }));
      assert.equal(refused, `pods "web" is forbidden: ${message}`);
    });
  }

  it('changes nothing about a mirror pod', async () => {
    const object = pod({}, mirror);
    assert.deepEqual(await admitted(object), object);
  });

  const enforced = account('bot', {
    metadata: { annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } },
    secrets: [{ name: 'listed' }],
    imagePullSecrets: [{ name: 'pull' }],
  });
  const because = 'because service account bot does not reference that';
  const secretUses: readonly (readonly [string, Partial<Pod['spec']>, string | undefined])[] = [
    ['a listed volume', { volumes: [{ name: 'v', secret: { secretName: 'listed' } }] }, undefined],
    [
      'another volume',
      { volumes: [{ name: 'v', secret: { secretName: 'x' } }] },
      `volume with secret.secretName="x" is not allowed ${because} secret`,
    ],
    [
      'an environment variable',
      { containers: [{ name: 'c', env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 'x', key: 'k' } } }] }] },
      `container c with envVar E referencing secret.secretName="x" is not allowed ${because} secret`,
    ],
    [
      'the environment of an init container',
      { initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: 'x' } }] }] },
      `init container i with envFrom referencing secret.secretName="x" is not allowed ${because} secret`,
    ],
    [
      'a pull secret',
      { imagePullSecrets: [{ name: 'x' }] },
      `imagePullSecrets[0].name="x" is not allowed ${because} imagePullSecret`,
    ],
  ];
  for (const [name, spec, message] of secretUses) {
    it(`holds an enforcing account's pods to its secrets: ${name}`, async () => {
      const { api, context } = pluginHarness();
      api.put(serviceAccounts, enforced);
      const object = pod({ serviceAccountName: 'bot', ...spec });
      const refused = await refusalOf(serviceAccount(context), attributesOf({ type: pods, object }));
      assert.equal(refused, message && `pods "web" is forbidden: ${message}`);
    });
  }
});
