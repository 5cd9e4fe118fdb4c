import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type PersistentVolume, type Pod, persistentVolumes, pods } from '../../api/gen/core-v1.ts';
import {
  type ClusterRole,
  type ClusterRoleBinding,
  clusterRoleBindings,
  clusterRoles,
  type PolicyRule,
  type RoleBinding,
  roleBindings,
  roles,
} from '../../api/gen/rbac-v1.ts';
import { volumeAttachments } from '../../api/gen/storage-v1.ts';
import { MemoryApi } from '../../testing/memory-api.ts';
import { MemoryInformers } from '../../testing/memory-informers.ts';
import { IdentityStatistics } from '../metrics/identity-statistics.ts';
import type { UserInfo } from '../request.ts';
import { pathAccess, type ResourceAccess, resourceAccess } from './access.ts';
import { type BuiltInMode, chainOf, createAuthorization, unionAuthorizer } from './authorization.ts';
import type { Authorizer } from './authorizer.ts';
import { forbiddenError } from './forbidden.ts';
import { alwaysAllow } from './static-authorizers.ts';

const alice: UserInfo = { name: 'alice', groups: ['dev', 'system:authenticated'] };
const kubelet: UserInfo = { name: 'system:node:node-1', groups: ['system:nodes', 'system:authenticated'] };
const account: UserInfo = {
  name: 'system:serviceaccount:ns1:bot',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:ns1'],
};

function role(name: string, ...rules: PolicyRule[]): ClusterRole {
  return { metadata: { name }, rules };
}

function clusterBinding(
  name: string,
  roleName: string,
  subject: NonNullable<ClusterRoleBinding['subjects']>[number],
): ClusterRoleBinding {
  return { metadata: { name }, roleRef: { kind: 'ClusterRole', name: roleName }, subjects: [subject] };
}

function authorizationOf(api: MemoryApi, ...modes: BuiltInMode[]) {
  const chain = chainOf(modes);
  return createAuthorization({ chain: () => chain, informers: new MemoryInformers(api) });
}

