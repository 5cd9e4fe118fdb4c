import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CelError } from '../index.ts';
import {
  type AccessAuthorizer,
  type AccessCheck,
  AuthorizerValue,
  authorizerType,
  DecisionLedger,
  ResourceCheckValue,
  resourceCheckType,
  selectorFault,
  settled,
} from './authorization.ts';
import { baseEnvironment } from './environment.ts';

const environment = baseEnvironment('new').extend({
  variables: { authorizer: authorizerType, 'authorizer.requestResource': resourceCheckType },
});

/** Allows what its predicate says, and notes what it was asked. */
function allowing(allows: (check: AccessCheck) => boolean): AccessAuthorizer & { readonly asked: AccessCheck[] } {
  const asked: AccessCheck[] = [];
  return {
    asked,
    async authorize(check) {
      asked.push(check);
      return { allowed: allows(check), reason: `asked ${asked.length}` };
    },
  };
}

async function evaluate(expression: string, authorizer: AccessAuthorizer, ledger = new DecisionLedger()) {
  const compiled = environment.compile(expression);
  assert.ok(compiled.program, JSON.stringify(compiled));
  const { program } = compiled;
  const root = new AuthorizerValue({ name: 'ann', groups: ['dev'] }, ledger);
  const requested = new ResourceCheckValue(root, {
    group: 'apps',
    resource: 'deployments',
    subresource: '',
    namespace: 'n',
    name: 'd',
    fieldSelector: '',
    labelSelector: '',
  });
  const run = () => {
    const { value, cost } = program.evaluate({ authorizer: root, 'authorizer.requestResource': requested });
    return { result: value, cost };
  };
  return { ...(await settled(ledger, authorizer, run)), estimate: program.estimate() };
}

test('a check asks the authorizer for what the expression says', async () => {
  const authorizer = allowing(() => true);
  const expression =
    "authorizer.group('apps').resource('deployments').subresource('status').namespace('test').name('backend').check('create').allowed()";
  const { result, cost, estimate } = await evaluate(expression, authorizer);
  assert.equal(result, true);
  assert.deepEqual([cost, estimate.min, estimate.max], [350_007, 350_007, 350_007]);
  assert.deepEqual(authorizer.asked, [
    {
      user: { name: 'ann', groups: ['dev'] },
      verb: 'create',
      resource: {
        group: 'apps',
        resource: 'deployments',
        subresource: 'status',
        namespace: 'test',
        name: 'backend',
        fieldSelector: '',
        labelSelector: '',
      },
    },
  ]);
});

test('paths, the resource of the request, and service accounts are asked about', async () => {
  const authorizer = allowing(({ user, path }) => path === '/healthz' || user.name.startsWith('system:'));
  const holds = async (expression: string) => (await evaluate(expression, authorizer)).result;
  assert.equal(await holds("authorizer.path('/healthz').check('get').allowed()"), true);
  assert.equal(await holds("authorizer.requestResource.check('delete').allowed()"), false);
  assert.equal(await holds("authorizer.requestResource.check('delete').reason()"), 'asked 3');
  assert.equal(await holds("authorizer.serviceAccount('ns', 'sa').path('/x').check('get').allowed()"), true);
  assert.deepEqual(authorizer.asked.at(-1)!.user, {
    name: 'system:serviceaccount:ns:sa',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:ns'],
  });
});

test('a check that the result does not hang on is never asked', async () => {
  const authorizer = allowing(() => true);
  const { result } = await evaluate("true || authorizer.path('/x').check('get').allowed()", authorizer);
  assert.equal(result, true);
  assert.equal(authorizer.asked.length, 0);
});

test('a check that hangs on another is asked after it, and none is asked twice', async () => {
  const authorizer = allowing(({ path }) => path === '/a');
  const ledger = new DecisionLedger();
  const expression = "authorizer.path('/a').check('get').allowed() ? authorizer.path('/b').check('get').reason() : ''";
  assert.equal((await evaluate(expression, authorizer, ledger)).result, 'asked 2');
  assert.equal((await evaluate(expression, authorizer, ledger)).result, 'asked 2');
  assert.deepEqual(
    authorizer.asked.map(({ path }) => path),
    ['/a', '/b'],
  );
});

test('an authorizer that fails is told to the expression', async () => {
  const failing: AccessAuthorizer = {
    async authorize() {
      throw new Error('webhook is away');
    },
  };
  const decision = "authorizer.path('/x').check('get')";
  assert.equal((await evaluate(`${decision}.errored()`, failing)).result, true);
  assert.equal((await evaluate(`${decision}.error()`, failing)).result, 'webhook is away');
  assert.equal((await evaluate(`${decision}.allowed()`, failing)).result, false);
});

test('names that cannot be are errors without asking', async () => {
  const authorizer = allowing(() => true);
  const faults: readonly (readonly [string, string])[] = [
    ["authorizer.path(' ').check('get').allowed()", 'path must not be empty'],
    ["authorizer.group('').resource('').check('get').allowed()", 'resource must not be empty'],
    ["authorizer.serviceAccount('NS', 'sa').path('/').check('get').allowed()", 'Invalid service account namespace'],
    ["authorizer.serviceAccount('ns', 'a b').path('/').check('get').allowed()", 'Invalid service account name'],
  ];
  for (const [expression, message] of faults) {
    assert.deepEqual((await evaluate(expression, authorizer)).result, new CelError(message));
  }
  assert.equal(authorizer.asked.length, 0);
});

test('selectors cost by their length, and a bad one is for the authorizer to see', async () => {
  const authorizer = allowing(() => true);
  const expression =
    "authorizer.group('').resource('pods').fieldSelector('spec.nodeName=example-node-name.fully.qualified.domain.name.example.com')";
  const { cost, estimate } = await evaluate(expression, authorizer);
  assert.deepEqual([cost, estimate.min, estimate.max], [1821, 1821, 1821]);
  assert.equal(selectorFault('field', 'a=b'), undefined);
  assert.equal(typeof selectorFault('label', 'a in (b'), 'string');
});
