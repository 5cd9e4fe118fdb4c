import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Deployment, deployments } from '../../api/gen/apps-v1.ts';
import { horizontalPodAutoscalers as autoscalersV2 } from '../../api/gen/autoscaling-v2.ts';
import { type ConfigMap, configMaps, services } from '../../api/gen/core-v1.ts';
import type { ManagedFieldsEntry } from '../../apimachinery/gen/meta-v1.ts';
import { type FieldSet, pathsOf } from '../../apimachinery/managed-fields/field-set.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { StatusError } from '../../apimachinery/status.ts';
import type { PatchOptions } from '../../client/client.ts';
import { type OpenServer, openServerWithDefault } from '../api-server.fixture.ts';

const namespace = 'default';
const body = (name: string, spec: object = {}, labels?: object) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, ...(labels ? { labels } : {}) },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'nginx' }] } },
    ...spec,
  },
});
const data = (name: string, values: object | undefined, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...more },
  ...(values ? { data: values } : {}),
});

/** `operation manager subresource` and what each has. */
function owners({ metadata }: KubeObject): Record<string, string[]> {
  const entries = (metadata.managedFields ?? []).map(
    ({ manager, operation, subresource, fieldsV1 }: ManagedFieldsEntry) =>
      [[operation, manager, subresource].filter(Boolean).join(' '), pathsOf(fieldsV1 as FieldSet)] as const,
  );
  return Object.fromEntries(entries);
}

