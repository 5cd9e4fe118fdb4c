/** Admission webhooks as clients and their authors meet them: real HTTPS servers in this process, called by a real control plane. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MutatingWebhook, ValidatingWebhook } from '../../src/api/gen/admissionregistration-v1.ts';
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from '../../src/api/gen/admissionregistration-v1.ts';
import { deployments } from '../../src/api/gen/apps-v1.ts';
import { horizontalPodAutoscalers } from '../../src/api/gen/autoscaling-v2.ts';
import { type ConfigMap, configMaps, namespaces, pods, serviceAccounts } from '../../src/api/gen/core-v1.ts';
import { StatusError } from '../../src/apimachinery/status.ts';
import {
  type Answer,
  startWebhookServer,
  type WebhookServer,
  type WebhookServerOptions,
} from '../../src/apiserver/webhook-client/webhook-server.fixture.ts';
import { startCluster } from '../conformance/cluster.ts';

const warnings: string[] = [];
const cluster = await startCluster({ controllers: [], scheduler: false });
const client = cluster.clientWith({ onWarning: (text) => void warnings.push(text) });

const configMapRule = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] } as const;
let names = 0;

type Hook = Partial<ValidatingWebhook & MutatingWebhook>;

/** Configures webhooks for one namespace (or as `hooks` say), and waits until the server knows of them. */
async function configure(
  kind: 'mutating' | 'validating',
  namespace: string,
  hooks: readonly (Hook & { readonly server: WebhookServer; readonly path?: string })[],
): Promise<AsyncDisposable & { readonly name: string }> {
  const name = `hooks-${++names}`;
  const webhooks = hooks.map(({ server, path = '/', ...hook }, index) => ({
    name: `h${index}.example.com`,
    clientConfig: { url: `${server.url}${path}`, caBundle: server.caBundle },
    rules: [configMapRule],
    sideEffects: 'None' as const,
    admissionReviewVersions: ['v1'],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    ...hook,
  }));
  const object = { metadata: { name }, webhooks };
  const type = kind === 'mutating' ? mutatingWebhookConfigurations : validatingWebhookConfigurations;
  const made = await cluster.client.create(type as typeof validatingWebhookConfigurations, object);
  assert.ok(made.metadata.uid);
  await inEffect(kind);
  return {
    name,
    async [Symbol.asyncDispose]() {
      await cluster.client.delete(type as typeof validatingWebhookConfigurations, { name });
      await inEffect(kind);
    },
  };
}

