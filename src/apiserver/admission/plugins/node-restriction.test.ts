import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { certificateSigningRequests } from '../../../api/gen/certificates-v1.ts';
import { podCertificateRequests } from '../../../api/gen/certificates-v1beta1.ts';
import { leases } from '../../../api/gen/coordination-v1.ts';
import {
  type Node,
  nodes,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  pods,
  serviceAccounts,
} from '../../../api/gen/core-v1.ts';
import { resourceSlices } from '../../../api/gen/resource-v1.ts';
import { csiDrivers, csiNodes } from '../../../api/gen/storage-v1.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import { seededRandom } from '../../../base/random.ts';
import { createCertificateRequest } from '../../../pki/certificate-request.ts';
import { keysFrom } from '../../../pki/keys.ts';
import type { UserInfo } from '../../request.ts';
import { type AttributesInput, attributesOf, pluginHarness, refusalOf } from '../admission.fixture.ts';
import { nodeRestriction } from './node-restriction.ts';

const kubelet: UserInfo = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };
const me: Node = { metadata: { name: 'n1', uid: 'node-uid', labels: { 'kubernetes.io/hostname': 'n1' } }, spec: {} };
const pod = (
  nodeName: string,
  rest: { readonly metadata?: Pod['metadata']; readonly spec?: Partial<Pod['spec']> } = {},
): Pod => ({
  metadata: { name: 'p', namespace: 'a', uid: 'pod-uid', ...rest.metadata },
  spec: { nodeName, containers: [{ name: 'c' }], ...rest.spec },
});
const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid', controller: true };
const mirror = (owners: object[] = [owner], spec: Partial<Pod['spec']> = {}): Pod =>
  pod('n1', {
    metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' }, ownerReferences: owners as never },
    spec,
  });
const claim = (rest: Partial<PersistentVolumeClaim>): PersistentVolumeClaim => ({
  metadata: { name: 'c', namespace: 'a' },
  spec: {},
  ...rest,
});

interface Case {
  readonly name: string;
  readonly input: AttributesInput<KubeObject>;
  /** The refusal without `... is forbidden: `; absent: admitted. */
  readonly refused?: string;
}

const labelled = (labels: Record<string, string>): Node => ({ ...me, metadata: { ...me.metadata, labels } });
const token = (audiences: string[], bound?: object): KubeObject =>
  ({
    metadata: { name: 'sa', namespace: 'a' },
    spec: { audiences, ...(bound ? { boundObjectRef: bound } : {}) },
  }) as KubeObject;
const boundPod = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'pod-uid' };
const tokens = { type: serviceAccounts, subresource: 'token' };

