/** Selectable fields of a custom resource whose two versions a webhook converts: lists and watches by the fields of either. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import { startWebhookServer } from '../../src/apiserver/webhook-client/webhook-server.fixture.ts';
import { follow, startCluster } from './cluster.ts';
import { type CustomObject, define, undefine } from './definitions.ts';

const { client, namespace: makeNamespace } = await startCluster({ scheduler: false });

interface Ported extends KubeObject {
  readonly hostPort?: string;
  readonly host?: string;
  readonly port?: string;
}

/** As upstream's test webhook: `hostPort` of v1 is `host` and `port` of v2. */
function converted({ hostPort, host, port, ...object }: Ported, apiVersion: string): Ported {
  if (apiVersion.endsWith('/v1')) return { ...object, apiVersion, hostPort: port ? `${host}:${port}` : (host ?? '') };
  const [first = '', second] = (hostPort ?? '').split(':');
  return { ...object, apiVersion, host: first, ...(second === undefined ? {} : { port: second }) };
}

const webhook = await startWebhookServer(({ apiVersion, kind, request }) => ({
  apiVersion,
  kind,
  response: {
    uid: request.uid,
    result: { status: 'Success' },
    convertedObjects: request.objects.map((object: Ported) => converted(object, request.desiredAPIVersion)),
  },
}));
after(() => webhook[Symbol.asyncDispose]());

test('[sig-api-machinery] CustomResourceFieldSelectors [Privileged:ClusterAdmin] CustomResourceFieldSelectors MUST list and watch custom resources matching the field selector [Conformance]', async () => {
  const namespace = await makeNamespace();
  const text = { type: 'string' };
  const versions = [
    {
      name: 'v1',
      schema: { openAPIV3Schema: { type: 'object', properties: { hostPort: text } } },
      selectableFields: [{ jsonPath: '.hostPort' }],
    },
    {
      name: 'v2',
      schema: { openAPIV3Schema: { type: 'object', properties: { host: text, port: text } } },
      selectableFields: [{ jsonPath: '.host' }, { jsonPath: '.port' }],
    },
  ];
  const clientConfig = { url: `${webhook.url}/crdconvert`, caBundle: webhook.caBundle };
  const conversion = {
    strategy: 'Webhook',
    webhook: { clientConfig, conversionReviewVersions: ['v1', 'v1beta1'] },
  };
  const defined = await define(client, { namespaced: true, versions, conversion });
  const [v1, v2] = [defined.type('v1'), defined.type('v2')];
  using byHost = await follow(client, v2, { namespace, fieldSelector: 'host=host1' });
  using byHostAndPort = await follow(client, v2, { namespace, fieldSelector: 'host=host1,port=80' });
  using byHostPort = await follow(client, v1, { namespace, fieldSelector: 'hostPort=host1:80' });

  const [a, b, c] = ['cr-a', 'cr-b', 'cr-c'];
  const fields = {
    [a!]: { host: 'host1', port: '80' },
    [b!]: { host: 'host1', port: '8080' },
    [c!]: { host: 'host2' },
  };
  for (const [name, own] of Object.entries(fields)) await client.create(v2, { metadata: { namespace, name }, ...own });

  const names = async (type: typeof v1, fieldSelector: string) =>
    (await client.list(type, { namespace, fieldSelector })).items.map(({ metadata }) => metadata.name);
  assert.deepEqual(await names(v2, 'host=host1'), [a, b]);
  assert.deepEqual(await names(v2, 'host=host1,port=80'), [a]);
  assert.deepEqual(await names(v1, 'hostPort=host1:80'), [a]);
  assert.deepEqual(await names(v1, 'hostPort=host1:8080'), [b]);
  assert.deepEqual((await client.get(v1, { namespace, name: c! })).hostPort, 'host2');

  const told = async (events: Awaited<ReturnType<typeof follow<CustomObject>>>, count: number) => {
    const found: string[] = [];
    while (found.length < count) {
      const { type, object } = await events.next();
      found.push(`${type} ${object.metadata.name}`);
    }
    return found;
  };
  assert.deepEqual(await told(byHost, 2), [`ADDED ${a}`, `ADDED ${b}`]);
  assert.deepEqual(await told(byHostAndPort, 1), [`ADDED ${a}`]);
  assert.deepEqual(await told(byHostPort, 1), [`ADDED ${a}`]);

  await client.delete(v2, { namespace, name: a! });
  await client.patch(v2, { namespace, name: b! }, { type: 'merge', body: { host: 'host2' } });
  await client.patch(v2, { namespace, name: c! }, { type: 'merge', body: { host: 'host1', port: '80' } });
  assert.deepEqual(await told(byHost, 3), [`DELETED ${a}`, `DELETED ${b}`, `ADDED ${c}`]);
  assert.deepEqual(await told(byHostAndPort, 2), [`DELETED ${a}`, `ADDED ${c}`]);
  assert.deepEqual(await told(byHostPort, 2), [`DELETED ${a}`, `ADDED ${c}`]);
  await undefine(client, defined);
});
