import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invalid as invalidField, path, required } from './field-error.ts';
import * as status from './status.ts';

const pods = { group: '', resource: 'pods' };
const deployments = { group: 'apps', resource: 'deployments' };

const failures: readonly { error: status.StatusError; code: number; reason: string; message: string }[] = [
  { error: status.notFound(pods, 'web'), code: 404, reason: 'NotFound', message: 'pods "web" not found' },
  {
    error: status.alreadyExists(deployments, 'web'),
    code: 409,
    reason: 'AlreadyExists',
    message: 'deployments.apps "web" already exists',
  },
  {
    error: status.conflict(pods, 'web'),
    code: 409,
    reason: 'Conflict',
    message:
      'Operation cannot be fulfilled on pods "web": the object has been modified; please apply your changes to the latest version and try again',
  },
  {
    error: status.forbidden(pods, 'web', 'no'),
    code: 403,
    reason: 'Forbidden',
    message: 'pods "web" is forbidden: no',
  },
  { error: status.forbidden(pods, '', 'no'), code: 403, reason: 'Forbidden', message: 'pods is forbidden: no' },
  {
    error: status.forbidden({ group: '', resource: '' }, '', 'no'),
    code: 403,
    reason: 'Forbidden',
    message: 'forbidden: no',
  },
  {
    error: status.methodNotSupported(deployments, 'patch'),
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'patch is not supported on resources of kind "deployments.apps"',
  },
  {
    error: status.serverTimeout(pods, 'list'),
    code: 500,
    reason: 'ServerTimeout',
    message: 'The list operation against pods could not be completed at this time, please try again.',
  },
  { error: status.timeout('slow'), code: 504, reason: 'Timeout', message: 'Timeout: slow' },
  { error: status.expired('old'), code: 410, reason: 'Expired', message: 'old' },
  { error: status.internalError('boom'), code: 500, reason: 'InternalError', message: 'Internal error occurred: boom' },
  {
    error: status.requestEntityTooLarge('limit is 3'),
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: 'Request entity too large: limit is 3',
  },
];

test('each constructor gives the code, reason and words of the API', () => {
  for (const { error, code, reason, message } of failures) {
    assert.deepEqual([error.code, error.reason, error.message], [code, reason, message]);
    assert.equal(error.status.status, 'Failure');
    assert.equal(error.status.kind, 'Status');
    assert.equal(error.status.apiVersion, 'v1');
  }
});

test('an invalid object names every error once and lists each as a cause', () => {
  const spec = path('spec');
  const errors = [
    required(spec.child('selector'), ''),
    invalidField(spec.child('replicas'), -1, 'must be greater than or equal to 0'),
    required(spec.child('selector'), ''),
  ];
  const error = status.invalid({ group: 'apps', kind: 'Deployment' }, 'x', errors);
  assert.equal(
    error.message,
    'Deployment.apps "x" is invalid: [spec.selector: Required value, spec.replicas: Invalid value: -1: must be greater than or equal to 0]',
  );
  assert.equal(error.code, 422);
  assert.equal(error.status.details?.causes?.length, 3);
  assert.deepEqual(error.status.details?.causes?.[1], {
    reason: 'FieldValueInvalid',
    message: 'Invalid value: -1: must be greater than or equal to 0',
    field: 'spec.replicas',
  });
  const one = status.invalid({ group: '', kind: 'Pod' }, 'x', errors.slice(0, 1));
  assert.equal(one.message, 'Pod "x" is invalid: spec.selector: Required value');
});

test('predicates go by the reason, and by the code only where the reason is unknown', () => {
  assert.ok(status.isNotFound(status.notFound(pods, 'x')));
  assert.ok(!status.isConflict(status.alreadyExists(pods, 'x')));
  assert.ok(status.isAlreadyExists(status.alreadyExists(pods, 'x')));
  assert.ok(status.isNotFound(new status.StatusError({ metadata: {}, code: 404 })));
  assert.ok(!status.isNotFound(new status.StatusError({ metadata: {}, code: 404, reason: 'Forbidden' })));
  assert.ok(status.isExpired(status.expired('x')));
  assert.ok(status.isExpired(status.gone('x')));
  assert.ok(!status.isExpired(new Error('x')));
});

test('a generic answer tells what it can', () => {
  const of = (code: number, more = {}) => status.genericServerResponse({ code, method: 'GET', ...more });
  assert.equal(of(404).message, 'the server could not find the requested resource');
  assert.equal(
    of(404, { resource: deployments, name: 'x' }).message,
    'the server could not find the requested resource (get deployments.apps x)',
  );
  assert.equal(of(418).message, 'the server responded with the status code 418 but did not return more information');
  assert.equal(of(409, { method: 'POST' }).reason, 'AlreadyExists');
  assert.equal(of(409, { method: 'PUT' }).reason, 'Conflict');
  assert.equal(of(503).reason, 'ServiceUnavailable');
  assert.deepEqual(of(500, { serverMessage: 'oops', unexpected: true }).status.details, {
    causes: [{ reason: 'UnexpectedServerResponse', message: 'oops' }],
  });
});