const cases: readonly Case[] = [
  { name: 'creates its own Node', input: { type: nodes, object: me } },
  {
    name: 'not another Node',
    input: { type: nodes, object: { metadata: { name: 'n2' }, spec: {} } as Node },
    refused: 'node "n1" is not allowed to modify node "n2"',
  },
  {
    name: 'sets labels about itself and labels of others',
    input: {
      type: nodes,
      object: labelled({
        'kubernetes.io/arch': 'amd64',
        'kubelet.kubernetes.io/x': '1',
        'example.com/x': '1',
        plain: '1',
      }),
    },
  },
  {
    name: 'not labels that are reserved',
    input: {
      type: nodes,
      object: labelled({
        'node-role.kubernetes.io/control-plane': '',
        'x.node-restriction.kubernetes.io/y': '',
        'node-restriction.kubernetes.io/a': '',
      }),
    },
    refused:
      'node "n1" is not allowed to set the following labels: node-restriction.kubernetes.io/a, node-role.kubernetes.io/control-plane, x.node-restriction.kubernetes.io/y',
  },
  {
    name: 'keeps reserved labels that others gave it',
    input: { type: nodes, object: labelled({ 'k8s.io/x': '1', plain: '2' }), oldObject: labelled({ 'k8s.io/x': '1' }) },
  },
  {
    name: 'does not remove them',
    input: { type: nodes, object: labelled({}), oldObject: labelled({ 'k8s.io/x': '1' }) },
    refused: 'is not allowed to modify labels: k8s.io/x',
  },
  {
    name: 'does not touch its taints',
    input: {
      type: nodes,
      object: me,
      oldObject: { ...me, spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } } as Node,
    },
    refused: 'node "n1" is not allowed to modify taints',
  },
  {
    name: 'does not touch its owners',
    input: {
      type: nodes,
      object: { ...me, metadata: { ...me.metadata, ownerReferences: [owner] } },
      oldObject: me,
      subresource: 'status',
    },
    refused: 'node "n1" is not allowed to modify ownerReferences',
  },
  { name: 'creates a mirror pod of its own', input: { type: pods, object: mirror() } },
  {
    name: 'no ordinary pod',
    input: { type: pods, object: pod('n1') },
    refused: 'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
  },
  {
    name: 'no mirror pod on another node',
    input: { type: pods, object: { ...mirror(), spec: { ...mirror().spec, nodeName: 'n2' } } },
    refused: 'node "n1" can only create pods with spec.nodeName set to itself',
  },
  {
    name: 'no mirror pod without owner',
    input: { type: pods, object: mirror([]) },
    refused: 'node "n1" can only create pods with an owner reference set to itself',
  },
  {
    name: 'no mirror pod of two owners',
    input: { type: pods, object: mirror([owner, owner]) },
    refused: 'node "n1" can only create pods with a single owner reference set to itself',
  },
  {
    name: 'no mirror pod of another owner',
    input: { type: pods, object: mirror([{ ...owner, name: 'n2' }]) },
    refused: 'node "n1" can only create pods with an owner reference set to itself',
  },
  {
    name: 'no mirror pod without controller',
    input: { type: pods, object: mirror([{ ...owner, controller: false }]) },
    refused: 'node "n1" can only create pods with a controller owner reference set to itself',
  },
  {
    name: 'no mirror pod that blocks its deletion',
    input: { type: pods, object: mirror([{ ...owner, blockOwnerDeletion: true }]) },
    refused: 'node "n1" must not set blockOwnerDeletion on an owner reference',
  },
  {
    name: 'no mirror pod of an older Node',
    input: { type: pods, object: mirror([{ ...owner, uid: 'old' }]) },
    refused: 'node n1 UID mismatch: expected old got node-uid',
  },
  ...(
    [
      [{ serviceAccountName: 'x' }, 'serviceaccounts'],
      [{ volumes: [{ name: 'v', secret: { secretName: 's' } }] }, 'secrets'],
      [{ volumes: [{ name: 'v', configMap: { name: 's' } }] }, 'configmaps'],
      [{ volumes: [{ name: 'v', csi: { driver: 'd' } }] }, 'csidrivers (via CSI volumes)'],
      [{ volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] }, 'persistentvolumeclaims'],
      [{ volumes: [{ name: 'v', ephemeral: {} }] }, 'persistentvolumeclaims (via ephemeral volumes)'],
      [
        { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] },
        'serviceaccounts (via projected volumes)',
      ],
      [{ resourceClaims: [{ name: 'r' }] }, 'resourceclaims'],
    ] as const
  ).map(([spec, what]) => ({
    name: `no mirror pod with ${what}`,
    input: { type: pods, object: mirror([owner], spec as Partial<Pod['spec']>) },
    refused: `node "n1" can not create pods that reference ${what}`,
  })),
  { name: 'deletes its pods', input: { type: pods, oldObject: pod('n1') } },
  {
    name: 'not the pods of others',
    input: { type: pods, oldObject: pod('n2') },
    refused: 'node "n1" can only delete pods with spec.nodeName set to itself',
  },
  {
    name: 'updates no pod',
    input: { type: pods, object: pod('n1'), oldObject: pod('n1') },
    refused: 'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
  },
  {
    name: 'updates the status of its pods',
    input: { type: pods, object: pod('n1'), oldObject: pod('n1'), subresource: 'status' },
  },
  {
    name: 'not of others',
    input: { type: pods, object: pod('n2'), oldObject: pod('n2'), subresource: 'status' },
    refused: 'node "n1" can only update pod status for pods with spec.nodeName set to itself',
  },
  {
    name: 'no labels by status',
    input: {
      type: pods,
      object: pod('n1', { metadata: { labels: { a: 'b' } } }),
      oldObject: pod('n1'),
      subresource: 'status',
    },
    refused: 'node "n1" cannot update labels through pod status',
  },
  {
    name: 'no claims by status',
    input: {
      type: pods,
      object: { ...pod('n1'), status: { resourceClaimStatuses: [{ name: 'r' }] } },
      oldObject: pod('n1'),
      subresource: 'status',
    },
    refused: 'node "n1" cannot update resource claim statues',
  },
  {
    name: 'no other subresource of pods',
    input: { type: pods, object: pod('n1'), subresource: 'resize', operation: 'UPDATE' },
    refused: "unexpected pod subresource \"resize\", only 'status' and 'eviction' are allowed",
  },
  {
    name: 'evicts its pods',
    input: { type: pods, object: { metadata: { name: 'p', namespace: 'a' } }, subresource: 'eviction' },
  },
  {
    name: 'not the pods of others by eviction',
    input: { type: pods, object: { metadata: { name: 'theirs', namespace: 'a' } }, subresource: 'eviction' },
    refused: 'node n1 can only evict pods with spec.nodeName set to itself',
  },
  {
    name: "tells a claim's capacity",
    input: {
      type: persistentVolumeClaims,
      object: claim({ status: { capacity: { storage: '2Gi' } } }),
      oldObject: claim({}),
      subresource: 'status',
    },
  },
  {
    name: 'nothing else of a claim',
    input: {
      type: persistentVolumeClaims,
      object: claim({ status: { phase: 'Bound' } }),
      oldObject: claim({}),
      subresource: 'status',
    },
    refused: 'node "n1" is not allowed to update fields other than status.quantity and status.conditions: status',
  },
  {
    name: 'no claim itself',
    input: { type: persistentVolumeClaims, object: claim({}) },
    refused: 'may only update PVC status',
  },
  {
    name: 'its lease',
    input: { type: leases, object: { metadata: { name: 'n1', namespace: 'kube-node-lease' }, spec: {} } as KubeObject },
  },
  {
    name: 'no other lease',
    input: { type: leases, object: { metadata: { name: 'n2', namespace: 'kube-node-lease' } } },
    refused: 'can only access node lease with the same name as the requesting node',
  },
  {
    name: 'no lease elsewhere',
    input: { type: leases, object: { metadata: { name: 'n1', namespace: 'a' } } },
    refused: 'can only access leases in the "kube-node-lease" system namespace',
  },
  { name: 'its CSINode', input: { type: csiNodes, object: { metadata: { name: 'n1' } } } },
  {
    name: 'no other CSINode',
    input: { type: csiNodes, object: { metadata: { name: 'n2' } } },
    refused: 'can only access CSINode with the same name as the requesting node',
  },
  {
    name: 'its slices',
    input: { type: resourceSlices, object: { metadata: { name: 's' }, spec: { nodeName: 'n1' } } as KubeObject },
  },
  {
    name: 'no slices of others',
    input: { type: resourceSlices, object: { metadata: { name: 's' }, spec: { nodeName: 'n2' } } as KubeObject },
    refused: 'can only create ResourceSlice with the same NodeName as the requesting node',
  },
  { name: 'a token of its pod', input: { ...tokens, object: token([], boundPod) } },
  {
    name: 'no token without pod',
    input: { ...tokens, object: token([]) },
    refused: 'node requested token not bound to a pod',
  },
  {
    name: 'no token without uid',
    input: { ...tokens, object: token([], { ...boundPod, uid: '' }) },
    refused: 'node requested token with a pod binding without a uid',
  },
  {
    name: 'no token of an older pod',
    input: { ...tokens, object: token([], { ...boundPod, uid: 'old' }) },
    refused:
      'the UID in the bound object reference (old) does not match the UID in record. The object might have been deleted and then recreated',
  },
  {
    name: "no token of another node's pod",
    input: { ...tokens, object: token([], { ...boundPod, name: 'theirs', uid: 'their-uid' }) },
    refused: 'node requested token bound to a pod scheduled on a different node',
  },
  { name: 'a token for an audience that the pod projects', input: { ...tokens, object: token(['vault'], boundPod) } },
  { name: 'a token for an audience of its CSI driver', input: { ...tokens, object: token(['storage'], boundPod) } },
  {
    name: 'a token for an audience that somebody allowed',
    input: { ...tokens, object: token(['registry'], boundPod) },
  },
  {
    name: 'no token for another audience',
    input: { ...tokens, object: token(['x'], boundPod) },
    refused:
      'audience "x" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
  },
  {
    name: 'no token for two audiences',
    input: { ...tokens, object: token(['x', 'y'], boundPod) },
    refused: 'node may only request 0 or 1 audiences',
  },
];

