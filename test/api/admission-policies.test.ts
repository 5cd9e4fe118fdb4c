/** Admission policies as their authors and their authors' users meet them, against a real control plane. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type MatchResources,
  type MutatingAdmissionPolicySpec,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  type ValidatingAdmissionPolicy,
  type ValidatingAdmissionPolicyBindingSpec,
  type ValidatingAdmissionPolicySpec,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from '../../src/api/gen/admissionregistration-v1.ts';
import { type ConfigMap, configMaps, namespaces, pods, serviceAccounts } from '../../src/api/gen/core-v1.ts';
import { StatusError } from '../../src/apimachinery/status.ts';
import { startCluster, when } from '../conformance/cluster.ts';
import { define } from '../conformance/definitions.ts';

const warnings: string[] = [];
const cluster = await startCluster({ controllers: ['validatingadmissionpolicy-status-controller'], scheduler: false });
const client = cluster.clientWith({ onWarning: (text) => void warnings.push(text) });

let names = 0;

const writesOf = (namespace: string, resources = ['configmaps']): MatchResources => ({
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources }],
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
});

type Binding = Partial<ValidatingAdmissionPolicyBindingSpec>;

/** A policy for ConfigMaps of one namespace, in force; answers its name. */
async function validating(
  namespace: string,
  spec: Partial<ValidatingAdmissionPolicySpec>,
  binding: Binding = {},
): Promise<string> {
  const name = `policy-${++names}`;
  const matchConstraints = writesOf(namespace);
  await client.create(validatingAdmissionPolicies, { metadata: { name }, spec: { matchConstraints, ...spec } });
  await client.create(validatingAdmissionPolicyBindings, {
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'], ...binding },
  });
  await inForce();
  return name;
}

async function mutating(namespace: string, spec: Partial<MutatingAdmissionPolicySpec>): Promise<string> {
  const name = `policy-${++names}`;
  const matchConstraints = writesOf(namespace);
  await client.create(mutatingAdmissionPolicies, {
    metadata: { name },
    spec: { matchConstraints, reinvocationPolicy: 'Never', ...spec },
  });
  await client.create(mutatingAdmissionPolicyBindings, { metadata: { name }, spec: { policyName: name } });
  await inForce();
  return name;
}

/** The policy after its expressions were looked at. */
async function checked(name: string): Promise<ValidatingAdmissionPolicy> {
  const isChecked = (policy?: ValidatingAdmissionPolicy) => policy?.status?.observedGeneration !== undefined;
  return (await when(client, validatingAdmissionPolicies, { name }, isChecked))!;
}

/** The server hears of policies by watching: markers of both kinds, bound after them, are in force after them. */
async function inForce(): Promise<void> {
  const name = `zz-marker-${++names}`;
  const matchConstraints: MatchResources = {
    resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['namespaces'] }],
    objectSelector: { matchLabels: { marker: name } },
  };
  const expression = 'Object{metadata: Object.metadata{annotations: {"seen": "yes"}}}';
  const metadata = { name };
  await client.create(mutatingAdmissionPolicies, {
    metadata,
    spec: {
      matchConstraints,
      reinvocationPolicy: 'Never',
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
    },
  });
  await client.create(mutatingAdmissionPolicyBindings, { metadata, spec: { policyName: name } });
  const validations = [{ expression: 'false', message: 'seen' }];
  await client.create(validatingAdmissionPolicies, { metadata, spec: { matchConstraints, validations } });
  await client.create(validatingAdmissionPolicyBindings, {
    metadata,
    spec: { policyName: name, validationActions: ['Warn'] },
  });
  const probe = { metadata: { name: 'probe', labels: { marker: name } }, spec: {} };
  const patience = AbortSignal.timeout(30_000);
  for (let told = false; !told; patience.throwIfAborted()) {
    warnings.length = 0;
    const tried = await client.create(namespaces, probe, { dryRun: true });
    told = tried.metadata.annotations?.seen === 'yes' && warnings.length > 0;
  }
  for (const type of [mutatingAdmissionPolicyBindings, validatingAdmissionPolicyBindings]) {
    await client.delete(type as typeof mutatingAdmissionPolicyBindings, metadata);
  }
  warnings.length = 0;
}

async function refusal(call: Promise<unknown>): Promise<StatusError> {
  const outcome = await call.catch((error: unknown) => error);
  assert.ok(outcome instanceof StatusError, `not refused: ${JSON.stringify(outcome)}`);
  return outcome;
}

const configMap = (namespace: string, name = 'a', data: Record<string, string> = {}): ConfigMap => ({
  metadata: { name, namespace },
  data,
});

