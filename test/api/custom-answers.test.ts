/** What the server answers about custom resources and their definitions, to the letter: what clients compare, print and wait for. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { createClient, createHttpTransport } from '../../src/client/index.ts';
import { define, type Schema } from '../conformance/definitions.ts';
import { openCluster } from './cluster.ts';
import { json, mergePatch, openHttp2, statusOf } from './wire.ts';

const schema: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        colour: { type: 'string' },
        note: { type: 'string', nullable: true },
        replicas: { type: 'integer' },
      },
      'x-kubernetes-validations': [{ rule: "!has(self.colour) || self.colour != 'grey'", message: 'no grey' }],
    },
    status: { type: 'object', properties: { replicas: { type: 'integer' } } },
  },
} as Schema;

const asTable = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
const apply = { 'content-type': 'application/apply-patch+yaml' };
const finalizerWarning =
  '299 - "metadata.finalizers: \\"plain\\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"';

describe('answers about custom resources', async () => {
  const cluster = await openCluster();
  const { url: server, ca, cert, key } = cluster.admin;
  const transport = createHttpTransport({ server, clock: systemClock, tls: { ca, cert, key } });
  const client = createClient(transport);
  const wire = openHttp2(cluster.admin);
  after(async () => {
    wire.close();
    await transport.close();
    await cluster.close();
  });
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
  const { definition } = await define(client, {
    namespaced: true,
    versions: [
      {
        name: 'v1',
        schema: { openAPIV3Schema: schema },
        subresources: { status: {}, scale },
        selectableFields: [{ jsonPath: '.spec.colour' }],
      },
      { name: 'v1beta1', deprecated: true, deprecationWarning: 'use v1!' },
    ],
  });
  const { group } = definition.spec;
  const root = `/apis/${group}/v1`;
  const gadgets = `${root}/namespaces/default/gadgets`;
  const gadget = (name: string, spec: object, metadata: object = {}) =>
    JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Gadget', metadata: { name, ...metadata }, spec });
  const ask = (method: string, path: string, body?: string, headers: Readonly<Record<string, string>> = json) =>
    wire.ask({ method, path, headers, ...(body === undefined ? {} : { body }) });
  const causesOf = (answer: { readonly text: string }) =>
    (JSON.parse(answer.text) as { details: { causes: { field: string; message: string }[] } }).details.causes;

  it('name kind and version in every item of a list, and the end of it', async () => {
    await ask('POST', gadgets, gadget('listed', { colour: 'red' }));
    const list = JSON.parse((await ask('GET', gadgets)).text);
    assert.equal(list.metadata.continue, '');
    assert.deepEqual([list.items[0].apiVersion, list.items[0].kind], [`${group}/v1`, 'Gadget']);
  });

  it('say that there is no such page where no definition serves a path', async () => {
    for (const [method, path] of [
      ['GET', `${root}/gizmos`],
      ['GET', `${root}/gadgets/listed`],
      ['POST', `${root}/gadgets`],
    ] as const) {
      const { status, text, headers } = await ask(method, path);
      assert.deepEqual([status, text], [404, '404 page not found\n'], `${method} ${path}`);
      assert.equal(headers['x-content-type-options'], 'nosniff');
    }
  });

  it('warn of a deprecated version whatever else is wrong', async () => {
    const answer = await ask('GET', `/apis/${group}/v1beta1/namespaces/default/gadgets/listed/scale`);
    assert.deepEqual([answer.status, answer.headers.warning], [404, '299 - "use v1!"']);
  });

  it('warn of finalizers only where the object is taken', async () => {
    const taken = await ask('POST', `${gadgets}?dryRun=All`, gadget('warned', {}, { finalizers: ['plain'] }));
    assert.deepEqual([taken.status, taken.headers.warning], [201, finalizerWarning]);
    const refused = await ask('POST', gadgets, gadget('Bad', {}, { finalizers: ['plain'] }));
    assert.deepEqual([refused.status, refused.headers.warning], [422, undefined]);
  });

  it('count a missing name among what keeps rules from being run', async () => {
    const fields = causesOf(await ask('POST', gadgets, JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Gadget' })));
    assert.deepEqual(
      fields.map(({ field }) => field),
      ['metadata.name', '<nil>'],
    );
  });

  it('call the object by the kind that it says it is', async () => {
    const body = JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Gizmo', metadata: { name: 'x' } });
    const answer = statusOf(await ask('POST', gadgets, body));
    assert.equal(answer.message, `Gizmo.${group} "x" is invalid: kind: Invalid value: "Gizmo": must be Gadget`);
  });

  it('tell what may not change in metadata twice', async () => {
    const patched = await ask('PATCH', `${gadgets}/listed`, '{"metadata":{"uid":"other"}}', mergePatch);
    const causes = causesOf(patched).map(({ field, message }) => `${field}: ${message}`);
    const cause = 'metadata.uid: Invalid value: "other": field is immutable';
    assert.deepEqual(causes, [cause, cause]);
  });

  it('say of repeated keys in YAML which they are', async () => {
    const body = `apiVersion: ${group}/v1\nkind: Gadget\nmetadata:\n  name: repeated\nspec:\n  colour: a\n  colour: b\n`;
    const answer = await ask('POST', `${gadgets}?dryRun=All`, body, { 'content-type': 'application/yaml' });
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.headers.warning, '299 - "line 7: key \\"colour\\" already set in map"');
  });

  it('keep who wrote a null', async () => {
    const { text } = await ask('POST', gadgets, gadget('null', { note: null }));
    const [owner] = JSON.parse(text).metadata.managedFields;
    assert.deepEqual(owner.fieldsV1, { 'f:spec': { '.': {}, 'f:note': {} } });
  });

  it('refuse a null that is applied over what another owns', async () => {
    const applied = (manager: string, spec: object) =>
      ask('PATCH', `${gadgets}/contested?fieldManager=${manager}`, gadget('contested', spec), apply);
    assert.equal((await applied('one', { colour: 'red' })).status, 201);
    const conflict = await applied('two', { colour: null });
    assert.equal(statusOf(conflict).message, 'Apply failed with 1 conflict: conflict with "one": .spec.colour');
  });

  it('take a Scale without a version, and judge its replicas where they lie', async () => {
    await ask('POST', gadgets, gadget('scaled', { replicas: 1 }));
    const put = (replicas: number) => {
      const metadata = { name: 'scaled', namespace: 'default' };
      const body = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata, spec: { replicas } };
      return ask('PUT', `${gadgets}/scaled/scale`, JSON.stringify(body));
    };
    assert.equal((await put(4)).status, 200);
    const [cause] = causesOf(await put(-4));
    assert.deepEqual(cause, {
      reason: 'FieldValueInvalid',
      field: '.spec.replicas',
      message: 'Invalid value: -4: should be a non-negative integer',
    });
  });

  it('show a Scale as a table', async () => {
    const tableOf = async (path: string) => {
      const { columnDefinitions, rows } = JSON.parse((await ask('GET', path, undefined, asTable)).text);
      return {
        columns: columnDefinitions.map(({ name }: { name: string }) => name),
        cells: rows[0].cells.slice(0, -1),
      };
    };
    const selector = { matchLabels: { app: 'web' } };
    const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const spec = { replicas: 0, selector, template };
    const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec };
    await ask('POST', '/apis/apps/v1/namespaces/default/deployments', JSON.stringify(deployment));
    const columns = ['Name', 'Desired', 'Available', 'Age'];
    const ofDeployment = await tableOf('/apis/apps/v1/namespaces/default/deployments/web/scale');
    assert.deepEqual(ofDeployment, { columns, cells: ['web', 0, 0] });
    await ask('POST', gadgets, gadget('shown', { replicas: 4 }));
    assert.deepEqual(await tableOf(`${gadgets}/shown/scale`), { columns, cells: ['shown', 4, 0] });
  });

  it('tell in OpenAPI by which fields objects can be selected', async () => {
    const { components } = JSON.parse((await ask('GET', `/openapi/v3/apis/${group}/v1`)).text);
    const name = `${group.split('.').reverse().join('.')}.v1.Gadget`;
    assert.deepEqual(components.schemas[name]['x-kubernetes-selectable-fields'], [{ fieldPath: 'spec.colour' }]);
  });

  it('name whole kinds in aggregated discovery', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const { items } = JSON.parse((await ask('GET', '/apis', undefined, { accept })).text);
    const found = items.find(({ metadata }: { metadata: { name: string } }) => metadata.name === group);
    const [resource] = found.versions[0].resources;
    assert.deepEqual(resource.responseKind, { group, version: 'v1', kind: 'Gadget' });
    const kinds = resource.subresources.map(({ responseKind }: { responseKind: unknown }) => responseKind);
    assert.deepEqual(kinds, [
      { group, version: 'v1', kind: 'Gadget' },
      { group: 'autoscaling', version: 'v1', kind: 'Scale' },
    ]);
  });
});

describe('answers about definitions', async () => {
  const cluster = await openCluster();
  const wire = openHttp2(cluster.admin);
  after(async () => {
    wire.close();
    await cluster.close();
  });
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All';
  const causes = async (metadata: object, spec: object) => {
    const body = JSON.stringify({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata,
      spec,
    });
    const { details } = statusOf(await wire.ask({ method: 'POST', path, headers: json, body }));
    return details!.causes!.map(({ field, message }) => `${field}: ${message}`);
  };
  const names = { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' };
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } };
  const good = { group: 'example.com', scope: 'Namespaced', names, versions: [version] };
  const metadata = { name: 'gadgets.example.com' };

  it('miss a name before they compare it', async () => {
    assert.deepEqual(await causes({}, good), ['metadata.name: Required value: name or generateName is required']);
  });

  it('show a list that is not there as none', async () => {
    assert.ok(
      (await causes(metadata, { ...good, versions: [] })).includes(
        'status.storedVersions: Invalid value: null: must have at least one stored version',
      ),
    );
  });

  it('judge the name of the first version at its older place too', async () => {
    const fields = await causes(metadata, { ...good, versions: [{ ...version, name: 'V_1' }] });
    assert.deepEqual(
      fields.map((cause) => cause.slice(0, cause.indexOf(':'))),
      ['spec.versions[0].name', 'spec.version'],
    );
  });

  it('say no more of the service of a webhook than that parts are missing', async () => {
    const webhook = { conversionReviewVersions: ['v1'], clientConfig: { service: {} } };
    assert.deepEqual(await causes(metadata, { ...good, conversion: { strategy: 'Webhook', webhook } }), [
      'spec.conversion.webhookClientConfig.service.name: Required value',
      'spec.conversion.webhookClientConfig.service.namespace: Required value',
    ]);
  });

  it('call the place of a rule by the same name, however deep it is', async () => {
    const spec = { type: 'object', 'x-kubernetes-validations': [{ rule: 'self.all(x, true)' }] };
    const openAPIV3Schema = { type: 'object', properties: { spec } };
    const [cause] = await causes(metadata, { ...good, versions: [{ ...version, schema: { openAPIV3Schema } }] });
    assert.match(cause!, /expression of type 'selfType' cannot be range of a comprehension/);
  });
});