describe('RBAC authorizer', () => {
  const readPods = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] };
  const cases: readonly {
    readonly name: string;
    readonly rule: PolicyRule;
    readonly access: ResourceAccess;
    readonly allowed: boolean;
  }[] = [
    {
      name: 'a rule allows its verb on its resource',
      rule: readPods,
      access: { verb: 'get', resource: 'pods' },
      allowed: true,
    },
    {
      name: 'another verb is not allowed',
      rule: readPods,
      access: { verb: 'delete', resource: 'pods' },
      allowed: false,
    },
    {
      name: 'another group is not allowed',
      rule: readPods,
      access: { verb: 'get', group: 'apps', resource: 'pods' },
      allowed: false,
    },
    {
      name: 'a resource does not cover its subresource',
      rule: readPods,
      access: { verb: 'get', resource: 'pods', subresource: 'log' },
      allowed: false,
    },
    {
      name: 'a subresource is named with a slash',
      rule: { ...readPods, resources: ['pods/log'] },
      access: { verb: 'get', resource: 'pods', subresource: 'log' },
      allowed: true,
    },
    {
      name: 'a star and a slash cover that subresource of everything',
      rule: { ...readPods, resources: ['*/log'] },
      access: { verb: 'get', resource: 'pods', subresource: 'log' },
      allowed: true,
    },
    {
      name: 'a star and a slash cover no other subresource',
      rule: { ...readPods, resources: ['*/og'] },
      access: { verb: 'get', resource: 'pods', subresource: 'log' },
      allowed: false,
    },
    {
      name: 'stars cover everything',
      rule: { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      access: { verb: 'x', group: 'g', resource: 'r', subresource: 's' },
      allowed: true,
    },
    {
      name: 'resourceNames allow the named object',
      rule: { ...readPods, resourceNames: ['web'] },
      access: { verb: 'get', resource: 'pods', name: 'web' },
      allowed: true,
    },
    {
      name: 'resourceNames refuse another object',
      rule: { ...readPods, resourceNames: ['web'] },
      access: { verb: 'get', resource: 'pods', name: 'db' },
      allowed: false,
    },
    {
      name: 'resourceNames refuse a list without name',
      rule: { ...readPods, resourceNames: ['web'] },
      access: { verb: 'list', resource: 'pods' },
      allowed: false,
    },
  ];
  for (const { name, rule, access, allowed } of cases) {
    it(name, async () => {
      const api = new MemoryApi();
      api.put(clusterRoles, role('r', rule));
      api.put(clusterRoleBindings, clusterBinding('b', 'r', { kind: 'User', name: 'alice' }));
      const { authorizer } = authorizationOf(api, 'RBAC');
      const { decision } = await authorizer.authorize(resourceAccess(alice, access));
      assert.equal(decision, allowed ? 'allow' : 'no-opinion');
    });
  }

  it('matches paths exactly or by a trailing star', async () => {
    const api = new MemoryApi();
    api.put(clusterRoles, role('r', { nonResourceURLs: ['/healthz', '/apis/*'], verbs: ['get'] }));
    api.put(clusterRoleBindings, clusterBinding('b', 'r', { kind: 'Group', name: 'dev' }));
    const { authorizer } = authorizationOf(api, 'RBAC');
    const decide = async (path: string) =>
      (await authorizer.authorize(pathAccess(alice, { verb: 'get', path }))).decision;
    assert.equal(await decide('/healthz'), 'allow');
    assert.equal(await decide('/healthz/ping'), 'no-opinion');
    assert.equal(await decide('/apis/apps'), 'allow');
    assert.equal(await decide('/api'), 'no-opinion');
  });

  it("says which binding allowed, in upstream's words", async () => {
    const api = new MemoryApi();
    api.put(clusterRoles, role('view', readPods));
    const subjects = [{ kind: 'ServiceAccount', name: 'bot' }];
    api.put(roleBindings, {
      metadata: { name: 'rb', namespace: 'ns1' },
      roleRef: { kind: 'ClusterRole', name: 'view' },
      subjects,
    });
    const { authorizer } = authorizationOf(api, 'RBAC');
    const allowed = await authorizer.authorize(
      resourceAccess(account, { verb: 'get', resource: 'pods', namespace: 'ns1' }),
    );
    const reason = 'RBAC: allowed by RoleBinding "rb/ns1" of ClusterRole "view" to ServiceAccount "bot/ns1"';
    assert.deepEqual(allowed, { decision: 'allow', reason });
    const elsewhere = await authorizer.authorize(
      resourceAccess(account, { verb: 'get', resource: 'pods', namespace: 'ns2' }),
    );
    assert.deepEqual(elsewhere, { decision: 'no-opinion', reason: '' });
  });

  it('gives roles that are not there as the reason of a refusal', async () => {
    const api = new MemoryApi();
    api.put(clusterRoleBindings, clusterBinding('b', 'gone', { kind: 'User', name: 'alice' }));
    api.put(roleBindings, {
      metadata: { name: 'rb', namespace: 'a' },
      roleRef: { kind: 'Role', name: 'lost' },
      subjects: [{ kind: 'User', name: 'alice' }],
    });
    const { authorizer } = authorizationOf(api, 'RBAC');
    const { reason } = await authorizer.authorize(
      resourceAccess(alice, { verb: 'get', resource: 'pods', namespace: 'a' }),
    );
    assert.equal(
      reason,
      'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "lost" not found]',
    );
  });

  it('follows changes of bindings and roles', async () => {
    const api = new MemoryApi();
    const { authorizer } = authorizationOf(api, 'RBAC');
    const ask = async () =>
      (await authorizer.authorize(resourceAccess(alice, { verb: 'get', resource: 'pods' }))).decision;
    assert.equal(await ask(), 'no-opinion');
    api.put(clusterRoles, role('r', readPods));
    api.put(clusterRoleBindings, clusterBinding('b', 'r', { kind: 'User', name: 'alice' }));
    assert.equal(await ask(), 'allow');
    api.erase(clusterRoleBindings, 'b');
    assert.equal(await ask(), 'no-opinion');
  });

  it('lets system:masters do anything without a rule', async () => {
    const { authorizer } = authorizationOf(new MemoryApi(), 'RBAC');
    const admin = { name: 'root', groups: ['system:masters'] };
    assert.equal((await authorizer.authorize(resourceAccess(admin, { verb: 'x', resource: 'y' }))).decision, 'allow');
  });
});

