/** Aggregated API servers as clients and operators meet them: real HTTPS servers in this process, behind a whole control plane. */
import assert from 'node:assert/strict';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { after, before, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { customResourceDefinitions } from '../../src/api/gen/apiextensions-v1.ts';
import { type APIService, type APIServiceSpec, apiServices } from '../../src/api/gen/apiregistration-v1.ts';
import { configMaps, namespaces, services } from '../../src/api/gen/core-v1.ts';
import { findCondition } from '../../src/apimachinery/conditions.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import type { ResourceType } from '../../src/apimachinery/resource.ts';
import {
  type AggregatedServer,
  type AggregatedServerOptions,
  type Fortune,
  startAggregatedServer,
} from '../../src/apiserver/aggregation/aggregated-server.fixture.ts';
import { splitLines } from '../../src/client/json-lines.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { startCluster, when } from '../conformance/cluster.ts';

const cluster = await startCluster({ controllers: [], scheduler: false });
const { client } = cluster;
let proxyAuthority = '';
let groups = 0;

before(async () => {
  const name = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
  const trust = await when(client, configMaps, name, (found) => found?.data !== undefined);
  proxyAuthority = trust?.data?.['requestheader-client-ca-file'] ?? '';
  await client.create(namespaces, { metadata: { name: 'apis' }, spec: {} });
});

interface Aggregated extends AsyncDisposable {
  readonly group: string;
  readonly server: AggregatedServer;
  readonly fortunes: ResourceType<Fortune & KubeObject>;
  /** `/apis/GROUP/v1` */
  readonly root: string;
  readonly name: string;
}

/** A server behind a Service of its own, registered and waited for. */
async function aggregate(
  options: Partial<AggregatedServerOptions> & {
    readonly spec?: Partial<APIServiceSpec>;
    readonly reason?: string;
  } = {},
): Promise<Aggregated> {
  const group = `g${++groups}.example.com`;
  const service = `fortunes-${groups}`;
  const { spec, reason = 'Passed', ...rest } = options;
  const server = await startAggregatedServer({ group, proxyAuthority, dnsName: `${service}.apis.svc`, ...rest });
  await client.create(services, {
    metadata: { name: service, namespace: 'apis' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  });
  const name = `v1.${group}`;
  await client.create(apiServices, {
    metadata: { name },
    spec: {
      group,
      version: 'v1',
      service: { namespace: 'apis', name: service, port: server.port },
      caBundle: server.caBundle,
      groupPriorityMinimum: 2000,
      versionPriority: 20,
      ...spec,
    },
  });
  await becomes(name, reason);
  const fortunes = {
    group,
    version: 'v1',
    resource: 'fortunes',
    kind: 'Fortune',
    singular: 'fortune',
    namespaced: true,
    shortNames: [],
    categories: [],
    verbs: [],
    subresources: [],
  } as unknown as ResourceType<Fortune & KubeObject>;
  return {
    group,
    server,
    fortunes,
    root: `/apis/${group}/v1`,
    name,
    async [Symbol.asyncDispose]() {
      await client.delete(apiServices, { name });
      await client.delete(services, { name: service, namespace: 'apis' });
      await server[Symbol.asyncDispose]();
    },
  };
}

const availability = (service: APIService | undefined) => findCondition(service?.status?.conditions, 'Available');

async function becomes(name: string, reason: string) {
  const service = await when(client, apiServices, { name }, (found) => availability(found)?.reason === reason);
  return availability(service);
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

const tls = () => {
  const { ca, cert, key } = cluster.connection.tls ?? {};
  return { ca, cert, key };
};

function opened(path: string, options: RequestOptions = {}, body?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(`${cluster.url}${path}`, { ...tls(), agent: false, ...options }, resolve);
    request.on('error', reject).end(body);
  });
}

async function ask(path: string, options: RequestOptions = {}, body?: string): Promise<Answer> {
  const response = await opened(path, options, body);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const { statusCode: status = 0, headers, rawHeaders } = response;
  return { status, headers, rawHeaders, body: Buffer.concat(chunks).toString() };
}

const fortune = (name: string, text = 'beware') => ({
  apiVersion: '',
  kind: 'Fortune' as const,
  metadata: { name, namespace: 'apis' },
  spec: { text },
});

describe('APIServices of the server itself', () => {
  it('are there for every group version, with upstream ranks and labels', async () => {
    const apps = await when(client, apiServices, { name: 'v1.apps' }, (found) => found !== undefined);
    assert.deepEqual(apps?.metadata.labels, { 'kube-aggregator.kubernetes.io/automanaged': 'onstart' });
    assert.deepEqual(apps?.spec, { group: 'apps', version: 'v1', groupPriorityMinimum: 17800, versionPriority: 15 });
    const { status, reason, message } = availability(apps)!;
    assert.deepEqual([status, reason, message], ['True', 'Local', 'Local APIServices are always available']);
    const core = await when(client, apiServices, { name: 'v1.' }, (found) => found !== undefined);
    assert.deepEqual(core?.spec, { version: 'v1', groupPriorityMinimum: 18000, versionPriority: 1 });
  });

  it('come and go with custom resources, come back when they are deleted, and are left alone without the label', async () => {
    const group = 'custom.example.com';
    const schema = { openAPIV3Schema: { type: 'object' } };
    const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
    const definition = { name: `widgets.${group}` };
    const name = `v1.${group}`;
    await client.create(customResourceDefinitions, {
      metadata: definition,
      spec: { group, names, scope: 'Namespaced', versions: [{ name: 'v1', served: true, storage: true, schema }] },
    });
    const first = await when(client, apiServices, { name }, (found) => found !== undefined);
    assert.equal(first?.metadata.labels?.['kube-aggregator.kubernetes.io/automanaged'], 'true');
    assert.deepEqual([first?.spec.groupPriorityMinimum, first?.spec.versionPriority], [1000, 100]);
    await client.delete(apiServices, { name });
    const again = await when(
      client,
      apiServices,
      { name },
      (found) => (found && found.metadata.uid !== first?.metadata.uid) || false,
    );
    const own = await client.update(apiServices, { ...again!, metadata: { ...again!.metadata, labels: {} } });
    await client.update(apiServices, { ...own, spec: { ...own.spec, versionPriority: 7 } });
    await client.delete(customResourceDefinitions, definition);
    // What is made after it is seen after it: by then the other would have been deleted.
    await client.create(customResourceDefinitions, {
      metadata: { name: 'widgets.other.example.com' },
      spec: {
        group: 'other.example.com',
        names,
        scope: 'Namespaced',
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    });
    await when(client, apiServices, { name: 'v1.other.example.com' }, (found) => found !== undefined);
    assert.equal((await client.get(apiServices, { name })).spec.versionPriority, 7);
    await client.delete(customResourceDefinitions, { name: 'widgets.other.example.com' });
    await when(client, apiServices, { name: 'v1.other.example.com' }, (found) => found === undefined);
  });
});

describe('a request for an aggregated API', () => {
  let api: Aggregated;
  before(async () => {
    api = await aggregate();
  });
  after(() => api[Symbol.asyncDispose]());

  it('is answered by the server behind the Service', async () => {
    await client.create(api.fortunes, fortune('one'));
    assert.equal((await client.get(api.fortunes, { namespace: 'apis', name: 'one' })).spec.text, 'beware');
    await assert.rejects(
      client.get(api.fortunes, { namespace: 'apis', name: 'none' }),
      /fortunes "apis\/none" not found/,
    );
  });

  it('tells who asks, and believes no client who says so himself', async () => {
    api.server.seen.length = 0;
    const headers = {
      'x-remote-user': 'root',
      'x-remote-group': 'system:masters',
      'x-remote-extra-evil': 'yes',
      'impersonate-user': 'jané',
      'impersonate-group': 'readers',
      'impersonate-extra-acme.com%2fScopes': 'view',
      'audit-id': 'the-audit-id',
      'x-other': 'kept',
    };
    await ask(`${api.root}/namespaces/apis/fortunes`, { headers });
    assert.equal(api.server.seen.length, 0, 'impersonated users have no rights here');
    await ask(`${api.root}/namespaces/apis/fortunes`, {
      headers: { ...headers, 'impersonate-group': 'system:masters' },
    });
    const [seen] = api.server.seen;
    assert.equal(seen?.commonName, 'front-proxy-client');
    assert.equal(Buffer.from(String(seen?.headers['x-remote-user']), 'latin1').toString(), 'jané');
    assert.equal(seen?.headers['x-remote-group'], 'system:masters, system:authenticated');
    assert.equal(seen?.headers['x-remote-extra-acme.com%2fscopes'], 'view');
    assert.equal(seen?.headers['x-remote-extra-evil'], undefined);
    assert.equal(seen?.headers['impersonate-user'], undefined);
    assert.equal(seen?.headers['audit-id'], 'the-audit-id');
    assert.equal(seen?.headers['x-other'], 'kept');
    assert.ok(seen);
    const { host } = seen.headers;
    const { 'x-forwarded-uri': uri, 'x-forwarded-host': forwardedHost, 'x-forwarded-proto': scheme } = seen.headers;
    assert.deepEqual([uri, forwardedHost, scheme], [`${api.root}/namespaces/apis/fortunes`, host, 'https']);
  });

  it('keeps its query as it was written, and lists of headers as lists', async () => {
    api.server.seen.length = 0;
    await ask(`${api.root}/namespaces/apis/fortunes?b=1&a=%2F&b=2&c`);
    assert.equal(api.server.seen.at(-1)?.url, `${api.root}/namespaces/apis/fortunes?b=1&a=%2F&b=2&c`);
    const body = JSON.stringify(fortune('two'));
    const made = await ask(`${api.root}/namespaces/apis/fortunes`, { method: 'POST' }, body);
    assert.equal(made.status, 201);
    const warnings = made.rawHeaders.filter((_, i) => made.rawHeaders[i - 1]?.toLowerCase() === 'warning');
    assert.deepEqual(warnings, ['299 - "first"', '299 - "second"']);
  });

  it('may be a watch, whose events come as they happen', async () => {
    const watch = await opened(`${api.root}/namespaces/apis/fortunes?watch=1`);
    const events = splitLines(watch);
    for (const name of ['first', 'second']) {
      await client.create(api.fortunes, fortune(name));
      const { type, object } = (await events.next()).value as { type: string; object: Fortune };
      assert.deepEqual([type, object.metadata.name], ['ADDED', name]);
    }
    watch.destroy();
  });

  it('may be upgraded to a WebSocket, and to anything else', async () => {
    const path = `${api.root}/namespaces/apis/fortunes/one/echo`;
    const socket = new WebSocket(`${cluster.url.replace('https', 'wss')}${path}`, tls());
    const answer = await new Promise((resolve, reject) => {
      socket
        .on('open', () => socket.send('hello'))
        .on('error', reject)
        .on('message', (data) => resolve(String(data)));
    });
    socket.terminate();
    assert.equal(answer, 'echo hello');
    const raw = await new Promise<string>((resolve, reject) => {
      const headers = { connection: 'Upgrade', upgrade: 'SPDY/3.1' };
      const request = httpsRequest(`${cluster.url}${path}`, { ...tls(), agent: false, method: 'POST', headers });
      request.on('error', reject).on('upgrade', (_response, stream) => {
        stream.on('data', (data) => {
          stream.destroy();
          resolve(String(data));
        });
        stream.write('ping');
      });
      request.end();
    });
    assert.equal(raw, 'ping');
  });

  it('has the links of its pages lead to the server behind, as upstream does', async () => {
    api.server.mood = 'friendly';
    const { headers, body } = await ask(`${api.root}/namespaces/apis/fortunes`);
    api.server.mood = 'well';
    assert.equal(headers['access-control-allow-origin'], undefined);
    assert.equal(body, `<a href="https://${api.server.seen.at(-1)?.headers.host}/welcome">come in</a>`);
  });

  it('does not lead elsewhere', async () => {
    api.server.mood = 'redirecting';
    const { status, headers, body } = await ask(`${api.root}/namespaces/apis/fortunes`);
    api.server.mood = 'well';
    assert.equal(status, 502);
    assert.equal(headers.location, undefined);
    assert.equal(body, 'the backend attempted to redirect this request, which is not permitted');
  });

  it('is refused here to who may not', async () => {
    api.server.seen.length = 0;
    const { status } = await ask(`${api.root}/namespaces/apis/fortunes`, { headers: { 'impersonate-user': 'nobody' } });
    assert.equal(status, 403);
    assert.equal(api.server.seen.length, 0);
  });

  it('does not come by again', async () => {
    const headers = { 'x-coracle-aggregated-by': api.name };
    const { status, body } = await ask(`${api.root}/namespaces/apis/fortunes`, { headers });
    assert.equal(status, 508);
    assert.match(body, /leads back to this server/);
  });
});

describe('discovery of an aggregated API', () => {
  const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const discovered = async (group: string) => {
    const { body } = await ask('/apis', { headers: { accept: aggregatedType } });
    const { items } = JSON.parse(body) as {
      items: { metadata: { name: string }; versions: Record<string, unknown>[] }[];
    };
    return items.find(({ metadata }) => metadata.name === group)?.versions[0];
  };
  const fresh = (group: string, freshness: string) =>
    eventually(async () => {
      const version = await discovered(group);
      return version?.freshness === freshness && version;
    });

  for (const aggregatedDiscovery of [true, false]) {
    it(`is part of this server's, ${aggregatedDiscovery ? 'taken from its own' : 'made of its plain documents'}`, async () => {
      await using api = await aggregate({ aggregatedDiscovery });
      const { group } = api;
      const version = await fresh(group, 'Current');
      const [resource] = version.resources as {
        resource: string;
        scope: string;
        subresources: { subresource: string }[];
      }[];
      assert.deepEqual([resource?.resource, resource?.scope], ['fortunes', 'Namespaced']);
      assert.equal(resource?.subresources[0]?.subresource, 'echo');
      const { body } = await ask('/apis');
      const names = (JSON.parse(body) as { groups: { name: string }[] }).groups.map(({ name }) => name);
      assert.ok(names.indexOf(group) > names.indexOf('storage.k8s.io'), 'after what has a higher priority');
      const single = JSON.parse((await ask(`/apis/${group}`)).body);
      assert.deepEqual(single.preferredVersion, { groupVersion: `${group}/v1`, version: 'v1' });
      assert.equal(JSON.parse((await ask(api.root)).body).resources[0].name, 'fortunes');
    });
  }

  it('is stale while its server is away, and gone with its APIService', async () => {
    const api = await aggregate();
    await fresh(api.group, 'Current');
    await client.patch(apiServices, { name: api.name }, { type: 'merge', body: { spec: { service: { port: 1 } } } });
    const condition = await becomes(api.name, 'FailedDiscoveryCheck');
    assert.match(
      condition?.message ?? '',
      /^failing or missing response from https:\/\/localhost:1\/apis\/.*: Get "https:.*": dial tcp .*:1: connect: connection refused$/,
    );
    const stale = await fresh(api.group, 'Stale');
    assert.equal((stale.resources as unknown[]).length, 1);
    const { status, body } = await ask(`${api.root}/namespaces/apis/fortunes`);
    assert.deepEqual([status, body], [503, 'service unavailable\n']);
    await api[Symbol.asyncDispose]();
    while (await discovered(api.group)) await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('an aggregated API that cannot be used', () => {
  it('says why', async () => {
    const wrong: readonly [object, string, RegExp][] = [
      [
        { service: { namespace: 'apis', name: 'none', port: 443 } },
        'ServiceNotFound',
        /^service\/none in "apis" is not present$/,
      ],
      [
        { service: { namespace: 'apis', name: 'empty', port: 444 } },
        'ServicePortError',
        /^service\/empty in "apis" is not listening on port 444$/,
      ],
      [
        { service: { namespace: 'apis', name: 'empty', port: 443 } },
        'EndpointsNotFound',
        /^cannot find endpointslices for service\/empty in "apis"$/,
      ],
    ];
    await client.create(services, { metadata: { name: 'empty', namespace: 'apis' }, spec: { ports: [{ port: 443 }] } });
    for (const [spec, reason, message] of wrong) {
      await using api = await aggregate({ spec, reason });
      assert.match(availability(await client.get(apiServices, { name: api.name }))?.message ?? '', message);
    }
  });

  it('is not trusted with a certificate of another authority, or for another name', async () => {
    await using other = await startAggregatedServer({ group: 'x', proxyAuthority });
    for (const [options, words] of [
      [{ spec: { caBundle: other.caBundle } }, /certificate signed by unknown authority/],
      [{ dnsName: 'someone.else.svc' }, /certificate is valid for someone\.else\.svc, not fortunes/],
    ] as const) {
      await using api = await aggregate({ ...options, reason: 'FailedDiscoveryCheck' });
      assert.match(availability(await client.get(apiServices, { name: api.name }))?.message ?? '', words);
    }
    await using api = await aggregate({
      dnsName: 'someone.else.svc',
      spec: { caBundle: undefined, insecureSkipTLSVerify: true },
    });
    assert.equal((await ask(`${api.root}/namespaces/apis/fortunes`)).status, 200);
  });

  it('hurts nobody else: broken in a watch, silent, mad', async () => {
    await using broken = await aggregate();
    const watch = await opened(`${broken.root}/namespaces/apis/fortunes?watch=1`);
    const ended = new Promise((resolve) => watch.on('error', resolve).on('close', resolve).resume());
    broken.server.breakConnections();
    await ended;
    broken.server.mood = 'mad';
    assert.equal((await ask(`${broken.root}/namespaces/apis/fortunes`)).body, '{"mad');
    await assert.rejects(client.list(broken.fortunes, { namespace: 'apis' }));
    broken.server.mood = 'silent';
    const waiting = opened(`${broken.root}/namespaces/apis/fortunes`).catch(() => undefined);
    assert.equal((await ask('/api/v1/namespaces/apis')).status, 200);
    assert.equal((await ask('/apis')).status, 200);
    // A request is sent once more when a kept connection turns out to be broken.
    let answer: IncomingMessage | undefined;
    void waiting.then((response) => {
      answer = response;
    });
    while (!answer) {
      broken.server.breakConnections();
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(answer.statusCode, 503);
    broken.server.mood = 'well';
  });
});
