import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import type { AuthorizationAttributes } from '../authorization/authorizer.ts';
import { IdentityStatistics } from '../metrics/identity-statistics.ts';
import type { ApiRequest, UserInfo } from '../request.ts';
import { parseRequestInfo } from '../request-info.ts';
import { Impersonation } from './impersonation.ts';

const admin: UserInfo = { name: 'admin', groups: ['system:authenticated'] };
const info = parseRequestInfo('GET', '/api/v1/namespaces/a/pods', new URLSearchParams());

/** `impersonate users/bob` or `impersonate-on:user-info:list a pods`. */
function question({ info: { verb, namespace, resource, subresource, name } }: AuthorizationAttributes): string {
  const what = [resource, subresource, name].filter((part) => part !== '').join('/');
  return [verb, namespace, what].filter((part) => part !== '').join(' ');
}

function setUp({ rights = [] as readonly string[], constrained = true } = {}) {
  const asked: string[] = [];
  const statistics = new IdentityStatistics();
  const impersonation = new Impersonation({
    authorizer: () => ({
      name: 'Test',
      authorize(attributes) {
        asked.push(question(attributes));
        return { decision: rights.includes(asked.at(-1)!) ? 'allow' : 'no-opinion', reason: '' };
      },
    }),
    clock: new FakeClock(),
    statistics: statistics.impersonation,
    constrained,
  });
  const as = (headers: Record<string, string>, user = admin) =>
    impersonation.of({ headers } as unknown as ApiRequest, info, user);
  return { as, asked, statistics };
}

describe('Impersonation', () => {
  it('is not asked without headers', async () => assert.equal(await setUp().as({}), undefined));

  it('with the right to impersonate takes on name, groups, uid and extra values, each with its right', async () => {
    const headers = {
      'impersonate-user': 'bob',
      'impersonate-group': 'dev, ops',
      'impersonate-uid': 'u',
      'impersonate-extra-scopes': 'view',
    };
    const rights = ['users/bob', 'groups/dev', 'groups/ops', 'uids/u', 'userextras/scopes/view'].map(
      (what) => `impersonate ${what}`,
    );
    assert.deepEqual(await setUp({ rights }).as(headers), {
      user: { name: 'bob', uid: 'u', groups: ['dev', 'ops', 'system:authenticated'], extra: { scopes: ['view'] } },
      constraint: '',
    });
    for (const missing of rights) {
      const others = rights.filter((right) => right !== missing);
      await assert.rejects(setUp({ rights: others }).as(headers), { code: 403 });
    }
  });

  it("is refused in upstream's words, those of the narrowest way", async () => {
    const message =
      'pods is forbidden: User "admin" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "a"';
    await assert.rejects(setUp().as({ 'impersonate-user': 'bob' }), { message });
    await assert.rejects(setUp({ constrained: false }).as({ 'impersonate-user': 'bob' }), {
      message:
        'users "bob" is forbidden: User "admin" cannot impersonate resource "users" in API group "" at the cluster scope',
    });
  });

  it('of a service account gives its groups', async () => {
    const { as } = setUp({ rights: ['impersonate a serviceaccounts/bot'] });
    const found = await as({ 'impersonate-user': 'system:serviceaccount:a:bot' });
    assert.deepEqual(found?.user.groups, [
      'system:serviceaccounts',
      'system:serviceaccounts:a',
      'system:authenticated',
    ]);
  });

  it('of nobody stays nobody', async () => {
    const found = await setUp({ rights: ['impersonate users/system:anonymous'] }).as({
      'impersonate-user': 'system:anonymous',
    });
    assert.deepEqual(found?.user.groups, ['system:unauthenticated']);
  });

  it('of a group needs a user', async () => {
    await assert.rejects(setUp().as({ 'impersonate-group': 'dev' }), {
      message:
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"dev"}, Extra:map[string][]string(nil)} without impersonating a user name',
      code: 400,
    });
  });
});

describe('Constrained impersonation', () => {
  const constrained = (mode: string, subject: string) => [
    `impersonate:${mode} ${subject}`,
    `impersonate-on:${mode}:list a pods`,
  ];

  it('of a user needs the right to be him and the right to do this as him', async () => {
    const rights = constrained('user-info', 'users/bob');
    const found = await setUp({ rights }).as({ 'impersonate-user': 'bob' });
    assert.deepEqual(found, {
      user: { name: 'bob', groups: ['system:authenticated'], extra: {} },
      constraint: 'impersonate:user-info',
    });
    for (const right of rights) {
      const { as } = setUp({ rights: rights.filter((other) => other !== right) });
      await assert.rejects(as({ 'impersonate-user': 'bob' }), { code: 403 });
    }
  });

  it('never reaches system:masters, whatever the rights', async () => {
    const rights = [...constrained('user-info', 'users/bob'), 'impersonate:user-info groups/system:masters'];
    await assert.rejects(setUp({ rights }).as({ 'impersonate-user': 'bob', 'impersonate-group': 'system:masters' }), {
      message:
        'groups.authentication.k8s.io "system:masters" is forbidden: User "admin" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed',
    });
  });

  it('asks once for all groups when they are many', async () => {
    const rights = [...constrained('user-info', 'users/bob'), 'impersonate:user-info groups/*'];
    const { as, asked } = setUp({ rights });
    await as({ 'impersonate-user': 'bob', 'impersonate-group': 'a, b, c, d' });
    assert.deepEqual(asked, [rights[1], rights[0], rights[2]]);
  });

  it('takes extra values only under keys of a domain', async () => {
    const rights = constrained('user-info', 'users/bob');
    const { as } = setUp({ rights });
    await assert.rejects(as({ 'impersonate-user': 'bob', 'impersonate-extra-scopes': 'view' }), {
      message: /impersonating an invalid key in extra is not allowed: extra\.key: Invalid value: "scopes": must be a/,
    });
  });

  it('of a node gives the group of nodes and nothing else', async () => {
    const { as } = setUp({ rights: constrained('arbitrary-node', 'nodes/n1') });
    const found = await as({ 'impersonate-user': 'system:node:n1' });
    assert.deepEqual(found?.user.groups, ['system:nodes', 'system:authenticated']);
    await assert.rejects(as({ 'impersonate-user': 'system:node:n1', 'impersonate-group': 'x' }), { code: 403 });
  });

  it("of one's own node does not depend on which node that is", async () => {
    const { as, asked } = setUp({ rights: constrained('associated-node', 'nodes/*') });
    const agent = {
      name: 'system:serviceaccount:a:agent',
      groups: [],
      extra: { 'authentication.kubernetes.io/node-name': ['n1'] },
    };
    const found = await as({ 'impersonate-user': 'system:node:n1' }, agent);
    assert.equal(found?.constraint, 'impersonate:associated-node');
    await assert.rejects(as({ 'impersonate-user': 'system:node:n2' }, agent), { code: 403 });
    assert.ok(asked.includes('impersonate-on:arbitrary-node:list a pods'));
  });

  it('remembers which way worked, so that the oldest costs no more than it did', async () => {
    const { as, asked, statistics } = setUp({ rights: ['impersonate users/bob'] });
    await as({ 'impersonate-user': 'bob' });
    asked.length = 0;
    await as({ 'impersonate-user': 'bob' });
    assert.deepEqual(asked, ['impersonate users/bob']);
    assert.match(
      statistics.families().join(''),
      /apiserver_impersonation_attempts_total\{mode="legacy",decision="allowed"\} 2/,
    );
  });
});