/** The server hears of configurations by watching; a marker configured after them is in force after them. */
async function inEffect(kind: 'mutating' | 'validating'): Promise<void> {
  const type = kind === 'mutating' ? mutatingWebhookConfigurations : validatingWebhookConfigurations;
  await using marker = await startWebhookServer(allow);
  const metadata = { name: `zz-marker-${++names}` };
  await cluster.client.create(type as typeof validatingWebhookConfigurations, {
    metadata,
    webhooks: [
      {
        name: 'marker.example.com',
        clientConfig: { url: marker.url, caBundle: marker.caBundle },
        rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces'] }],
        objectSelector: { matchLabels: { marker: metadata.name } },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  const probe = { metadata: { name: 'probe', labels: { marker: metadata.name } }, spec: {} };
  while (marker.received.length === 0) await cluster.client.create(namespaces, probe, { dryRun: true });
  await cluster.client.delete(type as typeof validatingWebhookConfigurations, metadata);
}

// biome-ignore lint/suspicious/noExplicitAny: reviews as they come over the wire.
type Review = any;

const review = ({ apiVersion, request }: Review, response: object) => ({
  apiVersion,
  kind: 'AdmissionReview',
  response: { uid: request.uid, ...response },
});
const allow: Answer = (body) => review(body, { allowed: true });
const patching =
  (...patch: readonly object[]): Answer =>
  (body) =>
    review(body, {
      allowed: true,
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
    });

async function refusal(call: Promise<unknown>): Promise<StatusError> {
  const outcome = await call.catch((error: unknown) => error);
  assert.ok(outcome instanceof StatusError, `not refused: ${JSON.stringify(outcome)}`);
  return outcome;
}

const configMap = (namespace: string, name = 'a', data: Record<string, string> = {}): ConfigMap => ({
  metadata: { name, namespace },
  data,
});

describe('Validating webhooks', () => {
  it('are asked about every write with what upstream tells them', async () => {
    await using server = await startWebhookServer(allow);
    const namespace = await cluster.namespace();
    await using _ = await configure('validating', namespace, [{ server }]);
    await client.create(configMaps, configMap(namespace, 'a', { x: '1' }));
    const patch = { type: 'merge', body: { data: { x: '2' } } } as const;
    await client.patch(configMaps, { namespace, name: 'a' }, patch, { fieldManager: 'me' });
    await client.delete(configMaps, { namespace, name: 'a' });
    const [created, updated, deleted] = server.received.map(({ body }) => body.request);
    assert.equal(server.received.length, 3);
    assert.deepEqual(
      { ...created, uid: 'U', object: created.object.data, userInfo: created.userInfo.username },
      {
        uid: 'U',
        kind: { group: '', version: 'v1', kind: 'ConfigMap' },
        resource: { group: '', version: 'v1', resource: 'configmaps' },
        requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
        requestResource: { group: '', version: 'v1', resource: 'configmaps' },
        name: 'a',
        namespace,
        operation: 'CREATE',
        userInfo: 'kubernetes-admin',
        object: { x: '1' },
        oldObject: null,
        dryRun: false,
        options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
      },
    );
    assert.equal(created.object.kind, 'ConfigMap');
    assert.deepEqual(
      [updated.operation, updated.object.data, updated.oldObject.data, updated.options],
      ['UPDATE', { x: '2' }, { x: '1' }, { kind: 'UpdateOptions', apiVersion: 'meta.k8s.io/v1', fieldManager: 'me' }],
    );
    assert.deepEqual(
      [deleted.operation, deleted.object, deleted.oldObject.data, deleted.options.kind],
      ['DELETE', null, { x: '2' }, 'DeleteOptions'],
    );
  });

  it('refuse in their own words, with their own code', async () => {
    const answers: readonly object[] = [
      { allowed: false },
      { allowed: false, status: { message: 'no pets', code: 418, reason: 'Teapot', details: { kind: 'pet' } } },
      { allowed: false, status: { reason: 'Because', code: 200, status: 'Success' } },
    ];
    let next = 0;
    await using server = await startWebhookServer((body) => review(body, answers[next++]!));
    const namespace = await cluster.namespace();
    await using _ = await configure('validating', namespace, [{ server }]);
    const create = () => refusal(client.create(configMaps, configMap(namespace)));
    const denied = 'admission webhook "h0.example.com" denied the request';
    const silent = await create();
    assert.deepEqual([silent.code, silent.message], [400, `${denied} without explanation`]);
    const told = await create();
    assert.deepEqual(
      [told.code, told.message, told.reason, told.status.details],
      [418, `${denied}: no pets`, 'Teapot', { kind: 'pet' }],
    );
    const reasoned = await create();
    assert.deepEqual([reasoned.code, reasoned.message, reasoned.status.status], [400, `${denied}: Because`, 'Failure']);
  });

  it('are counted', async () => {
    await using server = await startWebhookServer(allow);
    const namespace = await cluster.namespace();
    await using _ = await configure('validating', namespace, [{ server, name: 'counted.example.com' }]);
    await client.create(configMaps, configMap(namespace));
    const page = String(await cluster.client.raw({ method: 'GET', path: '/metrics' }));
    const count =
      /^apiserver_admission_webhook_admission_duration_seconds_count\{name="counted\.example\.com",operation="CREATE",rejected="false",type="validating"\} 1$/m;
    assert.match(page, count);
  });

  it('warn the client', async () => {
    await using server = await startWebhookServer((body) => review(body, { allowed: true, warnings: ['beware', 'ä'] }));
    const namespace = await cluster.namespace();
    await using _ = await configure('validating', namespace, [{ server }]);
    warnings.length = 0;
    await client.create(configMaps, configMap(namespace));
    assert.deepEqual(warnings, ['beware', 'ä']);
  });

  it('are called at the same time', async () => {
    const both = Promise.withResolvers<void>();
    let waiting = 0;
    const meet: Answer = async (body) => {
      if (++waiting === 2) both.resolve();
      await both.promise;
      return review(body, { allowed: true });
    };
    await using server = await startWebhookServer(meet);
    const namespace = await cluster.namespace();
    await using _ = await configure('validating', namespace, [{ server }, { server }]);
    await client.create(configMaps, configMap(namespace));
    assert.equal(waiting, 2);
  });

  it('that ask for less are asked less: rules, selectors, scope', async () => {
    await using server = await startWebhookServer(allow);
    const namespace = await cluster.namespace({ team: 'a' });
    const other = await cluster.namespace({ team: 'b' });
    await using _ = await configure('validating', namespace, [
      {
        server,
        path: '/namespace',
        rules: [{ ...configMapRule, operations: ['CREATE'] }],
        namespaceSelector: { matchLabels: { team: 'a' } },
      },
      { server, path: '/object', objectSelector: { matchLabels: { pick: 'me' } } },
      {
        server,
        path: '/cluster',
        rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], scope: 'Cluster' }],
        namespaceSelector: { matchLabels: { team: 'c' } },
      },
      { server, path: '/subresource', rules: [{ ...configMapRule, resources: ['configmaps/status'] }] },
    ]);
    const calls = async (write: Promise<unknown>) => {
      server.received.length = 0;
      await write;
      return server.received.map(({ path }) => path.replace(/\?.*/, '')).sort();
    };
    assert.deepEqual(await calls(client.create(configMaps, configMap(namespace))), ['/namespace']);
    assert.deepEqual(await calls(client.create(configMaps, configMap(other))), []);
    const labelled = { metadata: { name: 'b', namespace, labels: { pick: 'me' } } };
    assert.deepEqual(await calls(client.create(configMaps, labelled)), ['/namespace', '/object']);
    const unlabel = { type: 'merge', body: { metadata: { labels: null } } } as const;
    assert.deepEqual(await calls(client.patch(configMaps, { namespace, name: 'b' }, unlabel)), ['/object']);
    const made = { metadata: { name: `made-${namespace}`, labels: { team: 'c' } }, spec: {} };
    assert.deepEqual(await calls(client.create(namespaces, made)), ['/cluster']);
  });

  it('see other versions as the one they ask for, unless they ask for exactness', async () => {
    await using server = await startWebhookServer(allow);
    const namespace = await cluster.namespace();
    const rule = {
      operations: ['CREATE' as const],
      apiGroups: ['autoscaling'],
      apiVersions: ['v1'],
      resources: ['horizontalpodautoscalers'],
    };
    await using _ = await configure('validating', namespace, [
      { server, path: '/equivalent', rules: [rule], matchPolicy: 'Equivalent' },
      { server, path: '/exact', rules: [rule], matchPolicy: 'Exact' },
    ]);
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
    const target = { type: 'Utilization', averageUtilization: 40 };
    await client.create(horizontalPodAutoscalers, {
      metadata: { name: 'web', namespace },
      spec: { maxReplicas: 3, scaleTargetRef, metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }] },
    });
    assert.deepEqual(
      server.received.map(({ path }) => path),
      ['/equivalent?timeout=10s'],
    );
    const { request } = server.received[0]!.body;
    assert.deepEqual(
      [request.kind.version, request.requestKind.version, request.object.apiVersion],
      ['v1', 'v2', 'autoscaling/v1'],
    );
    assert.equal(request.object.spec.targetCPUUtilizationPercentage, 40);
  });

  it('are asked only where all match conditions hold, and judged by their policy where those fail', async () => {
    await using server = await startWebhookServer(allow);
    const namespace = await cluster.namespace();
    const conditions = (...expressions: readonly string[]) =>
      expressions.map((expression, index) => ({ name: `c${index}`, expression }));
    const fails = 'object.data.none == "x"';
    await using _ = await configure('validating', namespace, [
      { server, path: '/all', matchConditions: conditions('has(object.data.x)', 'request.operation == "CREATE"') },
      { server, path: '/one-false', matchConditions: conditions(fails, 'object.metadata.name == "other"') },
      { server, path: '/ignored', matchConditions: conditions(fails), failurePolicy: 'Ignore' },
      {
        server,
        path: '/authorizer',
        matchConditions: conditions(
          'authorizer.group("").resource("secrets").namespace("default").check("get").allowed()',
          'authorizer.requestResource.check("update").allowed()',
          'authorizer.path("/healthz").check("get").allowed()',
        ),
      },
      {
        server,
        path: '/fails',
        rules: [{ ...configMapRule, operations: ['UPDATE'] }],
        matchConditions: conditions('object.data.none == "x"', 'object.data.nil == "x"'),
      },
    ]);
    await client.create(configMaps, configMap(namespace, 'a', { x: '1' }));
    assert.deepEqual(server.received.map(({ path }) => path.replace(/\?.*/, '')).sort(), ['/all', '/authorizer']);
    const patch = { type: 'merge', body: { data: { x: '2' } } } as const;
    const refused = await refusal(client.patch(configMaps, { namespace, name: 'a' }, patch));
    assert.equal(refused.code, 403);
    assert.equal(
      refused.message,
      `configmaps "a" is forbidden: [expression 'object.data.none == "x"' resulted in error: no such key: none, expression 'object.data.nil == "x"' resulted in error: no such key: nil]`,
    );
  });

  it('are not held up by conditions that cost too much', async () => {
    await using server = await startWebhookServer(allow);
    const namespace = await cluster.namespace();
    const items = '[1,2,3,4,5,6,7,8,9,10]';
    const nested = 'abcdefghi'.split('').reduceRight((inner, name) => `${items}.all(${name}, ${inner})`, 'true');
    const matchConditions = [{ name: 'dear', expression: nested }];
    await using _ = await configure('validating', namespace, [{ server, matchConditions }]);
    const refused = await refusal(client.create(configMaps, configMap(namespace)));
    assert.match(refused.message, /resulted in error: operation cancelled: actual cost limit exceeded$/);
  });

  it('see a Scale where a workload is scaled', async () => {
    await using server = await startWebhookServer((body) =>
      review(body, { allowed: body.request.object.spec.replicas < 5, status: { message: 'too many' } }),
    );
    const namespace = await cluster.namespace();
    const rule = {
      operations: ['*' as const],
      apiGroups: ['apps'],
      apiVersions: ['v1'],
      resources: ['deployments/scale'],
    };
    await using _ = await configure('validating', namespace, [{ server, rules: [rule] }]);
    const labels = { app: 'web' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'c:1' }] } };
    const metadata = { name: 'web', namespace };
    await client.create(deployments, { metadata, spec: { replicas: 1, selector: { matchLabels: labels }, template } });
    const scale = (replicas: number, dryRun = false) =>
      client.patch(
        deployments,
        metadata,
        { type: 'merge', body: { spec: { replicas } } },
        { subresource: 'scale', dryRun },
      );
    await scale(2);
    const [{ body }] = server.received as [WebhookServer['received'][number]];
    const { request } = body;
    assert.deepEqual(
      [request.operation, request.subResource, request.kind, request.resource.resource],
      ['UPDATE', 'scale', { group: 'autoscaling', version: 'v1', kind: 'Scale' }, 'deployments'],
    );
    assert.deepEqual([request.object.spec, request.oldObject.spec], [{ replicas: 2 }, { replicas: 1 }]);
    assert.equal(request.object.status.selector, 'app=web');
    const refused = await refusal(scale(7));
    assert.match(refused.message, /denied the request: too many$/);
    assert.equal(server.received.length, 2);
  });

  it('are asked about connections', async () => {
    await using server = await startWebhookServer((body) =>
      review(body, { allowed: false, status: { message: 'no' } }),
    );
    const namespace = await cluster.namespace();
    const resources = ['pods/exec', 'services/proxy'];
    const rule = { operations: ['CONNECT' as const], apiGroups: [''], apiVersions: ['v1'], resources };
    await using _ = await configure('validating', namespace, [{ server, rules: [rule] }]);
    const query = new Map([...new URLSearchParams('command=ls&stdin=true&container=c')]);
    const path = `/api/v1/namespaces/${namespace}/pods/p/exec`;
    const refused = await refusal(client.raw({ method: 'POST', path, query }));
    assert.equal(refused.message, 'admission webhook "h0.example.com" denied the request: no');
    const proxied = `/api/v1/namespaces/${namespace}/services/http:web:80/proxy/a/b`;
    await refusal(client.raw({ method: 'GET', path: proxied }));
    const [exec, proxy] = server.received.map(({ body }) => body.request);
    assert.deepEqual(
      [exec.operation, exec.subResource, exec.name, exec.object, exec.options],
      [
        'CONNECT',
        'exec',
        'p',
        { kind: 'PodExecOptions', apiVersion: 'v1', stdin: true, container: 'c', command: ['ls'] },
        null,
      ],
    );
    assert.deepEqual(
      [proxy.name, proxy.object],
      ['http:web:80', { kind: 'ServiceProxyOptions', apiVersion: 'v1', path: '/a/b' }],
    );
  });

  it('are never asked about what configures them', async () => {
    await using server = await startWebhookServer((body) => review(body, { allowed: false }));
    const everything = { operations: ['*' as const], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] };
    const namespace = await cluster.namespace();
    const configuration = await configure('validating', namespace, [{ server, rules: [everything] }]);
    server.received.length = 0;
    await configuration[Symbol.asyncDispose]();
    assert.equal(server.received.filter(({ body }) => body.request.operation === 'DELETE').length, 0);
  });

  it('hear no name where a collection is deleted', async () => {
    await using server = await startWebhookServer(allow);
    const namespace = await cluster.namespace();
    const operations = ['DELETE'] as const;
    await using _ = await configure('validating', namespace, [{ server, rules: [{ ...configMapRule, operations }] }]);
    await client.create(configMaps, configMap(namespace));
    await client.deleteCollection(configMaps, { namespace });
    const asked = server.received.map(({ body }) => (body as Review).request);
    const named = asked.find(({ oldObject }) => oldObject.metadata.name === 'a');
    assert.equal('name' in named, false);
  });

  it('warn of each thing once, of nothing that has no words, and not at any length', async () => {
    const long = Array.from({ length: 20 }, (_, index) => `${index}${'y'.repeat(500)}`);
    const texts = ['first', '', 'a\nb', 'first', ...long];
    await using server = await startWebhookServer((body) => review(body, { allowed: true, warnings: texts }));
    const namespace = await cluster.namespace();
    await using _ = await configure('validating', namespace, [{ server }]);
    warnings.length = 0;
    await client.create(configMaps, configMap(namespace));
    assert.equal(warnings[0], 'first');
    assert.deepEqual(
      warnings.slice(1).map((text) => text.length),
      Array.from({ length: 16 }, () => 256),
    );
  });

  it('answer in the older version where they know no other', async () => {
    await using server = await startWebhookServer(({ apiVersion }) => ({
      apiVersion,
      kind: 'AdmissionReview',
      response: { allowed: apiVersion === 'admission.k8s.io/v1beta1' },
    }));
    const namespace = await cluster.namespace();
    const admissionReviewVersions = ['v2', 'v1beta1', 'v1'];
    await using _ = await configure('validating', namespace, [{ server, admissionReviewVersions }]);
    await client.create(configMaps, configMap(namespace));
    assert.equal(server.received.length, 1);
  });

  it('are asked in a dry run only if that leaves no traces', async () => {
    await using server = await startWebhookServer(allow);
    const namespace = await cluster.namespace();
    await using _ = await configure('validating', namespace, [{ server, sideEffects: 'NoneOnDryRun' }]);
    await client.create(configMaps, configMap(namespace), { dryRun: true });
    assert.equal(server.received[0]?.body.request.dryRun, true);
  });
});