describe("Upstream's bootstrap roles", () => {
  const api = new MemoryApi();
  const rbac = JSON.parse(readFileSync(join(import.meta.dirname, '../gen/rbac.json'), 'utf8'));
  api.put(clusterRoles, ...rbac.clusterRoles);
  api.put(clusterRoleBindings, ...rbac.clusterRoleBindings);
  api.put(roles, ...rbac.roles);
  api.put(roleBindings, ...(rbac.roleBindings as RoleBinding[]));
  const { authorizer } = authorizationOf(api, 'Node', 'RBAC');
  const scheduler = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };
  const anonymous = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
  const cases: readonly (readonly [string, Parameters<typeof authorizer.authorize>[0], boolean])[] = [
    [
      'the scheduler binds pods',
      resourceAccess(scheduler, { verb: 'create', resource: 'pods', subresource: 'binding', namespace: 'a' }),
      true,
    ],
    [
      'the scheduler reads no secrets',
      resourceAccess(scheduler, { verb: 'get', resource: 'secrets', namespace: 'a' }),
      false,
    ],
    [
      'the scheduler reads its lease',
      resourceAccess(scheduler, {
        verb: 'update',
        group: 'coordination.k8s.io',
        resource: 'leases',
        namespace: 'kube-system',
        name: 'kube-scheduler',
      }),
      true,
    ],
    ['everybody sees the version', pathAccess(anonymous, { verb: 'get', path: '/version' }), true],
    ['anonymous sees no discovery', pathAccess(anonymous, { verb: 'get', path: '/apis' }), false],
    ['who is known sees discovery', pathAccess(alice, { verb: 'get', path: '/apis/apps/v1' }), true],
    [
      'who is known asks what he may do',
      resourceAccess(alice, { verb: 'create', group: 'authorization.k8s.io', resource: 'selfsubjectaccessreviews' }),
      true,
    ],
  ];
  for (const [name, attributes, allowed] of cases) {
    it(name, async () => assert.equal((await authorizer.authorize(attributes)).decision === 'allow', allowed));
  }
});

