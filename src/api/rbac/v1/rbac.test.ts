import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorsOf, given, rowOf, updateErrorsOf } from '../../given.fixture.ts';
import { clusterRoleBehaviour } from './cluster-role.ts';
import { clusterRoleBindingBehaviour } from './cluster-role-binding.ts';
import { roleBehaviour } from './role.ts';
import { roleBindingBehaviour } from './role-binding.ts';

const group = 'rbac.authorization.k8s.io';
const roleRef = { apiGroup: group, kind: 'Role', name: 'reader' };

describe('a Role', () => {
  it('has verbs, and either resources or paths', () => {
    const rules = [
      { apiGroups: [''], resources: ['pods'] },
      { nonResourceURLs: ['/healthz'], verbs: ['get'] },
    ];
    assert.deepEqual(errorsOf(roleBehaviour, { rules }), [
      'rules[0].verbs: Required value: verbs must contain at least one value',
      'rules[1].nonResourceURLs: Invalid value: ["/healthz"]: namespaced rules cannot apply to non-resource URLs',
    ]);
  });

  it('may have a name with colons', () => {
    assert.deepEqual(roleBehaviour.validateName!('system:reader', false), []);
  });
});

describe('a ClusterRole', () => {
  it('may speak of paths', () => {
    assert.deepEqual(
      errorsOf(clusterRoleBehaviour, { rules: [{ nonResourceURLs: ['/healthz'], verbs: ['get'] }] }),
      [],
    );
  });
});

describe('a binding', () => {
  const subjects = [
    { kind: 'User', name: 'jane' },
    { kind: 'Group', name: 'dev' },
    { kind: 'ServiceAccount', name: 'bot', namespace: 'default' },
  ];

  it('knows the groups of its subjects and of its role', () => {
    const binding = given(roleBindingBehaviour, { subjects, roleRef: { kind: 'Role', name: 'reader' } });
    assert.equal(binding.roleRef.apiGroup, group);
    assert.deepEqual(
      binding.subjects?.map(({ apiGroup }) => apiGroup ?? ''),
      [group, group, ''],
    );
  });

  it('binds somebody to a role', () => {
    const bad = {
      subjects: [
        { kind: 'Robot', name: 'x' },
        { kind: 'User', name: '' },
      ],
      roleRef: { kind: 'Pod', name: 'a' },
    };
    assert.deepEqual(errorsOf(roleBindingBehaviour, bad), [
      'roleRef.kind: Unsupported value: "Pod": supported values: "Role", "ClusterRole"',
      'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
      'subjects[1].name: Required value',
    ]);
  });

  it('keeps its role', () => {
    const next = { subjects, roleRef: { ...roleRef, name: 'writer' } };
    assert.deepEqual(updateErrorsOf(roleBindingBehaviour, { subjects, roleRef }, next), [
      'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"writer"}: cannot change roleRef',
    ]);
  });

  it('shows its role and whom it binds', () => {
    const metadata = { name: 'a', creationTimestamp: '2025-12-31T23:59:00Z' };
    const row = rowOf(clusterRoleBindingBehaviour, {
      metadata,
      subjects,
      roleRef: { ...roleRef, kind: 'ClusterRole' },
    });
    assert.deepEqual(row, {
      Name: 'a',
      Role: 'ClusterRole/reader',
      Age: '60s',
      Users: 'jane',
      Groups: 'dev',
      ServiceAccounts: 'default/bot',
    });
  });
});
