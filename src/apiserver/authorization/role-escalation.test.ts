import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type ClusterRole,
  clusterRoleBindings,
  clusterRoles,
  type PolicyRule,
  roleBindings,
  roles,
} from '../../api/gen/rbac-v1.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { MemoryApi } from '../../testing/memory-api.ts';
import { MemoryInformers } from '../../testing/memory-informers.ts';
import { alice, attributesOf, refusalOf } from '../admission/admission.fixture.ts';
import { chainOf, createAuthorization } from './authorization.ts';
import { roleEscalation } from './role-escalation.ts';

const readPods: PolicyRule = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] };
const group = 'rbac.authorization.k8s.io';

/** What alice holds. */
function setUp(...held: PolicyRule[]) {
  const api = new MemoryApi();
  api.put(clusterRoles, { metadata: { name: 'held' }, rules: held });
  api.put(clusterRoleBindings, {
    metadata: { name: 'b' },
    roleRef: { kind: 'ClusterRole', name: 'held' },
    subjects: [{ kind: 'User', name: 'alice' }],
  });
  const chain = chainOf(['RBAC']);
  const { authorizer, ruleResolver } = createAuthorization({ chain: () => chain, informers: new MemoryInformers(api) });
  return { api, plugin: roleEscalation({ authorizer, resolver: ruleResolver }) };
}

const who =
  'user "alice" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:';
const role = (...rules: PolicyRule[]) => ({ metadata: { name: 'r', namespace: 'a' }, rules });

describe('Nobody hands on what he does not hold:', () => {
  it('a role of held rules is admitted', async () => {
    const { plugin } = setUp(readPods);
    assert.equal(
      await refusalOf(
        plugin,
        attributesOf({ type: roles, object: role({ ...readPods, verbs: ['get'], resourceNames: ['x'] }) }),
      ),
      undefined,
    );
  });

  it('a role of other rules is refused, and says which', async () => {
    const { plugin } = setUp(readPods);
    const wanted = [
      { ...readPods, verbs: ['get', 'delete', 'create'] },
      { nonResourceURLs: ['/metrics'], verbs: ['get'] },
    ];
    assert.equal(
      await refusalOf(plugin, attributesOf({ type: roles, object: role(...wanted) })),
      `roles.${group} "r" is forbidden: ${who}\n{APIGroups:[""], Resources:["pods"], Verbs:["delete" "create"]}\n{NonResourceURLs:["/metrics"], Verbs:["get"]}`,
    );
  });

  const covered: readonly (readonly [string, PolicyRule, PolicyRule, boolean])[] = [
    ['a star covers everything', { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }, readPods, true],
    [
      'a star and subresource cover it',
      { apiGroups: [''], resources: ['*/log'], verbs: ['get'] },
      { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
      true,
    ],
    ['a named object does not cover all', { ...readPods, resourceNames: ['x'] }, readPods, false],
    ['no list of resources covers a star', readPods, { ...readPods, resources: ['*'] }, false],
    [
      'a path covers what is below its star',
      { nonResourceURLs: ['/apis/*'], verbs: ['get'] },
      { nonResourceURLs: ['/apis/apps'], verbs: ['get'] },
      true,
    ],
  ];
  for (const [name, held, wanted, admitted] of covered) {
    it(name, async () => {
      const message = await refusalOf(setUp(held).plugin, attributesOf({ type: roles, object: role(wanted) }));
      assert.equal(message === undefined, admitted, message);
    });
  }

  it('who may escalate may write any role', async () => {
    const { plugin } = setUp({ apiGroups: [group], resources: ['roles'], verbs: ['escalate'] });
    assert.equal(await refusalOf(plugin, attributesOf({ type: roles, object: role(readPods) })), undefined);
  });

  it('system:masters may write any role', async () => {
    const user = { name: 'root', groups: ['system:masters'] };
    assert.equal(
      await refusalOf(setUp().plugin, attributesOf({ type: roles, object: role(readPods), user })),
      undefined,
    );
  });

  it('the garbage collector may change finalizers and owners', async () => {
    const before = { ...role(readPods), metadata: { ...role().metadata, finalizers: ['x'] } };
    assert.equal(
      await refusalOf(setUp().plugin, attributesOf({ type: roles, object: role(readPods), oldObject: before })),
      undefined,
    );
  });

  it('an aggregated role needs the right to everything', async () => {
    const aggregated: ClusterRole = {
      metadata: { name: 'r' },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
    };
    assert.equal(
      await refusalOf(setUp(readPods).plugin, attributesOf({ type: clusterRoles, object: aggregated })),
      `clusterroles.${group} "r" is forbidden: must have cluster-admin privileges to use the aggregationRule`,
    );
  });

  it('a binding needs the rules of its role, or the right to bind it', async () => {
    const binding: KubeObject = {
      metadata: { name: 'rb', namespace: 'a' },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'admin' },
      subjects: [],
    } as KubeObject;
    const ask = async (...held: PolicyRule[]) => {
      const { api, plugin } = setUp(...held);
      api.put(clusterRoles, { metadata: { name: 'admin' }, rules: [readPods] });
      return refusalOf(plugin, attributesOf({ type: roleBindings, object: binding, user: alice }));
    };
    assert.equal(await ask(readPods), undefined);
    assert.equal(
      await ask({ apiGroups: [group], resources: ['clusterroles'], verbs: ['bind'], resourceNames: ['admin'] }),
      undefined,
    );
    assert.equal(
      await ask(),
      `rolebindings.${group} "rb" is forbidden: ${who}\n{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`,
    );
  });

  it('a binding to a role that is not there is refused as not found', async () => {
    const binding = { metadata: { name: 'rb', namespace: 'a' }, roleRef: { apiGroup: group, kind: 'Role', name: 'x' } };
    assert.equal(
      await refusalOf(setUp().plugin, attributesOf({ type: roleBindings, object: binding })),
      `rolebindings.${group} "x" not found`,
    );
  });
});