describe('Node authorizer', () => {
  const pod = (
    name: string,
    nodeName: string,
    spec: Partial<Pod['spec']> = {},
    annotations?: Record<string, string>,
  ): Pod => ({
    metadata: { name, namespace: 'a', ...(annotations ? { annotations } : {}) },
    spec: { nodeName, containers: [], serviceAccountName: 'sa', ...spec },
  });
  const volume: PersistentVolume = {
    metadata: { name: 'pv1' },
    spec: {
      claimRef: { namespace: 'a', name: 'data' },
      csi: {
        driver: 'd',
        volumeHandle: 'h',
        nodeStageSecretRef: { name: 'stage', namespace: 'csi' },
        controllerPublishSecretRef: { name: 'ctl', namespace: 'csi' },
      },
    },
  };
  const api = new MemoryApi();
  api.put(
    pods,
    pod('web', 'node-1', {
      imagePullSecrets: [{ name: 'pull' }],
      initContainers: [
        { name: 'i', envFrom: [{ secretRef: { name: 'init-env' } }, { configMapRef: { name: 'init-config' } }] },
      ],
      containers: [{ name: 'c', env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 'env-secret', key: 'k' } } }] }],
      volumes: [
        { name: 'v', secret: { secretName: 'mounted' } },
        {
          name: 'p',
          projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }, { secret: { name: 'projected' } }] },
        },
        { name: 'd', persistentVolumeClaim: { claimName: 'data' } },
        { name: 'e', ephemeral: {} },
      ],
    }),
  );
  api.put(pods, pod('other', 'node-2', { volumes: [{ name: 'v', secret: { secretName: 'theirs' } }] }));
  api.put(
    pods,
    pod(
      'mirror',
      'node-1',
      { volumes: [{ name: 'v', secret: { secretName: 'wanted' } }] },
      { 'kubernetes.io/config.mirror': 'x' },
    ),
  );
  api.put(persistentVolumes, volume);
  api.put(volumeAttachments, {
    metadata: { name: 'va1' },
    spec: { attacher: 'd', nodeName: 'node-1', source: {} },
  });
  const { authorizer } = authorizationOf(api, 'Node');
  const secret = (name: string, verb = 'get'): ResourceAccess => ({ verb, resource: 'secrets', namespace: 'a', name });
  const unrelated = "no relationship found between node 'node-1' and this object";
  const cases: readonly { readonly name: string; readonly access: ResourceAccess; readonly reason?: string }[] = [
    ...['pull', 'init-env', 'env-secret', 'mounted', 'projected'].map((name) => ({
      name: `reads secret ${name} of its pod`,
      access: secret(name),
    })),
    { name: 'watches a single secret', access: secret('mounted', 'watch') },
    { name: 'not a secret of another node', access: secret('theirs'), reason: unrelated },
    { name: 'not a secret named by a mirror pod', access: secret('wanted'), reason: unrelated },
    {
      name: 'not all secrets',
      access: { verb: 'list', resource: 'secrets' },
      reason: 'can only read namespaced object of this type',
    },
    {
      name: 'not all secrets of a namespace',
      access: { verb: 'list', resource: 'secrets', namespace: 'a' },
      reason: 'No Object name found',
    },
    { name: 'writes no secret', access: secret('mounted', 'update'), reason: 'can only read resources of this type' },
    {
      name: 'reads a config map of its pod',
      access: { verb: 'get', resource: 'configmaps', namespace: 'a', name: 'init-config' },
    },
    {
      name: 'reads the claim of its pod',
      access: { verb: 'get', resource: 'persistentvolumeclaims', namespace: 'a', name: 'data' },
    },
    {
      name: 'reads the claim of an ephemeral volume',
      access: { verb: 'get', resource: 'persistentvolumeclaims', namespace: 'a', name: 'web-e' },
    },
    {
      name: 'updates the status of that claim',
      access: {
        verb: 'patch',
        resource: 'persistentvolumeclaims',
        subresource: 'status',
        namespace: 'a',
        name: 'data',
      },
    },
    {
      name: 'lists no claims',
      access: { verb: 'list', resource: 'persistentvolumeclaims', namespace: 'a' },
      reason: 'can only get individual resources of this type',
    },
    { name: 'reads the volume behind the claim', access: { verb: 'get', resource: 'persistentvolumes', name: 'pv1' } },
    {
      name: 'reads the secret that staging the volume needs',
      access: { verb: 'get', resource: 'secrets', namespace: 'csi', name: 'stage' },
    },
    {
      name: 'not the secret of the controller',
      access: { verb: 'get', resource: 'secrets', namespace: 'csi', name: 'ctl' },
      reason: unrelated,
    },
    {
      name: 'reads its attachment',
      access: { verb: 'get', group: 'storage.k8s.io', resource: 'volumeattachments', name: 'va1' },
    },
    {
      name: "makes tokens of its pods' account",
      access: { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: 'a', name: 'sa' },
    },
    {
      name: 'no tokens of another account',
      access: { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: 'a', name: 'x' },
      reason: unrelated,
    },
    {
      name: 'renews its lease',
      access: {
        verb: 'update',
        group: 'coordination.k8s.io',
        resource: 'leases',
        namespace: 'kube-node-lease',
        name: 'node-1',
      },
    },
    {
      name: 'not another lease',
      access: {
        verb: 'update',
        group: 'coordination.k8s.io',
        resource: 'leases',
        namespace: 'kube-node-lease',
        name: 'node-2',
      },
      reason: 'can only access node lease with the same name as the requesting node',
    },
    {
      name: 'no lease elsewhere',
      access: {
        verb: 'get',
        group: 'coordination.k8s.io',
        resource: 'leases',
        namespace: 'kube-system',
        name: 'node-1',
      },
      reason: 'can only access leases in the "kube-node-lease" system namespace',
    },
    { name: 'reads itself', access: { verb: 'get', resource: 'nodes', name: 'node-1' } },
    {
      name: 'not other nodes',
      access: { verb: 'get', resource: 'nodes', name: 'node-2' },
      reason: "node 'node-1' cannot read 'node-2', only its own Node object",
    },
    {
      name: 'not all nodes',
      access: { verb: 'list', resource: 'nodes' },
      reason: "node 'node-1' cannot read all nodes, only its own Node object",
    },
    {
      name: 'updates node status',
      access: { verb: 'patch', resource: 'nodes', subresource: 'status', name: 'node-1' },
    },
    { name: 'deletes no node', access: { verb: 'delete', resource: 'nodes', name: 'node-1' }, reason: '' },
    {
      name: 'watches the pods bound to it',
      access: { verb: 'watch', resource: 'pods', fieldSelector: 'spec.nodeName=node-1' },
    },
    {
      name: 'not the pods of another node',
      access: { verb: 'watch', resource: 'pods', fieldSelector: 'spec.nodeName=node-2' },
      reason: 'can only list/watch pods with spec.nodeName field selector',
    },
    { name: 'reads its pod', access: { verb: 'get', resource: 'pods', namespace: 'a', name: 'web' } },
    {
      name: "not another node's pod",
      access: { verb: 'get', resource: 'pods', namespace: 'a', name: 'other' },
      reason: unrelated,
    },
    { name: 'watches services by a static rule', access: { verb: 'watch', resource: 'services' } },
    { name: 'no deployments', access: { verb: 'get', group: 'apps', resource: 'deployments' }, reason: '' },
  ];
  for (const { name, access, reason } of cases) {
    it(name, async () => {
      const decision = await authorizer.authorize(resourceAccess(kubelet, access));
      assert.deepEqual(
        decision,
        reason === undefined ? { decision: 'allow', reason: '' } : { decision: 'no-opinion', reason },
      );
    });
  }

  it('has no opinion on who is not both node user and in the nodes group', async () => {
    const access = { verb: 'get', resource: 'nodes', name: 'node-1' };
    const half = { name: 'system:node:node-1', groups: ['system:authenticated'] };
    assert.deepEqual(await authorizer.authorize(resourceAccess(half, access)), { decision: 'no-opinion', reason: '' });
    const nameless = { name: 'system:node:', groups: ['system:nodes'] };
    assert.equal(
      (await authorizer.authorize(resourceAccess(nameless, access))).reason,
      'unknown node for user "system:node:"',
    );
  });

  it('takes back what a deleted pod gave', async () => {
    const own = new MemoryApi();
    own.put(pods, pod('web', 'node-1', { volumes: [{ name: 'v', secret: { secretName: 's' } }] }));
    const node = authorizationOf(own, 'Node').authorizer;
    assert.equal((await node.authorize(resourceAccess(kubelet, secret('s')))).decision, 'allow');
    own.erase(pods, 'a/web');
    assert.equal((await node.authorize(resourceAccess(kubelet, secret('s')))).decision, 'no-opinion');
  });
});

