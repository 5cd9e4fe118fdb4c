import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ValidatingAdmissionPolicySpec } from '../../api/gen/admissionregistration-v1.ts';
import { builtinResources } from '../../api/schema.ts';
import { customResource, type ResourceType } from '../../apimachinery/resource.ts';
import { genericServerResponse } from '../../apimachinery/status.ts';
import { silentLog } from '../../base/log.ts';
import type { Client, TransportRequest } from '../../client/client.ts';
import { ServedKindTypes } from './kind-types.ts';
import { typeCheckWarnings } from './type-check.ts';

const rule = (apiGroups: string[], resources: string[]) => ({
  apiGroups,
  apiVersions: ['v1'],
  operations: ['*' as const],
  resources,
});

const widget = { group: 'example.com', version: 'v1', kind: 'Widget' };
const reference = (name: string) => ({ allOf: [{ $ref: `#/components/schemas/${name}` }] });
const text = { type: 'string' };
const number = { type: 'integer' };

/** As the server publishes a custom resource. */
const widgets = {
  components: {
    schemas: {
      'com.example.v1.Widget': {
        type: 'object',
        properties: {
          apiVersion: text,
          kind: text,
          metadata: reference('Meta'),
          spec: {
            type: 'object',
            properties: {
              size: number,
              namespace: text,
              since: { type: 'string', format: 'date-time' },
              port: { 'x-kubernetes-int-or-string': true },
              tags: { type: 'array', items: { type: 'object', properties: { key: text } } },
              amounts: { type: 'object', additionalProperties: number },
              anything: { 'x-kubernetes-preserve-unknown-fields': true },
              template: { type: 'object', 'x-kubernetes-embedded-resource': true },
            },
          },
          children: { type: 'array', items: reference('com.example.v1.Widget') },
        },
        'x-kubernetes-group-version-kind': [widget],
      },
      Meta: {
        type: 'object',
        properties: { name: text, generateName: text, labels: { type: 'object', additionalProperties: text } },
      },
    },
  },
};

const served: readonly ResourceType[] = [
  ...builtinResources().map((row) => customResource(row, row)),
  customResource(widget, { resource: 'widgets', namespaced: true }),
  customResource({ ...widget, group: 'broken.example.com' }, { resource: 'widgets', namespaced: true }),
];

/** A server's discovery and documents, and no more. */
const client = {
  raw: async ({ path }: TransportRequest): Promise<unknown> => {
    if (path === '/openapi/v3/apis/example.com/v1') return widgets;
    if (path.startsWith('/openapi/')) throw genericServerResponse({ code: 503, method: 'GET' });
    const groups = Map.groupBy(
      served.filter(({ group }) => (group === '') === (path === '/api')),
      ({ group }) => group,
    );
    return {
      kind: 'APIGroupDiscoveryList',
      items: [...groups].map(([name, resources]) => ({
        metadata: { name },
        versions: resources.map(({ version, kind, resource, singular, verbs }) => ({
          version,
          resources: [{ resource, responseKind: { kind }, scope: 'Namespaced', singularResource: singular, verbs }],
        })),
      })),
    };
  },
} as unknown as Client;

function warnings(spec: Partial<ValidatingAdmissionPolicySpec>, ...rules: ReturnType<typeof rule>[]) {
  const policy = { metadata: { name: 'p' }, spec: { matchConstraints: { resourceRules: rules }, ...spec } };
  return typeCheckWarnings(policy, new ServedKindTypes(client), silentLog);
}