describe('NodeRestriction: a node', () => {
  for (const { name, input, refused } of cases) {
    it(name, async () => {
      const { api, context, allowed } = pluginHarness();
      allowed.add('request-serviceaccounts-token-audience registry/sa');
      api.put(nodes, me);
      api.put(csiDrivers, { metadata: { name: 'driver' }, spec: { tokenRequests: [{ audience: 'storage' }] } });
      const sources = [
        { serviceAccountToken: { path: 'a' } },
        { serviceAccountToken: { path: 'b', audience: 'vault' } },
      ];
      api.put(
        pods,
        pod('n1', {
          spec: {
            volumes: [
              { name: 'v', projected: { sources } },
              { name: 'd', csi: { driver: 'driver' } },
            ],
          },
        }),
      );
      api.put(pods, pod('n2', { metadata: { name: 'theirs', namespace: 'a', uid: 'their-uid' } }));
      const message = await refusalOf(nodeRestriction(context), attributesOf({ ...input, user: kubelet }));
      assert.equal(message?.replace(/^.*? is forbidden: /, ''), refused);
    });
  }

  for (const [name, commonName, refused] of [
    ['its own certificate', 'system:node:n1', undefined],
    ['no certificate of another', 'system:node:n2', 'can only create a node CSR with CN=system:node:n1'],
  ] as const) {
    it(name, async () => {
      const key = keysFrom(seededRandom(1)).generate();
      const request = createCertificateRequest(key, { commonName, organizations: ['system:nodes'] });
      const spec = {
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        request: Buffer.from(request).toString('base64'),
      };
      const { context } = pluginHarness();
      const object = { metadata: { name: 'csr' }, spec } as KubeObject;
      const message = await refusalOf(
        nodeRestriction(context),
        attributesOf({ type: certificateSigningRequests, object, user: kubelet }),
      );
      assert.equal(message?.replace(/^.*? is forbidden: /, ''), refused);
    });
  }

  const right = {
    nodeName: 'n1',
    nodeUID: 'node-uid',
    podName: 'p',
    podUID: 'pod-uid',
    serviceAccountName: 'sa',
    serviceAccountUID: 'account-uid',
  };
  const request = 'PodCertificateRequest for pod "a/p"';
  for (const [name, wrong, refused] of [
    ['a certificate for a pod of its own', {}, undefined],
    [
      'no certificate as another node',
      { nodeName: 'n2' },
      'PodCertificateRequest.Spec.NodeName="n2", which is not the requesting node "n1"',
    ],
    [
      "no certificate for another node's pod",
      { podName: 'theirs', podUID: 'their-uid' },
      'pod "a/theirs" is not running on node "n1" named in the PodCertificateRequest',
    ],
    [
      'no certificate for a pod that nobody knows',
      { podName: 'gone' },
      'while retrieving pod "a/gone" named in the PodCertificateRequest: pods "gone" not found',
    ],
    [
      'no certificate for an older pod',
      { podUID: 'old' },
      `${request} contains pod UID ("old") which differs from running pod "pod-uid"`,
    ],
    [
      'no certificate for an account that the pod does not run as',
      { serviceAccountName: 'root' },
      `${request} contains serviceAccountName ("root") that differs from running pod ("sa")`,
    ],
    [
      'no certificate for an older account',
      { serviceAccountUID: 'old' },
      `${request} names service account UID "old", which differs from the running service account ("account-uid")`,
    ],
  ] as const) {
    it(name, async () => {
      const { api, context } = pluginHarness();
      api.put(nodes, me);
      api.put(serviceAccounts, { metadata: { name: 'sa', namespace: 'a', uid: 'account-uid' } });
      api.put(pods, pod('n1', { spec: { serviceAccountName: 'sa' } }));
      api.put(pods, pod('n2', { metadata: { name: 'theirs', namespace: 'a', uid: 'their-uid' } }));
      const object = { metadata: { name: 'r', namespace: 'a' }, spec: { ...right, ...wrong } } as KubeObject;
      const message = await refusalOf(
        nodeRestriction(context),
        attributesOf({ type: podCertificateRequests, object, user: kubelet }),
      );
      assert.equal(message?.replace(/^.*? is forbidden: /, ''), refused);
    });
  }

  it('is refused everything when its name is not known', async () => {
    const { context } = pluginHarness();
    const nameless = { name: 'system:node:', groups: ['system:nodes'] };
    const message = await refusalOf(
      nodeRestriction(context),
      attributesOf({ type: nodes, object: me, user: nameless }),
    );
    assert.equal(message, 'nodes "n1" is forbidden: could not determine node from user "system:node:"');
  });

  it('is not confused with anybody else', async () => {
    const { context } = pluginHarness();
    assert.equal(await refusalOf(nodeRestriction(context), attributesOf({ type: pods, object: pod('n2') })), undefined);
  });
});