describe('Union of authorizers', () => {
  it('lets the first decision stand and joins the reasons when there is none', async () => {
    const says = (decision: 'allow' | 'deny' | 'no-opinion', reason: string, later = false) => ({
      name: reason,
      authorize: () => (later ? Promise.resolve({ decision, reason }) : { decision, reason }),
    });
    const attributes = resourceAccess(alice, { verb: 'get', resource: 'pods' });
    const ask = (...authorizers: ReturnType<typeof says>[]) => unionAuthorizer(authorizers).authorize(attributes);
    assert.deepEqual(await ask(says('no-opinion', 'a', true), says('deny', 'b'), says('allow', 'c')), {
      decision: 'deny',
      reason: 'b',
    });
    assert.deepEqual(await ask(says('no-opinion', 'a'), says('no-opinion', ''), says('no-opinion', 'b', true)), {
      decision: 'no-opinion',
      reason: 'a\nb',
    });
  });

  it('AlwaysDeny refuses and AlwaysAllow allows', async () => {
    const attributes = resourceAccess(alice, { verb: 'get', resource: 'pods' });
    const decide = async (...modes: BuiltInMode[]) =>
      (await authorizationOf(new MemoryApi(), ...modes).authorizer.authorize(attributes)).decision;
    assert.equal(await decide('AlwaysAllow'), 'allow');
    assert.equal(await decide('AlwaysDeny'), 'no-opinion');
    assert.equal(await decide('AlwaysDeny', 'AlwaysAllow'), 'allow');
  });

  it('takes another chain from the next request on', async () => {
    let chain = chainOf(['AlwaysDeny']);
    const { decisions } = new IdentityStatistics();
    const { authorizer } = createAuthorization({
      chain: () => chain,
      informers: new MemoryInformers(new MemoryApi()),
      decisions,
    });
    const attributes = resourceAccess(alice, { verb: 'get', resource: 'pods' });
    assert.equal((await authorizer.authorize(attributes)).decision, 'no-opinion');
    chain = chainOf(['AlwaysDeny', 'AlwaysAllow']);
    assert.equal((await authorizer.authorize(attributes)).decision, 'allow');
    const labels = { decision: 'allowed', name: 'alwaysallow', type: 'AlwaysAllow' };
    assert.deepEqual([...decisions.samples()], [{ labels, value: 1 }]);
  });

  it('tells the failures of those that could not decide, unless somebody decides after them', async () => {
    const broken: Authorizer = {
      name: 'Broken',
      authorize: async () => ({ decision: 'no-opinion', reason: 'a', error: 'e' }),
    };
    const attributes = resourceAccess(alice, { verb: 'get', resource: 'pods' });
    const ask = (...authorizers: Authorizer[]) => unionAuthorizer(authorizers).authorize(attributes);
    assert.deepEqual(await ask(broken, broken), { decision: 'no-opinion', reason: 'a\na', error: 'e' });
    assert.deepEqual(await ask(broken, alwaysAllow), { decision: 'allow', reason: '' });
  });
});