describe('Type checking of policies', () => {
  it('has nothing to say about expressions that fit', async () => {
    const validations = [
      { expression: 'object.spec.replicas > 1', messageExpression: '"has " + string(object.spec.replicas)' },
      { expression: 'object.metadata.labels["a"] == "b" || oldObject == null' },
    ];
    assert.deepEqual(await warnings({ validations }, rule(['apps'], ['deployments', 'deployments/status'])), []);
  });

  it('tells each expression apart, and each kind', async () => {
    const validations = [{ expression: 'object.foo < object.bar', messageExpression: 'object.spec.nope' }];
    const told = await warnings({ validations }, rule(['apps'], ['replicasets', 'deployments']));
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

  it('knows the types of variables and parameters', async () => {
    const variables = [{ name: 'replicas', expression: 'object.spec.replicas' }];
    const validations = [{ expression: 'variables.replicas == "3"' }, { expression: 'params.nothing' }];
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const told = await warnings({ variables, validations, paramKind }, rule(['apps'], ['deployments']));
    assert.match(told[0]?.warning ?? '', /found no matching overload for '_==_' applied to '\(int, string\)'/);
    assert.match(told[1]?.warning ?? '', /undefined field 'nothing'/);
  });

  it('leaves alone what could be anything, what is served by nobody, and what the server does not tell', async () => {
    const validations = [{ expression: 'object.anything' }];
    const rules = [
      rule(['*'], ['deployments']),
      rule(['apps'], ['*', 'deployments/scale', 'things']),
      rule(['broken.example.com'], ['widgets']),
    ];
    assert.deepEqual(await warnings({ validations }, ...rules), []);
  });

  it('knows custom resources by what the server publishes of them', async () => {
    const fits = [
      'object.spec.size > 1 && object.spec.port == "http" && object.spec.port == 80',
      'object.spec.since < timestamp("2026-01-01T00:00:00Z") && object.metadata.labels["a"] == "b"',
      'object.spec.tags.all(tag, tag.key != "") && object.spec.amounts.all(name, object.spec.amounts[name] > 0)',
      'object.spec.template.metadata.name == object.spec.namespace && object.children[0].metadata.name == ""',
      'oldObject.spec.size <= object.spec.size',
    ];
    const faults = new Map([
      ['object.spec.sice > 1', "undefined field 'sice'"],
      ['object.spec.anything == 1', "undefined field 'anything'"],
      ['object.spec.template.spec == 1', "undefined field 'spec'"],
      ['object.spec.tags[0].name == ""', "undefined field 'name'"],
      ['object.spec.size == "1"', "found no matching overload for '_==_' applied to '(int, string)'"],
      ['object.spec.amounts["a"] == ""', "found no matching overload for '_==_' applied to '(int, string)'"],
    ]);
    const validations = [...fits, ...faults.keys()].map((expression) => ({ expression }));
    const told = await warnings({ validations }, rule(['example.com'], ['Widget', 'widgets']));
    assert.deepEqual(
      told.map(({ fieldRef }) => fieldRef),
      [...faults.keys()].map((_, index) => `spec.validations[${fits.length + index}].expression`),
    );
    for (const [index, fault] of [...faults.values()].entries()) {
      assert.ok(
        told[index]?.warning.startsWith('example.com/v1, Kind=Widget: ERROR: <input>:1:'),
        told[index]?.warning,
      );
      assert.ok(told[index]?.warning.includes(fault), told[index]?.warning);
    }
  });

  it('knows parameters that are custom resources', async () => {
    const paramKind = { apiVersion: 'example.com/v1', kind: 'Widget' };
    const validations = [{ expression: 'params.spec.size > object.spec.replicas' }, { expression: 'params.size == 1' }];
    const told = await warnings({ validations, paramKind }, rule(['apps'], ['deployments']));
    assert.deepEqual(
      told.map(({ fieldRef }) => fieldRef),
      ['spec.validations[1].expression'],
    );
  });

  it('looks at ten kinds and no more', async () => {
    const validations = [{ expression: 'object.nothing' }];
    const resources = [
      'configmaps',
      'endpoints',
      'events',
      'limitranges',
      'namespaces',
      'nodes',
      'persistentvolumeclaims',
    ];
    const more = ['persistentvolumes', 'pods', 'podtemplates', 'secrets'];
    const rules = [rule([''], [...resources, ...more]), rule(['apps'], ['deployments'])];
    const [told] = await warnings({ validations }, ...rules);
    const kinds = told?.warning.match(/Kind=\w+/g);
    assert.equal(kinds?.length, 10);
    assert.ok(!kinds.includes('Kind=Secret') && !kinds.includes('Kind=Deployment'));
  });
});
