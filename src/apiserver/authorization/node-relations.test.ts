import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mirrorPodAnnotation } from '../../api/core/v1/mirror-pod.ts';
import { type Pod, type PodSpec, pods } from '../../api/gen/core-v1.ts';
import { deepFreeze } from '../../base/deep-freeze.ts';
import type { Informer, InformerSet } from '../../reconcile/informer.ts';
import { nodeRelations, type RelatedKind } from './node-relations.ts';

const spec: PodSpec = deepFreeze({
  nodeName: 'node-1',
  serviceAccountName: 'runner',
  containers: [{ name: 'c', image: 'i', envFrom: [{ configMapRef: { name: 'settings' } }] }],
  volumes: [
    { name: 'secret', secret: { secretName: 'key' } },
    { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } },
  ],
  resourceClaims: [{ name: 'device', resourceClaimTemplateName: 'devices' }],
});

/** What follows from Pods that are all of the very same spec. */
function related(...metadata: readonly Pod['metadata'][]): (kind: RelatedKind, key: string) => boolean {
  const index = new Set<string>();
  const informer = {
    addIndex(_name: string, values: (pod: Pod) => readonly string[]) {
      for (const each of metadata) for (const value of values({ metadata: each, spec })) index.add(value);
    },
    byIndex: (_name: string, value: string) => (index.has(value) ? [{}] : []),
    get: () => undefined,
  };
  const none = { addIndex() {}, byIndex: () => [], get: () => undefined };
  const informers = { of: (type: unknown) => (type === pods ? informer : none) as unknown as Informer<never> };
  const relations = nodeRelations(informers as unknown as InformerSet);
  return (kind, key) => relations.related('node-1', kind, key);
}

test('Pods of several namespaces that share one spec lead each to what is in its own', () => {
  const leadsTo = related({ namespace: 'a', name: 'web' }, { namespace: 'b', name: 'shop' });
  for (const [kind, name] of [
    ['secret', 'key'],
    ['configmap', 'settings'],
    ['serviceaccount', 'runner'],
  ] as const) {
    for (const namespace of ['a', 'b']) assert.ok(leadsTo(kind, `${namespace}/${name}`), `${kind} in ${namespace}`);
    assert.ok(!leadsTo(kind, `c/${name}`));
  }
});

test('the claim of an ephemeral volume is called after each Pod that shares the spec', () => {
  const leadsTo = related({ namespace: 'a', name: 'web-1' }, { namespace: 'a', name: 'web-2' });
  assert.ok(leadsTo('pvc', 'a/web-1-scratch'));
  assert.ok(leadsTo('pvc', 'a/web-2-scratch'));
});

test('a mirror Pod leads nowhere, whoever else has its spec', () => {
  const mirror = { namespace: 'a', name: 'web', annotations: { [mirrorPodAnnotation]: 'hash' } };
  const plain = { namespace: 'b', name: 'web' };
  for (const order of [
    [mirror, plain],
    [plain, mirror],
  ]) {
    const leadsTo = related(...order);
    assert.ok(!leadsTo('secret', 'a/key'));
    assert.ok(leadsTo('secret', 'b/key'));
  }
});
