import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ValidatingAdmissionPolicySpec } from '../../api/gen/admissionregistration-v1.ts';
import { typeCheckWarnings } from './type-check.ts';

const rule = (apiGroups: string[], resources: string[]) => ({
  apiGroups,
  apiVersions: ['v1'],
  operations: ['*' as const],
  resources,
});

function warnings(spec: Partial<ValidatingAdmissionPolicySpec>, ...rules: ReturnType<typeof rule>[]) {
  return typeCheckWarnings({ metadata: { name: 'p' }, spec: { matchConstraints: { resourceRules: rules }, ...spec } });
}

describe('Type checking of policies', () => {
  it('has nothing to say about expressions that fit', () => {
    const validations = [
      { expression: 'object.spec.replicas > 1', messageExpression: '"has " + string(object.spec.replicas)' },
      { expression: 'object.metadata.labels["a"] == "b" || oldObject == null' },
    ];
    assert.deepEqual(warnings({ validations }, rule(['apps'], ['deployments', 'deployments/status'])), []);
  });

  it('tells each expression apart, and each kind', () => {
    const validations = [{ expression: 'object.foo < object.bar', messageExpression: 'object.spec.nope' }];
    const told = warnings({ validations }, rule(['apps'], ['replicasets', 'deployments']));
    assert.deepEqual(
      told.map(({ fieldRef }) => fieldRef),
      ['spec.validations[0].expression', 'spec.validations[0].messageExpression'],
    );
    assert.equal(
      told[0]?.warning,
      ['Deployment', 'ReplicaSet']
        .map(
          (kind) =>
            `apps/v1, Kind=${kind}: ERROR: <input>:1:7: undefined field 'foo'\n | object.foo < object.bar\n | ......^\nERROR: <input>:1:20: undefined field 'bar'\n | object.foo < object.bar\n | ...................^\n`,
        )
        .join('\n'),
    );
  });

  it('knows the types of variables and parameters', () => {
    const variables = [{ name: 'replicas', expression: 'object.spec.replicas' }];
    const validations = [{ expression: 'variables.replicas == "3"' }, { expression: 'params.nothing' }];
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const told = warnings({ variables, validations, paramKind }, rule(['apps'], ['deployments']));
    assert.match(told[0]?.warning ?? '', /found no matching overload for '_==_' applied to '\(int, string\)'/);
    assert.match(told[1]?.warning ?? '', /undefined field 'nothing'/);
  });

  it('leaves what could be anything alone', () => {
    const validations = [{ expression: 'object.anything' }];
    assert.deepEqual(warnings({ validations }, rule(['*'], ['deployments']), rule(['example.com'], ['things'])), []);
  });
});
