import assert from 'node:assert/strict';
import { it } from 'node:test';
import { errorText } from '../../apimachinery/field-error.ts';
import {
  type AuthorizerConfiguration,
  nameProblems,
  validateAuthorizationConfiguration,
} from './authorization-configuration.ts';

const webhook = {
  timeout: '3s',
  subjectAccessReviewVersion: 'v1',
  failurePolicy: 'Deny',
  connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: '/there' },
};
const errorsOf = (...authorizers: AuthorizerConfiguration[]) =>
  validateAuthorizationConfiguration(
    { authorizers },
    {
      fileProblem: (path) =>
        path === '/there' ? undefined : `error loading file: stat ${path}: no such file or directory`,
    },
  ).map(errorText);

it('a chain needs somebody to ask', () => {
  assert.deepEqual(errorsOf(), ['authorizers: Required value: at least one authorization mode must be defined']);
});

it('a good chain has nothing wrong with it', () => {
  assert.deepEqual(
    errorsOf(
      { type: 'Webhook', name: 'first', webhook },
      { type: 'Node', name: 'node' },
      { type: 'Webhook', name: 'second', webhook },
    ),
    [],
  );
});

it('authorizers are of known types, each of ours once, under names of their own', () => {
  assert.deepEqual(
    errorsOf(
      {},
      { type: 'Magic', name: 'm' },
      { type: 'RBAC', name: 'rbac' },
      { type: 'RBAC', name: 'again' },
      { type: 'Node', name: 'rbac' },
      { type: 'AlwaysDeny', name: 'No!', webhook },
      { type: 'Webhook' },
    ),
    [
      'authorizers[0].type: Required value',
      'authorizers[1].type: Unsupported value: "Magic": supported values: "ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"',
      'authorizers[3].type: Duplicate value: "RBAC"',
      'authorizers[4].name: Duplicate value: "rbac"',
      "authorizers[5].name: Invalid value: \"No!\": authorizer name is invalid: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'authorizers[5].webhook: Invalid value: "non-null": may only be specified when type=Webhook',
      'authorizers[6].name: Required value',
      'authorizers[6].webhook: Required value: required when type=Webhook',
    ],
  );
});

it('a webhook says how it is reached, how long it may take, and what its failure means', () => {
  assert.deepEqual(errorsOf({ type: 'Webhook', name: 'w', webhook: {} }), [
    'authorizers[0].timeout: Required value',
    'authorizers[0].subjectAccessReviewVersion: Required value',
    'authorizers[0].failurePolicy: Required value',
    'authorizers[0].connectionInfo.type: Required value',
  ]);
  assert.deepEqual(
    errorsOf({
      type: 'Webhook',
      name: 'w',
      webhook: {
        timeout: '31s',
        authorizedTTL: '-1s',
        subjectAccessReviewVersion: 'v2',
        failurePolicy: 'Allow',
        connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: '/missing' },
        matchConditions: [{ expression: ' ' }, { expression: 'request.user' }, { expression: 'request.user' }],
      },
    }),
    [
      'authorizers[0].timeout: Invalid value: "31s": must be > 0s and <= 30s',
      'authorizers[0].authorizedTTL: Invalid value: "-1s": must be > 0s',
      'authorizers[0].subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"',
      'authorizers[0].matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified',
      'authorizers[0].failurePolicy: Unsupported value: "Allow": supported values: "NoOpinion", "Deny"',
      'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/missing": error loading file: stat /missing: no such file or directory',
      'authorizers[0].matchConditions[0].expression: Required value',
      'authorizers[0].matchConditions[1].expression: Invalid value: "request.user": must evaluate to bool but got string',
      'authorizers[0].matchConditions[2].expression: Duplicate value: "request.user"',
    ],
  );
});

it('authorizers of our own keep their names and their place in the chain', () => {
  const authorizers = [{ type: 'RBAC', name: 'mine' }];
  assert.deepEqual(nameProblems({ authorizers }, new Set(['Node', 'RBAC'])), [
    'expected name rbac for authorizer RBAC instead of mine',
    'missing required types: [Node]',
  ]);
});