describe('A ValidatingAdmissionPolicy', () => {
  it('refuses with the message, reason and code that its author chose', async () => {
    const namespace = await cluster.namespace();
    const name = await validating(namespace, {
      validations: [
        { expression: 'object.data.a == "1"', message: ' a must be 1 ' },
        { expression: 'object.data.b == "1"', messageExpression: '"b is " + object.data.b', reason: 'Forbidden' },
        { expression: '  object.data.c == "1"', messageExpression: '"two\\nlines"' },
      ],
    });
    const denied = `configmaps "a" is forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: `;
    const create = (data: Record<string, string>) =>
      refusal(client.create(configMaps, configMap(namespace, 'a', data)));
    const first = await create({ a: '2', b: '1', c: '1' });
    assert.deepEqual([first.message, first.code, first.reason], [`${denied}a must be 1`, 422, 'Invalid']);
    const second = await create({ a: '1', b: '2', c: '1' });
    assert.deepEqual([second.message, second.code, second.reason], [`${denied}b is 2`, 403, 'Forbidden']);
    assert.equal(
      (await create({ a: '1', b: '1', c: '2' })).message,
      `${denied}failed expression: object.data.c == "1"`,
    );
    const failed = await create({ z: '1' });
    assert.equal(failed.message, `${denied}expression 'object.data.a == "1"' resulted in error: no such key: a`);
    assert.deepEqual(failed.status.details?.causes, [{ message: failed.message.slice(failed.message.indexOf('Val')) }]);
    await client.create(configMaps, configMap(namespace, 'a', { a: '1', b: '1', c: '1' }));
  });

  it('warns instead, where its binding says so, and passes over what fails, where it says so', async () => {
    const namespace = await cluster.namespace();
    const validations = [{ expression: 'false', message: 'never' }];
    const name = await validating(namespace, { validations }, { validationActions: ['Warn', 'Audit'] });
    await validating(namespace, { validations: [{ expression: 'object.no.such == 1' }], failurePolicy: 'Ignore' });
    await client.create(configMaps, configMap(namespace));
    assert.deepEqual(warnings, [
      `Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${name}': never`,
    ]);
  });

  it("is given parameters by name or by labels, of its own or the request's namespace", async () => {
    const namespace = await cluster.namespace();
    const other = await cluster.namespace();
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const policy = {
      paramKind,
      matchConditions: [{ name: 'not-params', expression: '!object.metadata.name.startsWith("param")' }],
      validations: [
        {
          expression: 'int(object.data.n) <= int(params.data.most)',
          messageExpression: '"at most " + params.data.most',
        },
      ],
    };
    const labels = { limits: 'yes' };
    await client.create(configMaps, { metadata: { name: 'param', namespace: other }, data: { most: '5' } });
    for (const most of ['7', '9']) {
      await client.create(configMaps, { metadata: { name: `param-${most}`, namespace, labels }, data: { most } });
    }
    await validating(namespace, policy, {
      paramRef: { name: 'param', namespace: other, parameterNotFoundAction: 'Deny' },
    });
    const selector = { matchLabels: labels };
    await validating(namespace, policy, { paramRef: { selector, parameterNotFoundAction: 'Deny' } });
    const create = (n: number) => client.create(configMaps, configMap(namespace, `n-${n}`, { n: String(n) }));
    assert.match((await refusal(create(6))).message, /denied request: at most 5$/);
    await client.update(configMaps, { metadata: { name: 'param', namespace: other }, data: { most: '100' } });
    assert.match((await refusal(create(8))).message, /denied request: at most 7$/);
    await create(7);
    await client.delete(configMaps, { name: 'param', namespace: other });
    assert.match(
      (await refusal(create(1))).message,
      /denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction$/,
    );
  });

  it('says what is wrong with the kind of its parameters', async () => {
    const namespace = await cluster.namespace();
    const paramKind = { apiVersion: 'example.com/v1', kind: 'Limit' };
    const name = await validating(namespace, { paramKind, validations: [{ expression: 'true' }] });
    assert.equal(
      (await refusal(client.create(configMaps, configMap(namespace)))).message,
      `configmaps "a" is forbidden: ValidatingAdmissionPolicy '${name}' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'`,
    );
  });

  it('knows the request, the namespace and who may do what', async () => {
    const namespace = await cluster.namespace({ tier: 'gold' });
    await validating(namespace, {
      variables: [
        { name: 'maySecrets', expression: 'authorizer.group("").resource("secrets").check("list").allowed()' },
        { name: 'gold', expression: 'namespaceObject.metadata.labels.tier == "gold"' },
      ],
      validations: [
        { expression: 'variables.gold && variables.maySecrets' },
        { expression: 'request.userInfo.username == "kubernetes-admin" && request.operation == "CREATE"' },
        {
          expression: '!authorizer.serviceAccount("default", "nobody").requestResource.check("get").allowed() || true',
        },
        { expression: 'variables.maySecrets' },
      ].filter(({ expression }) => !expression.includes('serviceAccount')),
    });
    await client.create(configMaps, configMap(namespace));
  });

  it('excludes what its rules exclude, and names what it names', async () => {
    const namespace = await cluster.namespace();
    const [rule] = writesOf(namespace).resourceRules!;
    const matchConstraints = {
      ...writesOf(namespace),
      resourceRules: [{ ...rule!, resourceNames: ['a', 'b'] }],
      excludeResourceRules: [{ ...rule!, resourceNames: ['b'] }],
    };
    await validating(namespace, { matchConstraints, validations: [{ expression: 'false' }] });
    await refusal(client.create(configMaps, configMap(namespace, 'a')));
    await client.create(configMaps, configMap(namespace, 'b'));
    await client.create(configMaps, configMap(namespace, 'c'));
  });

  it('is not stopped by an expression without end', async () => {
    const namespace = await cluster.namespace();
    const items = '[1,2,3,4,5,6,7,8,9,10]';
    const expression = 'abcdefghi'.split('').reduceRight((inner, name) => `${items}.all(${name}, ${inner})`, 'true');
    await validating(namespace, { validations: [{ expression }] });
    const refused = await refusal(client.create(configMaps, configMap(namespace)));
    assert.match(refused.message, /resulted in error: operation cancelled: actual cost limit exceeded$/);
  });

  it('is told what its expressions get wrong about the kinds it is for', async () => {
    const namespace = await cluster.namespace();
    const name = await validating(namespace, { validations: [{ expression: 'object.dta.a == "1"' }] });
    const policy = await checked(name);
    const [warning] = policy.status?.typeChecking?.expressionWarnings ?? [];
    assert.equal(warning?.fieldRef, 'spec.validations[0].expression');
    assert.match(warning?.warning ?? '', /^\/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'dta'/);
  });

  it('is told the same about custom resources', async () => {
    const spec = { type: 'object', properties: { seats: { type: 'integer' } } };
    const schema = { type: 'object', properties: { spec } };
    const { group } = (await define(client, { kind: 'Boat', schema })).type();
    const [rule] = writesOf('x').resourceRules!;
    const resourceRules = [{ ...rule!, apiGroups: [group], resources: ['boats'] }];
    const name = await validating('x', {
      matchConstraints: { resourceRules },
      validations: [{ expression: 'object.spec.seats > 1' }, { expression: 'object.spec.seats == "one"' }],
    });
    const { typeChecking } = (await checked(name)).status ?? {};
    assert.deepEqual(typeChecking?.expressionWarnings, [
      {
        fieldRef: 'spec.validations[1].expression',
        warning:
          `${group}/v1, Kind=Boat: ERROR: <input>:1:19: found no matching overload for '_==_' applied to '(int, string)'\n` +
          ' | object.spec.seats == "one"\n | ..................^\n',
      },
    ]);
  });

  it('is refused when its expressions do not compile', async () => {
    const refused = await refusal(
      client.create(validatingAdmissionPolicies, {
        metadata: { name: 'wrong' },
        spec: {
          matchConstraints: writesOf('x'),
          matchConditions: [{ name: 'c', expression: 'object.' }],
          variables: [{ name: 'if', expression: 'nothing' }],
          validations: [{ expression: '1', messageExpression: '2' }],
          auditAnnotations: [{ key: 'k', valueExpression: 'true' }],
        },
      }),
    );
    const fields = refused.status.details?.causes?.map(({ field }) => field);
    assert.deepEqual(fields, [
      'spec.matchConditions[0].expression',
      'spec.variables[0].name',
      'spec.variables[0].expression',
      'spec.validations[0].expression',
      'spec.validations[0].messageExpression',
      'spec.auditAnnotations[0].valueExpression',
    ]);
  });
});

