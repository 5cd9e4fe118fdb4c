import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseOverrides } from './etcd-overrides.ts';

const resources = ['events', 'pods', 'deployments.apps', 'daemonsets.apps', 'roles.rbac.authorization.k8s.io'];

function kept(...texts: string[]): Record<string, string[]> {
  return Object.fromEntries(
    parseOverrides(texts).map(({ servers, keeps }) => [servers.join(';'), resources.filter((name) => keeps(name))]),
  );
}

test('a resource lies where its override says, and the others at home', () => {
  assert.deepEqual(kept('/events#http://a:1', 'rbac.authorization.k8s.io/roles#http://b:1;http://c:1'), {
    'http://a:1': ['events'],
    'http://b:1;http://c:1': ['roles.rbac.authorization.k8s.io'],
  });
});

test('the same servers are one etcd, in whatever order they are named', () => {
  assert.deepEqual(kept('/events#http://b:1;http://a:1', '/pods#http://a:1;http://b:1'), {
    'http://b:1;http://a:1': ['events', 'pods'],
  });
});

test('of two overrides of a resource the last counts, and that of a resource before that of its group', () => {
  assert.deepEqual(
    kept('/events#http://a:1', '/events#http://b:1', 'apps/daemonsets#http://b:1', 'apps/*#http://c:1'),
    {
      'http://a:1': [],
      'http://b:1': ['events', 'daemonsets.apps'],
      'http://c:1': ['deployments.apps'],
    },
  );
});

test('what says which resources and servers there are stays at home', () => {
  const [one] = parseOverrides(['apiextensions.k8s.io/*#http://a:1', 'apiregistration.k8s.io/apiservices#http://a:1']);
  const names = ['customresourcedefinitions.apiextensions.k8s.io', 'apiservices.apiregistration.k8s.io'];
  assert.deepEqual(
    names.filter((name) => one!.keeps(name)),
    [],
  );
});

test('what is no override is refused in upstream’s words', () => {
  const wrong = [
    'events',
    '/events',
    '/events#',
    '/events#http://a:1;',
    'events#http://a:1',
    'a/b/c#http://a:1',
    '/events#a#b',
  ];
  for (const text of wrong)
    assert.throws(
      () => parseOverrides([text]),
      /^FlagError: --etcd-servers-overrides invalid, must be of format: group\/resource#servers, where servers are URLs, semicolon separated$/,
      text,
    );
});
