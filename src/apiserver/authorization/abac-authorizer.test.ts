import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UserInfo } from '../request.ts';
import { abacAuthorizer, parseAbacPolicies } from './abac-authorizer.ts';
import { pathAccess, resourceAccess } from './access.ts';

const alice: UserInfo = { name: 'alice', groups: ['dev', 'system:authenticated'] };
const stranger: UserInfo = { name: 'stranger', groups: ['system:unauthenticated'] };
const policy = (spec: object) =>
  JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec });
const authorizerOf = (...lines: readonly string[]) =>
  abacAuthorizer(parseAbacPolicies('p.jsonl', lines.join('\n')).policies);

describe('a policy', () => {
  const pods = { verb: 'get', resource: 'pods', namespace: 'dev' };
  const cases: readonly {
    readonly what: string;
    readonly line: string;
    readonly allows?: readonly ReturnType<typeof resourceAccess>[];
    readonly leaves?: readonly ReturnType<typeof resourceAccess>[];
  }[] = [
    {
      what: 'is about a user, a namespace, a resource and a group',
      line: policy({ user: 'alice', namespace: 'dev', resource: 'pods' }),
      allows: [resourceAccess(alice, pods), resourceAccess(alice, { ...pods, verb: 'delete', subresource: 'status' })],
      leaves: [
        resourceAccess(stranger, pods),
        resourceAccess(alice, { ...pods, namespace: 'prod' }),
        resourceAccess(alice, { ...pods, resource: 'secrets' }),
        resourceAccess(alice, { ...pods, group: 'metrics.k8s.io' }),
        pathAccess(alice, { verb: 'get', path: '/healthz' }),
      ],
    },
    {
      what: 'lets read',
      line: policy({ group: 'dev', namespace: '*', resource: '*', apiGroup: '*', readonly: true }),
      allows: ['get', 'list', 'watch'].map((verb) => resourceAccess(alice, { ...pods, verb })),
      leaves: [resourceAccess(alice, { ...pods, verb: 'create' })],
    },
    {
      what: 'asks for the user and the group where it names both',
      line: policy({ user: 'alice', group: 'ops', namespace: '*', resource: '*' }),
      leaves: [resourceAccess(alice, pods)],
    },
    {
      what: 'is for all who are known with a star, and for nobody without a name',
      line: `${policy({ user: '*', namespace: '*', resource: 'pods' })}\n${policy({ namespace: '*', resource: '*' })}`,
      allows: [resourceAccess(alice, pods)],
      leaves: [resourceAccess(stranger, pods), resourceAccess(alice, { ...pods, resource: 'secrets' })],
    },
    {
      what: 'is about paths, or what is under them',
      line: policy({ user: 'alice', nonResourcePath: '/logs/*' }),
      allows: [pathAccess(alice, { verb: 'get', path: '/logs/a' })],
      leaves: [pathAccess(alice, { verb: 'get', path: '/log' }), resourceAccess(alice, { ...pods, namespace: '' })],
    },
    {
      what: 'of the older form means everything that it does not say',
      line: '{"user":"alice"}',
      allows: [resourceAccess(alice, { ...pods, group: 'apps' }), pathAccess(alice, { verb: 'post', path: '/x' })],
      leaves: [resourceAccess(stranger, pods)],
    },
    {
      what: 'of the older form about a resource is about no path',
      line: '{"resource":"pods","readonly":true}',
      allows: [resourceAccess(alice, pods)],
      leaves: [resourceAccess(stranger, pods), pathAccess(alice, { verb: 'get', path: '/x' })],
    },
  ];
  for (const { what, line, allows = [], leaves = [] } of cases) {
    it(what, () => {
      const authorizer = authorizerOf('# who may what', '', line);
      for (const attributes of allows) {
        assert.deepEqual(authorizer.authorize(attributes), { decision: 'allow', reason: '' });
      }
      for (const attributes of leaves) {
        assert.deepEqual(authorizer.authorize(attributes), { decision: 'no-opinion', reason: 'No policy matched.' });
      }
    });
  }

  it('tells what its user may do', () => {
    const authorizer = authorizerOf(
      policy({ user: 'alice', namespace: 'dev', resource: 'pods', apiGroup: '', readonly: true }),
      policy({ user: 'alice', namespace: '*', nonResourcePath: '/logs/*' }),
      policy({ user: 'alice', namespace: 'prod', resource: '*' }),
    );
    assert.deepEqual(authorizer.userRules(alice, 'dev'), {
      resourceRules: [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] }],
      nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['/logs/*'] }],
      incomplete: false,
      errors: [],
    });
  });
});

describe('a file of policies', () => {
  it('says which line makes no sense', () => {
    for (const line of ['{', '[]', '{"user":1}', policy({ readonly: 'yes' })]) {
      const start = `error reading policy file p.jsonl, line 2: ${line}: `;
      assert.throws(
        () => authorizerOf('# first', line),
        (error) => error instanceof Error && error.message.startsWith(start),
        line,
      );
    }
  });

  it('may be in the older form, which is told', () => {
    assert.equal(parseAbacPolicies('p', policy({})).someUnversioned, false);
    assert.equal(parseAbacPolicies('p', '{"user":"a"}').someUnversioned, true);
  });
});