async function refusal(promise: Promise<unknown>): Promise<StatusError> {
  const error = await promise.then(
    () => assert.fail('it was taken'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof StatusError, String(error));
  return error;
}

for (const storeName of ['memory', 'LMDB'] as const) {
  describe(`managed fields and apply over ${storeName}`, () => {
    let opened: OpenServer;
    before(async () => {
      opened = await openServerWithDefault({ storeName });
    });
    after(() => opened.close());

    const applyDeployment = (config: { readonly metadata: { readonly name: string } }, options: PatchOptions) =>
      opened.client.patch(
        deployments,
        { namespace, name: config.metadata.name },
        { type: 'apply', body: config },
        options,
      );
    const applyMap = (config: { readonly metadata: { readonly name: string } }, options: PatchOptions) =>
      opened.client.patch(
        configMaps,
        { namespace, name: config.metadata.name },
        { type: 'apply', body: config },
        options,
      );
    const createMap = (name: string, values: Record<string, string>, fieldManager: string) =>
      opened.client.create(configMaps, { metadata: { name, namespace }, data: values } as ConfigMap, { fieldManager });

    test('an apply creates what is not there and says so', async () => {
      const made = await applyMap(data('made', { a: '1' }), { fieldManager: 'one' });
      assert.deepEqual(owners(made), { 'Apply one': ['.data.a'] });
      const [entry] = made.metadata.managedFields!;
      const { time, ...rest } = entry!;
      assert.match(time ?? '', /^\d{4}-\d\d-\d\dT/);
      assert.deepEqual(rest, {
        manager: 'one',
        operation: 'Apply',
        apiVersion: 'v1',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { 'f:a': {} } },
      });
    });

    test('an apply of the same writes nothing', async () => {
      const first = await applyDeployment(body('same', { replicas: 2 }), { fieldManager: 'one' });
      const second = await applyDeployment(body('same', { replicas: 2 }), { fieldManager: 'one' });
      assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
    });

    test('a conflict names manager, version and fields, and force takes them', async () => {
      await opened.client.create(
        deployments,
        { ...body('fought', { replicas: 1 }), metadata: { name: 'fought', namespace } } as Deployment,
        { fieldManager: 'kubectl-create' },
      );
      const error = await refusal(applyDeployment(body('fought', { replicas: 3 }), { fieldManager: 'two' }));
      assert.equal(error.code, 409);
      assert.equal(
        error.message,
        'Apply failed with 1 conflict: conflict with "kubectl-create" using apps/v1: .spec.replicas',
      );
      assert.deepEqual(error.status.details?.causes, [
        {
          reason: 'FieldManagerConflict',
          message: 'conflict with "kubectl-create" using apps/v1',
          field: '.spec.replicas',
        },
      ]);
      const forced = await applyDeployment(body('fought', { replicas: 3 }), { fieldManager: 'two', force: true });
      assert.equal(forced.spec.replicas, 3);
      assert.ok(!owners(forced)['Update kubectl-create']!.includes('.spec.replicas'));
      assert.ok(owners(forced)['Apply two']!.includes('.spec.replicas'));
    });

    test('what is left out is removed, then defaulted anew', async () => {
      await applyDeployment(body('less', { replicas: 4, paused: true }, { a: 'b' }), { fieldManager: 'one' });
      const less = await applyDeployment(body('less'), { fieldManager: 'one' });
      assert.equal(less.spec.replicas, 1);
      assert.equal(less.spec.paused, undefined);
      assert.equal(less.metadata.labels, undefined);
    });

    test('ports are known by number and protocol, which has a default', async () => {
      const service = (ports: object[]) => ({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'ports' },
        spec: { type: 'ExternalName', externalName: 'x.example', ports },
      });
      const apply = (ports: object[], fieldManager: string) =>
        opened.client.patch(
          services,
          { namespace, name: 'ports' },
          { type: 'apply', body: service(ports) },
          { fieldManager },
        );
      await apply([{ port: 53, name: 'tcp' }], 'one');
      const both = await apply([{ port: 53, protocol: 'UDP', name: 'udp' }], 'two');
      assert.deepEqual(both.spec?.ports?.map(({ name }) => name).sort(), ['tcp', 'udp']);
      const error = await refusal(
        apply(
          [
            { port: 53, name: 'a' },
            { port: 53, protocol: 'TCP', name: 'b' },
          ],
          'three',
        ),
      );
      assert.match(error.message, /\.spec\.ports: duplicate entries for key \[port=53,protocol="TCP"\]$/);
    });

    const refused: { name: string; config: unknown; options?: PatchOptions; code: number; message: RegExp }[] = [
      {
        name: 'no field manager',
        config: data('x', {}),
        options: {},
        code: 422,
        message:
          /^PatchOptions\.meta\.k8s\.io "" is invalid: fieldManager: Required value: is required for apply patch$/,
      },
      {
        name: 'managed fields',
        config: data('x', {}, { managedFields: [] }),
        code: 400,
        message: /^metadata\.managedFields must be nil$/,
      },
      {
        name: 'another kind',
        config: { ...data('x', {}), kind: 'Secret' },
        code: 400,
        message: /^invalid object type: \/v1, Kind=Secret$/,
      },
      {
        name: 'an unknown field',
        config: { ...data('x', {}), foo: 1 },
        code: 500,
        message:
          /^failed to create typed patch object \(\/x; \/v1, Kind=ConfigMap\): \.foo: field not declared in schema$/,
      },
      {
        name: 'another name',
        config: data('y', {}),
        code: 400,
        message: /^the name of the object \(y\) does not match the name on the URL \(x\)$/,
      },
      { name: 'no name', config: {}, code: 400, message: /was undeterminable: name must be provided$/ },
      {
        name: 'an old resourceVersion',
        config: data('made', { a: '2' }, { resourceVersion: '1' }),
        options: { fieldManager: 'one' },
        code: 409,
        message: /the object has been modified/,
      },
    ];
    for (const { name, config, options = { fieldManager: 'm' }, code, message } of refused) {
      test(`an apply with ${name} is refused`, async () => {
        const target = name === 'an old resourceVersion' ? 'made' : 'x';
        const error = await refusal(
          opened.client.patch(configMaps, { namespace, name: target }, { type: 'apply', body: config }, options),
        );
        assert.deepEqual([error.code, error.message.match(message) !== null], [code, true], error.message);
      });
    }

    test('force means nothing to other patches', async () => {
      const patch = { type: 'merge', body: {} } as const;
      const error = await refusal(opened.client.patch(configMaps, { namespace, name: 'made' }, patch, { force: true }));
      assert.match(error.message, /force: Forbidden: may not be specified for non-apply patch/);
    });

    test('a dry run tells the result and leaves nothing', async () => {
      const dry = await applyMap(data('dry', { a: '1' }), { fieldManager: 'one', dryRun: true });
      assert.deepEqual(owners(dry), { 'Apply one': ['.data.a'] });
      assert.equal((await refusal(opened.client.get(configMaps, { namespace, name: 'dry' }))).code, 404);
    });

    test('every verb keeps the account', async () => {
      const made = await createMap('verbs', { a: '1', b: '1', c: '1', d: '1' }, 'creator');
      await opened.client.update(configMaps, { ...made, data: { ...made.data, b: '2' } }, { fieldManager: 'updater' });
      const patch = (type: 'merge' | 'json' | 'strategic', patchBody: unknown) =>
        opened.client.patch(
          configMaps,
          { namespace, name: 'verbs' },
          { type, body: patchBody },
          { fieldManager: type },
        );
      await patch('merge', { data: { c: '2' } });
      await patch('strategic', { data: { d: '2' } });
      const end = await patch('json', [{ op: 'add', path: '/data/e', value: '1' }]);
      assert.deepEqual(owners(end), {
        'Update creator': ['.data', '.data.a'],
        'Update json': ['.data.e'],
        'Update merge': ['.data.c'],
        'Update strategic': ['.data.d'],
        'Update updater': ['.data.b'],
      });
    });

    test('status is owned on its subresource, spec is not; scale owns replicas', async () => {
      const ref = { namespace, name: 'parts' };
      await opened.client.create(deployments, { ...body('parts', { replicas: 1 }), metadata: ref } as Deployment, {
        fieldManager: 'creator',
      });
      const both = { spec: { replicas: 9 }, status: { observedGeneration: 1 } };
      const status = await opened.client.patch(
        deployments,
        ref,
        { type: 'merge', body: both },
        { fieldManager: 'controller', subresource: 'status' },
      );
      assert.deepEqual(owners(status)['Update controller status'], ['.status.observedGeneration']);
      const whole = await opened.client.patch(
        deployments,
        ref,
        { type: 'merge', body: { status: { replicas: 3 } } },
        { fieldManager: 'other' },
      );
      assert.equal(owners(whole)['Update other'], undefined);
      assert.equal(whole.metadata.resourceVersion, status.metadata.resourceVersion);
      await opened.client.patch(
        deployments,
        ref,
        { type: 'merge', body: { spec: { replicas: 5 } } },
        { fieldManager: 'scaler', subresource: 'scale' },
      );
      const scaled = await opened.client.get(deployments, ref);
      assert.deepEqual(owners(scaled)['Update scaler scale'], ['.spec.replicas']);
      const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'parts' }, spec: { replicas: 6 } };
      await opened.client.patch(
        deployments,
        ref,
        { type: 'apply', body: scale },
        { fieldManager: 'applier', subresource: 'scale', force: true },
      );
      const applied = await opened.client.get(deployments, ref);
      assert.equal(applied.spec.replicas, 6);
      assert.deepEqual(owners(applied)['Apply applier scale'], ['.spec.replicas']);
      assert.equal(owners(applied)['Update scaler scale'], undefined);
    });

    test('clients may change the account, and clear it', async () => {
      const made = await createMap('cleared', { a: '1' }, 'creator');
      const given = made.metadata.managedFields!.map((entry) => ({ ...entry, manager: 'renamed' }));
      const renamed = await opened.client.update(configMaps, {
        ...made,
        metadata: { ...made.metadata, managedFields: given },
      });
      assert.deepEqual(Object.keys(owners(renamed)), ['Update renamed']);
      const broken = {
        ...renamed,
        metadata: { ...renamed.metadata, managedFields: [{ ...given[0], operation: 'Edit' }] },
      };
      assert.deepEqual(Object.keys(owners(await opened.client.update(configMaps, broken))), ['Update renamed']);
      const cleared = await opened.client.patch(
        configMaps,
        { namespace, name: 'cleared' },
        { type: 'merge', body: { metadata: { managedFields: [{}] } } },
      );
      assert.equal(cleared.metadata.managedFields, undefined);
      const applied = await applyMap(data('cleared', { b: '1' }), { fieldManager: 'one' });
      assert.deepEqual(owners(applied), {
        'Apply one': ['.data.b'],
        'Update before-first-apply': ['.data', '.data.a'],
      });
    });

    test('an empty list of owners forgets them, in a patch and in an update', async () => {
      const made = await createMap('forgotten', { a: '1' }, 'creator');
      const ref = { namespace, name: 'forgotten' };
      const empty = { type: 'merge', body: { metadata: { managedFields: [] } } } as const;
      assert.equal((await opened.client.patch(configMaps, ref, empty)).metadata.managedFields, undefined);
      await applyMap(data('forgotten', { b: '1' }), { fieldManager: 'one' });
      const { resourceVersion: _, ...metadata } = made.metadata;
      const updated = await opened.client.update(configMaps, { ...made, metadata: { ...metadata, managedFields: [] } });
      assert.equal(updated.metadata.managedFields, undefined);
    });

    test('a strategic merge patch cannot rename the kind of what it patches', async () => {
      await createMap('renamed', { a: '1' }, 'creator');
      const ref = { namespace, name: 'renamed' };
      const patched = await opened.client.patch(configMaps, ref, {
        type: 'strategic',
        body: { kind: 'Secret', apiVersion: 'v2', data: { a: '2' } },
      });
      assert.deepEqual([patched.kind, patched.apiVersion, patched.data], ['ConfigMap', 'v1', { a: '2' }]);
      const other = { type: 'merge', body: { kind: 'Foo' } } as const;
      assert.match((await refusal(opened.client.patch(configMaps, ref, other))).message, /no kind "Foo" is registered/);
    });

    test('an element without its key is known by the zero value, and judged by the rules of its kind', async () => {
      const containers = (...items: object[]) => ({
        template: { metadata: { labels: { app: 'web' } }, spec: { containers: items } },
      });
      const missing = await refusal(
        applyDeployment(body('keyless', containers({ image: 'x' })), { fieldManager: 'm' }),
      );
      assert.deepEqual(
        [missing.code, missing.message],
        [422, 'Deployment.apps "keyless" is invalid: spec.template.spec.containers[0].name: Required value'],
      );
      const twice = await refusal(
        applyDeployment(body('keyless', containers({ image: 'x' }, { name: '', image: 'y' })), { fieldManager: 'm' }),
      );
      assert.equal(
        twice.message,
        'failed to create typed patch object (/keyless; apps/v1, Kind=Deployment): .spec.template.spec.containers: duplicate entries for key [name=""]',
      );
    });

    test('names too long are refused', async () => {
      const made = await createMap('long', { a: '1' }, 'creator');
      const managedFields = [{ ...made.metadata.managedFields![0], manager: 'm'.repeat(129) }];
      const error = await refusal(
        opened.client.update(configMaps, { ...made, metadata: { ...made.metadata, managedFields } }),
      );
      assert.match(error.message, /metadata\.managedFields\[0\]\.manager: Too long: may not be more than 128 bytes/);
    });

    test('fields of another version are compared in that version', async () => {
      const ref = { namespace, name: 'hpa' };
      const v2 = {
        metadata: ref,
        spec: { maxReplicas: 5, scaleTargetRef: { kind: 'Deployment', name: 'x', apiVersion: 'apps/v1' } },
      };
      await opened.client.create(autoscalersV2, v2 as never, { fieldManager: 'new' });
      const old = { ...autoscalersV2, version: 'v1' };
      const patch = { type: 'merge', body: { spec: { maxReplicas: 7 } } } as const;
      await opened.client.patch(old, ref, patch, { fieldManager: 'old' });
      const end = await opened.client.get(autoscalersV2, ref);
      assert.deepEqual(owners(end)['Update old'], ['.spec.maxReplicas']);
      assert.ok(!owners(end)['Update new']!.includes('.spec.maxReplicas'));
    });

    test('kubectl takes over without a conflict what its annotation vouches for', async () => {
      const key = 'kubectl.kubernetes.io/last-applied-configuration';
      const last = JSON.stringify(data('moved', { a: '1' }));
      const metadata = { name: 'moved', namespace, annotations: { [key]: last } };
      await opened.client.create(configMaps, { metadata, data: { a: '1' } } as ConfigMap, {
        fieldManager: 'kubectl-client-side-apply',
      });
      const moved = await applyMap(data('moved', { a: '2' }), { fieldManager: 'kubectl' });
      assert.equal(moved.data?.a, '2');
      assert.equal(
        moved.metadata.annotations?.[key],
        `{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"moved"}}\n`,
      );
    });
  });
}