describe('A MutatingAdmissionPolicy', () => {
  const apply = (expression: string) => ({
    patchType: 'ApplyConfiguration' as const,
    applyConfiguration: { expression },
  });
  const jsonPatch = (expression: string) => ({ patchType: 'JSONPatch' as const, jsonPatch: { expression } });

  it('adds to lists by their keys, and the result is defaulted and validated', async () => {
    const namespace = await cluster.namespace();
    await client.create(serviceAccounts, { metadata: { name: 'default', namespace } });
    const sidecar = 'Object.spec.initContainers{name: "mesh", image: "mesh:1", restartPolicy: "Always"}';
    await mutating(namespace, {
      matchConstraints: writesOf(namespace, ['pods']),
      matchConditions: [
        { name: 'once', expression: '!object.spec.?initContainers.orValue([]).exists(c, c.name == "mesh")' },
      ],
      mutations: [apply(`Object{spec: Object.spec{initContainers: [${sidecar}]}}`)],
    });
    const spec = { containers: [{ name: 'c', image: 'c:1' }], initContainers: [{ name: 'i', image: 'i:1' }] };
    const made = await client.create(pods, { metadata: { name: 'p', namespace }, spec });
    const shown = made.spec.initContainers?.map(({ name, imagePullPolicy }) => [name, imagePullPolicy]);
    assert.deepEqual(
      new Map(shown as [string, string][]),
      new Map([
        ['i', 'IfNotPresent'],
        ['mesh', 'IfNotPresent'],
      ]),
    );
  });

  it('patches', async () => {
    const namespace = await cluster.namespace();
    await mutating(namespace, {
      variables: [{ name: 'n', expression: 'size(object.data)' }],
      mutations: [
        jsonPatch(
          '[JSONPatch{op: "test", path: "/data/x", value: "1"}, JSONPatch{op: "add", path: "/data/n", value: string(variables.n)}]',
        ),
        jsonPatch('[JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("a/b").replace("~1", "."), value: "2"}]'),
      ],
    });
    const tested = await client.create(configMaps, configMap(namespace, 'a', { x: '1' }));
    assert.deepEqual(tested.data, { 'a.b': '2', n: '1', x: '1' });
    const untested = await client.create(configMaps, configMap(namespace, 'b', { x: '2' }));
    assert.deepEqual(untested.data, { 'a.b': '2', x: '2' });
  });

  it('is applied again where another changed the object after it', async () => {
    const namespace = await cluster.namespace();
    const count = 'string(int(object.data.?n.orValue("0")) + 1)';
    await mutating(namespace, {
      reinvocationPolicy: 'IfNeeded',
      mutations: [jsonPatch(`[JSONPatch{op: "add", path: "/data/n", value: ${count}}]`)],
    });
    await mutating(namespace, { mutations: [jsonPatch('[JSONPatch{op: "add", path: "/data/last", value: "1"}]')] });
    const made = await client.create(configMaps, configMap(namespace, 'a', { x: '1' }));
    assert.deepEqual(made.data, { last: '1', n: '2', x: '1' });
  });

  it('says what is wrong with what it makes', async () => {
    const namespace = await cluster.namespace();
    const cases = [
      {
        expression: 'Object{nope: 1}',
        problem: /failed to convert patch object to typed object: \.nope: field not declared in schema$/,
      },
      {
        expression: 'Object{metadata: Object.spec{}}',
        problem: /type mismatch: unexpected type name "Object.spec", expected "Object.metadata"/,
      },
      { expression: 'Object{data: {"a": object.data.none}}', problem: /resulted in error: no such key: none$/ },
    ];
    for (const { expression, problem } of cases) {
      const name = await mutating(namespace, { mutations: [apply(expression)] });
      const refused = await refusal(client.create(configMaps, configMap(namespace, 'a', { x: '1' })));
      assert.deepEqual([refused.code, refused.reason], [403, 'Invalid']);
      assert.ok(
        refused.message.startsWith(`policy '${name}' with binding '${name}' denied request: `),
        refused.message,
      );
      assert.match(refused.message, problem);
      await client.delete(mutatingAdmissionPolicyBindings, { name });
      await inForce();
    }
  });

  it('may not take away what it cannot see: atomic lists', async () => {
    const namespace = await cluster.namespace();
    await client.create(serviceAccounts, { metadata: { name: 'default', namespace } });
    const container = 'Object.spec.containers{name: "c", command: ["ls"]}';
    await mutating(namespace, {
      matchConstraints: writesOf(namespace, ['pods']),
      mutations: [apply(`Object{spec: Object.spec{containers: [${container}]}}`)],
    });
    const spec = { containers: [{ name: 'c', image: 'c:1' }] };
    const refused = await refusal(client.create(pods, { metadata: { name: 'p', namespace }, spec }));
    assert.match(
      refused.message,
      /invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: \.spec\.containers\[0\]\.command$/,
    );
  });
});
