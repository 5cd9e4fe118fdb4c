import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorsText } from '../../apimachinery/field-error.ts';
import { parseRequestInfo } from '../request-info.ts';
import { type AuditPolicy, type AuditRule, auditScope, validateAuditPolicy } from './policy.ts';

const user = { name: 'ada', groups: ['makers', 'system:authenticated'] };

function levelOf(rule: Partial<AuditRule>, method: string, path: string): string {
  const policy: AuditPolicy = { rules: [{ level: 'Request', ...rule }] };
  return auditScope(policy, user, parseRequestInfo(method, path, new URLSearchParams())).level;
}

const podPath = '/api/v1/namespaces/shop/pods/cart';

describe('A rule', () => {
  const cases: readonly (readonly [name: string, rule: Partial<AuditRule>, path: string, matches: boolean])[] = [
    ['without conditions matches everything', {}, '/healthz', true],
    ['for a user', { users: ['ada'] }, podPath, true],
    ['for another user', { users: ['bob'] }, podPath, false],
    ['for a group of the user', { userGroups: ['makers'] }, podPath, true],
    ['for another group', { userGroups: ['others'] }, podPath, false],
    ['for a verb', { verbs: ['get'] }, podPath, true],
    ['for another verb', { verbs: ['create'] }, podPath, false],
    ['for a namespace', { namespaces: ['shop'] }, podPath, true],
    ['for no namespace', { namespaces: [''] }, '/api/v1/nodes/a', true],
    ['for a namespace, not for paths', { namespaces: [''] }, '/healthz', false],
    ['for a resource', { resources: [{ resources: ['pods'] }] }, podPath, true],
    ['for a resource, not for its parts', { resources: [{ resources: ['pods'] }] }, `${podPath}/log`, false],
    ['for a part', { resources: [{ resources: ['pods/log'] }] }, `${podPath}/log`, true],
    ['for every part of a resource', { resources: [{ resources: ['pods/*'] }] }, `${podPath}/log`, true],
    ['for a part of every resource', { resources: [{ resources: ['*/log'] }] }, `${podPath}/log`, true],
    ['for everything of a group', { resources: [{ group: '' }] }, podPath, true],
    ['for another group of the API', { resources: [{ group: 'apps' }] }, podPath, false],
    ['for every group', { resources: [{ group: '*', resources: ['pods'] }] }, podPath, true],
    ['for a name', { resources: [{ resources: ['pods'], resourceNames: ['cart'] }] }, podPath, true],
    ['for another name', { resources: [{ resources: ['pods'], resourceNames: ['till'] }] }, podPath, false],
    ['for paths', { nonResourceURLs: ['/healthz*'] }, '/healthz/ping', true],
    ['for paths, not for resources', { nonResourceURLs: ['*'] }, podPath, false],
  ];
  for (const [name, rule, path, matches] of cases)
    it(name, () => assert.equal(levelOf(rule, 'GET', path), matches ? 'Request' : 'None'));
});

describe('A policy', () => {
  const info = parseRequestInfo('GET', podPath, new URLSearchParams());

  it('is decided by the first rule that matches, whose stages and fields are left out beside its own', () => {
    const policy: AuditPolicy = {
      omitStages: ['RequestReceived'],
      omitManagedFields: true,
      rules: [
        { level: 'None', users: ['bob'] },
        { level: 'Metadata', omitStages: ['Panic'], omitManagedFields: false },
        { level: 'RequestResponse' },
      ],
    };
    const { level, omitStages, omitManagedFields } = auditScope(policy, user, info);
    assert.deepEqual([level, [...omitStages], omitManagedFields], ['Metadata', ['RequestReceived', 'Panic'], false]);
  });

  it("that is wrong is refused with everything that is wrong, in upstream's words", () => {
    const rules = [
      { level: 'Everything', nonResourceURLs: ['x', '/a*b'], namespaces: ['shop'] },
      {
        level: 'None',
        resources: [{ group: 'rbac.authorization.k8s.io/v1', resourceNames: ['a'] }],
        omitStages: ['End'],
      },
    ] as unknown as AuditRule[];
    const told = errorsText(validateAuditPolicy({ rules }));
    for (const part of [
      'rules[0].level: Unsupported value: "Everything": supported values: "None", "Metadata", "Request", "RequestResponse"',
      'rules[0].nonResourceURLs[0]: Invalid value: "x": non-resource URL rules must begin with a \'/\' character',
      'rules[0].nonResourceURLs[1]: Invalid value: "/a*b": non-resource URL wildcards \'*\' must be the final character of the rule',
      'rules cannot apply to both regular resources and non-resource URLs',
      'rules[1].resources.group: Invalid value: "rbac.authorization.k8s.io/v1"',
      'using resourceNames requires at least one resource',
      'allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic',
    ])
      assert.ok(told.includes(part), `${part}\n${told}`);
  });
});