test('who may patch but not create is refused a creation by apply', async () => {
  const authorizer = {
    name: 'test',
    authorize: ({ info }: { readonly info: { readonly verb: string; readonly name: string } }) => ({
      decision: info.verb === 'create' && info.name === 'x' ? ('no-opinion' as const) : ('allow' as const),
      reason: '',
    }),
  };
  const opened = await openServerWithDefault({ security: () => ({ authorizer }) });
  try {
    const patch = { type: 'apply', body: data('x', {}) } as const;
    const error = await refusal(
      opened.client.patch(configMaps, { namespace, name: 'x' }, patch, { fieldManager: 'm' }),
    );
    assert.equal(
      error.message,
      'configmaps "x" is forbidden: User "admin" cannot create resource "configmaps" in API group "" in the namespace "default"',
    );
  } finally {
    await opened.close();
  }
});

describe('the body of an apply', () => {
  const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n';
  const repeated = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1","a":"2"}}';
  const cases: { name: string; body: string; validation?: string; code: number; message?: RegExp; warning?: RegExp }[] =
    [
      { name: 'YAML', body: `${text}data: {a: "1"}`, code: 201 },
      { name: 'JSON', body: repeated.replace('"a":"1",', ''), code: 201 },
      {
        name: 'no YAML',
        body: 'a: [',
        code: 400,
        message: /^error decoding YAML: error converting YAML to JSON: yaml: /,
      },
      {
        name: 'a list',
        body: '[]',
        code: 400,
        message: /json: cannot unmarshal array into Go value of type map\[string\]interface \{\}$/,
      },
      { name: 'nothing', body: '', code: 400, message: /^invalid object type: \/, Kind=$/ },
      {
        name: 'a key twice, strictly',
        body: repeated,
        validation: 'Strict',
        code: 400,
        message: /^error strict decoding YAML: error converting YAML to JSON: .*key "a" already set in map$/s,
      },
      { name: 'a key twice', body: repeated, code: 201, warning: /^299 - "line \d+: key \\"a\\" already set in map"$/ },
      { name: 'a key twice, never mind', body: repeated, validation: 'Ignore', code: 201 },
    ];
  for (const { name, body: sent, validation, code, message, warning } of cases) {
    test(name, async () => {
      const opened = await openServerWithDefault();
      try {
        const response = await opened.server.handle({
          method: 'PATCH',
          path: '/api/v1/namespaces/default/configmaps/x',
          query: new URLSearchParams({ fieldManager: 'm', ...(validation ? { fieldValidation: validation } : {}) }),
          headers: { 'content-type': 'application/apply-patch+yaml' },
          body: { kind: 'bytes', read: async () => Buffer.from(sent) },
          remoteAddress: '',
          clientCertificates: [],
          user: { name: 'admin', groups: [] },
          signal: new AbortController().signal,
        });
        assert.equal(response.status, code);
        if (warning) assert.match(response.headers.warning ?? '', warning);
        else assert.equal(response.headers.warning, undefined);
        const { body: answer } = response;
        const json = answer.kind === 'bytes' ? Buffer.concat(answer.chunks).toString() : JSON.stringify(answer);
        if (message) assert.match((JSON.parse(json).object ?? JSON.parse(json)).message, message);
      } finally {
        await opened.close();
      }
    });
  }
});