describe('Mutating webhooks', () => {
  const set = (key: string, value: string) => ({ op: 'add', path: `/data/${key}`, value });

  it('may neither move a new object to another namespace nor give it a version', async () => {
    const answers: readonly (readonly object[])[] = [
      [{ op: 'replace', path: '/metadata/namespace', value: 'kube-system' }],
      [{ op: 'add', path: '/metadata/resourceVersion', value: '1' }],
      [{ op: 'add', path: '/metadata/resourceVersion', value: '1' }],
    ];
    let next = 0;
    await using server = await startWebhookServer((body, url) => patching(...answers[next++]!)(body, url));
    const namespace = await cluster.namespace();
    await using _ = await configure('mutating', namespace, [{ server }]);
    const moved = await refusal(client.create(configMaps, configMap(namespace, 'moved')));
    const message = 'the namespace of the provided object does not match the namespace sent on the request';
    assert.deepEqual([moved.code, moved.message], [400, message]);
    const aged = await refusal(client.create(configMaps, configMap(namespace, 'aged')));
    assert.deepEqual([aged.code, aged.message], [500, 'resourceVersion should not be set on objects to be created']);
    // Who only tries never comes to the store, which would mind.
    const tried = await client.create(configMaps, configMap(namespace, 'tried'), { dryRun: true });
    assert.equal(tried.metadata.name, 'tried');
    const there = await client.list(configMaps, { namespace: 'kube-system' });
    assert.ok(!there.items.some(({ metadata }) => metadata.name === 'moved'));
  });

  it("hear why their patch does not apply in upstream's words", async () => {
    const failures: readonly (readonly [operation: object, why: string | RegExp])[] = [
      [
        { op: 'remove', path: '/data/no' },
        "error in remove for path: '/data/no': Unable to remove nonexistent key: no: missing value",
      ],
      [{ op: 'replace', path: '', value: null }, 'replace operation value must be object or array: %!w(<nil>)'],
      [
        { op: 'replace', path: '', value: [] },
        /^couldn't get version\/kind; json parse error: json: cannot unmarshal array into Go value/,
      ],
    ];
    let next = 0;
    await using server = await startWebhookServer((body, url) => patching(failures[next++]![0])(body, url));
    const namespace = await cluster.namespace();
    await using _ = await configure('mutating', namespace, [{ server }]);
    for (const [, why] of failures) {
      const { code, message } = await refusal(client.create(configMaps, configMap(namespace, 'a', { x: '1' })));
      assert.equal(code, 500);
      const told = message.replace('Internal error occurred: ', '');
      if (typeof why === 'string') assert.equal(told, why);
      else assert.match(told, why);
    }
  });

  it('change the object one after another, by name', async () => {
    await using first = await startWebhookServer(patching(set('order', 'first'), set('first', 'was here')));
    await using second = await startWebhookServer((body, request) =>
      patching(set('order', `${body.request.object.data.order}, second`))(body, request),
    );
    const namespace = await cluster.namespace();
    await using _ = await configure('mutating', namespace, [{ server: first }]);
    await using __ = await configure('mutating', namespace, [{ server: second }]);
    const made = await client.create(configMaps, configMap(namespace, 'a', { x: '1' }));
    assert.deepEqual(made.data, { x: '1', order: 'first, second', first: 'was here' });
    const owned = JSON.stringify(made.metadata.managedFields);
    assert.ok(owned.includes('f:x') && !owned.includes('f:order'));
  });

  it('leave objects that are defaulted and validated like any other', async () => {
    const container = { name: 'side', image: 'side:1' };
    await using server = await startWebhookServer(
      patching({ op: 'add', path: '/spec/containers/-', value: container }),
    );
    const namespace = await cluster.namespace();
    const rule = { operations: ['CREATE' as const], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
    await using _ = await configure('mutating', namespace, [{ server, rules: [rule] }]);
    const pod = { metadata: { name: 'p', namespace }, spec: { containers: [{ name: 'c', image: 'c' }] } };
    await client.create(serviceAccounts, { metadata: { name: 'default', namespace } });
    const made = await client.create(pods, pod);
    assert.deepEqual(
      made.spec.containers.map(({ name, imagePullPolicy, terminationMessagePath }) => [
        name,
        imagePullPolicy,
        terminationMessagePath,
      ]),
      [
        ['c', 'Always', '/dev/termination-log'],
        ['side', 'IfNotPresent', '/dev/termination-log'],
      ],
    );
    const invalid = await refusal(
      client.create(pods, { ...pod, metadata: { name: 'q', namespace }, spec: { containers: [container] } }),
    );
    assert.match(invalid.message, /^Pod "q" is invalid: spec\.containers\[1\]\.name: Duplicate value: "side"$/);
  });

  it('see what is always there, and may patch what is in it', async () => {
    const path = '/spec/template/spec/containers/0/resources/limits';
    await using server = await startWebhookServer(patching({ op: 'add', path, value: { cpu: '1' } }));
    const namespace = await cluster.namespace();
    const rules = [
      { operations: ['CREATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'] },
    ] as const;
    await using _ = await configure('mutating', namespace, [{ server, rules }]);
    const labels = { app: 'web' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web' }] } };
    const spec = { selector: { matchLabels: labels }, template };
    const made = await client.create(deployments, { metadata: { name: 'web', namespace }, spec });
    assert.deepEqual(made.spec!.template.spec!.containers[0]!.resources, { limits: { cpu: '1' } });
  });

  it('run again when another changed the object after them', async () => {
    const seen: string[] = [];
    const watching = (name: string, ...patch: readonly object[]): Answer => {
      return (body, request) => {
        seen.push(`${name} ${Object.keys(body.request.object.data ?? {}).sort()}`);
        return patching(...patch)(body, request);
      };
    };
    await using again = await startWebhookServer(watching('again', set('a', '1')));
    await using never = await startWebhookServer(watching('never', set('b', '1')));
    await using last = await startWebhookServer(watching('last', set('c', '1')));
    const namespace = await cluster.namespace();
    await using _ = await configure('mutating', namespace, [
      { server: again, reinvocationPolicy: 'IfNeeded' },
      { server: never },
      { server: last, reinvocationPolicy: 'IfNeeded' },
    ]);
    await client.create(configMaps, configMap(namespace, 'a', { x: '1' }));
    assert.deepEqual(seen, ['again x', 'never a,x', 'last a,b,x', 'again a,b,c,x']);
  });

  it('cannot make owners of fields that nobody can read', async () => {
    await using server = await startWebhookServer(
      patching({ op: 'replace', path: '/metadata/managedFields', value: [{ manager: 'x', operation: 'Steal' }] }),
    );
    const namespace = await cluster.namespace();
    await using _ = await configure('mutating', namespace, [{ server }]);
    warnings.length = 0;
    const made = await client.create(configMaps, configMap(namespace, 'a', { x: '1' }));
    assert.equal(made.metadata.managedFields?.[0]?.operation, 'Update');
    assert.deepEqual(warnings, [
      '.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: operation must be `Apply` or `Update`',
    ]);
  });

  it('cannot change what is deleted', async () => {
    await using server = await startWebhookServer((body, request) =>
      (body.request.operation === 'DELETE' ? patching(set('a', '1')) : allow)(body, request),
    );
    const namespace = await cluster.namespace();
    await using _ = await configure('mutating', namespace, [{ server }]);
    await client.create(configMaps, configMap(namespace));
    const refused = await refusal(client.delete(configMaps, { namespace, name: 'a' }));
    assert.equal(
      refused.message,
      'Internal error occurred: admission webhook "h0.example.com" attempted to modify the object, which is not supported for this operation',
    );
  });

  it('that would leave traces forbid a dry run', async () => {
    // Such webhooks can no longer be configured; what they are told is seen by the one that says so.
    await using server = await startWebhookServer(allow);
    const namespace = await cluster.namespace();
    const refused = await refusal(configure('mutating', namespace, [{ server, sideEffects: 'Some' }]));
    assert.match(refused.message, /sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"$/);
  });
});

describe('A webhook that fails', () => {
  const broken: readonly {
    readonly name: string;
    readonly answer?: Answer;
    readonly options?: WebhookServerOptions;
    readonly message: RegExp;
  }[] = [
    {
      name: 'with an error',
      options: { listener: (_request, response) => void response.writeHead(500).end('sorry') },
      message: /failed to call webhook: an error on the server \("sorry"\) has prevented the request from succeeding$/,
    },
    {
      name: 'by hanging up',
      options: { listener: (request) => void request.socket.destroy() },
      message: /failed to call webhook: Post "https:\/\/127\.0\.0\.1:\d+\/\?timeout=10s": EOF$/,
    },
    {
      name: 'with garbage',
      options: { listener: (_request, response) => void response.end('garbage') },
      message: /failed to call webhook: couldn't get version\/kind; json parse error: invalid character 'g' looking/,
    },
    {
      name: 'by answering another question',
      answer: (body) => review({ ...body, request: { uid: 'other' } }, { allowed: true }),
      message: /received invalid webhook response: expected response\.uid="[-0-9a-f]{36}", got "other"$/,
    },
    {
      name: 'by answering nothing',
      answer: ({ apiVersion }) => ({ apiVersion, kind: 'AdmissionReview' }),
      message: /received invalid webhook response: webhook response was absent$/,
    },
    {
      name: 'by not saying what it answers',
      answer: ({ request }) => ({ response: { uid: request.uid, allowed: true } }),
      message: /expected webhook response of admission\.k8s\.io\/v1, Kind=AdmissionReview, got \/, Kind=$/,
    },
    {
      name: 'by answering in another version',
      answer: (body) => review({ ...body, apiVersion: 'admission.k8s.io/v1beta1' }, { allowed: true }),
      message: /converting \(v1beta1\.AdmissionReview\) to \(v1\.AdmissionReview\): unknown conversion$/,
    },
    {
      name: 'by answering with the wrong types',
      answer: (body) => review(body, { allowed: 'yes' }),
      message: /json: cannot unmarshal string into Go struct field AdmissionResponse\.response\.allowed of type bool$/,
    },
    {
      name: 'by patching what it may only judge',
      answer: patching({ op: 'add', path: '/data', value: {} }),
      message: /received invalid webhook response: validating webhook may not return response\.patch$/,
    },
  ];
  for (const { name, answer = allow, options = {}, message } of broken) {
    it(`${name} stops the request, or is passed over, as its policy says`, async () => {
      await using server = await startWebhookServer(answer, options);
      const namespace = await cluster.namespace();
      const rules = (...operations: ('CREATE' | 'DELETE')[]) => [{ ...configMapRule, operations }];
      await using _ = await configure('validating', namespace, [
        { server, rules: rules('CREATE'), failurePolicy: 'Ignore' },
        { server, rules: rules('DELETE'), failurePolicy: 'Fail' },
      ]);
      await client.create(configMaps, configMap(namespace));
      const failed = await refusal(client.delete(configMaps, { namespace, name: 'a' }));
      assert.deepEqual([failed.code, failed.reason], [500, 'InternalError']);
      assert.ok(failed.message.startsWith('Internal error occurred: failed calling webhook "h1.example.com": '));
      assert.match(failed.message, message);
    });
  }

  it('by never answering is given up after its time', async () => {
    await using server = await startWebhookServer(() => new Promise(() => {}));
    const namespace = await cluster.namespace();
    await using _ = await configure('validating', namespace, [{ server, timeoutSeconds: 1 }]);
    const late = await refusal(client.create(configMaps, configMap(namespace)));
    assert.match(late.message, /failed to call webhook: Post ".*\?timeout=1s": context deadline exceeded$/);
  });

  it('with a patch that does not apply stops the request', async () => {
    await using server = await startWebhookServer(patching({ op: 'remove', path: '/data/none' }));
    const namespace = await cluster.namespace();
    await using _ = await configure('mutating', namespace, [{ server, failurePolicy: 'Ignore' }]);
    const failed = await refusal(client.create(configMaps, configMap(namespace)));
    assert.deepEqual([failed.code, failed.reason], [500, 'InternalError']);
  });

  it('by calling the server for each call is stopped by its own time', async () => {
    let depth = 0;
    await using server = await startWebhookServer(async (body) => {
      const { namespace } = body.request;
      await client.create(configMaps, configMap(namespace, `deeper-${++depth}`)).catch(() => {});
      return review(body, { allowed: true });
    });
    const namespace = await cluster.namespace();
    await using _ = await configure('validating', namespace, [{ server, timeoutSeconds: 1 }]);
    const failed = await refusal(client.create(configMaps, configMap(namespace)));
    assert.match(failed.message, /context deadline exceeded$/);
    assert.ok(depth > 1);
    assert.deepEqual((await client.list(configMaps, { namespace })).items, []);
  });
});