describe('Refusal', () => {
  const cases: readonly (readonly [string, ResourceAccess, string, string])[] = [
    [
      'an object in a namespace',
      { verb: 'get', resource: 'pods', namespace: 'a', name: 'web' },
      '',
      'pods "web" is forbidden: User "alice" cannot get resource "pods" in API group "" in the namespace "a"',
    ],
    [
      'a collection of the cluster',
      { verb: 'list', group: 'apps', resource: 'deployments' },
      'because',
      'deployments.apps is forbidden: User "alice" cannot list resource "deployments" in API group "apps" at the cluster scope: because',
    ],
    [
      'a subresource',
      { verb: 'create', resource: 'pods', subresource: 'exec', namespace: 'a', name: 'web' },
      '',
      'pods "web" is forbidden: User "alice" cannot create resource "pods/exec" in API group "" in the namespace "a"',
    ],
  ];
  for (const [name, access, reason, message] of cases) {
    it(`of ${name}`, () => assert.equal(forbiddenError(resourceAccess(alice, access), reason).message, message));
  }
  it('of a path does not look like HTML', () => {
    const error = forbiddenError(pathAccess(alice, { verb: 'get', path: '/<b>' }), '');
    assert.equal(error.message, 'forbidden: User "alice" cannot get path "/&lt;b&gt;"');
  });
});
