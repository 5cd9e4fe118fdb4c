/** Watches as a page in a browser keeps them: over a WebSocket, with a token among the sub-protocols. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { type ClientOptions, type RawData, WebSocket } from 'ws';
import { customResourceDefinitions } from '../../src/api/gen/apiextensions-v1.ts';
import { configMaps, serviceAccounts } from '../../src/api/gen/core-v1.ts';
import { clusterRoleBindings } from '../../src/api/gen/rbac-v1.ts';
import { customResource } from '../../src/apimachinery/resource.ts';
import type { Client } from '../../src/client/index.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { type OpenCluster, openCluster } from './cluster.ts';
import { openHttp1 } from './wire.ts';

describe('a watch over a WebSocket', () => {
  let cluster: OpenCluster;
  let client: Client;
  before(async () => {
    cluster = await openCluster();
    client = cluster.controlPlane.client({ name: 'admin', groups: ['system:masters'] });
    await client.create(configMaps, { metadata: { name: 'first', namespace: 'default' }, data: { a: 'b' } });
  });
  after(() => cluster?.close());

  const path = '/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name%3Dfirst';
  const open = (protocols: string[], options: ClientOptions = {}, where = path) => {
    const { ca, cert, key } = cluster.admin;
    const url = `${cluster.url.replace('https', 'wss')}${where}`;
    return new WebSocket(url, protocols, { ca, cert, key, origin: 'https://page.example.com', ...options });
  };
  const refusal = async (socket: WebSocket): Promise<number> => {
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    response.resume();
    socket.on('error', () => {}).terminate();
    return response.statusCode ?? 0;
  };
  const message = async (socket: WebSocket) => {
    const [data, binary] = (await once(socket, 'message')) as [RawData, boolean];
    return { bytes: data as Buffer, binary };
  };

  it('tells each event in a text of its own', async () => {
    const socket = open([]);
    const { bytes, binary } = await message(socket);
    assert.equal(binary, false);
    const { type, object } = JSON.parse(String(bytes));
    assert.deepEqual([type, object.kind, object.metadata.name], ['ADDED', 'ConfigMap', 'first']);
    const next = message(socket);
    const stored = await client.get(configMaps, { namespace: 'default', name: 'first' });
    await client.update(configMaps, { ...stored, data: { a: 'c' } });
    assert.equal(JSON.parse(String((await next).bytes)).type, 'MODIFIED');
    socket.close();
    await once(socket, 'close');
  });

  it('tells protobuf in binary, without lengths between', async () => {
    const socket = open([], { headers: { accept: 'application/vnd.kubernetes.protobuf;stream=watch' } });
    const { bytes, binary } = await message(socket);
    assert.equal(binary, true);
    assert.ok(bytes.includes('ADDED') && bytes.includes('k8s\0'));
    // The first field of an event is its type, a text of five letters.
    assert.deepEqual([...bytes.subarray(0, 2)], [0x0a, 5]);
    socket.terminate();
  });

  it('ends when its time is up', async () => {
    const socket = open([], {}, `${path}&timeoutSeconds=1`);
    const [code] = await once(socket, 'close');
    assert.equal(code, 1000);
  });

  it('tells custom resources too, as tables and bookmarks where they are asked for', async () => {
    const group = 'pages.example.com';
    const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
    const schema = { openAPIV3Schema: { type: 'object' } };
    await client.create(customResourceDefinitions, {
      metadata: { name: `widgets.${group}` },
      spec: { group, names, scope: 'Cluster', versions: [{ name: 'v1', served: true, storage: true, schema }] },
    });
    const widgets = customResource(
      { group, version: 'v1', kind: 'Widget' },
      { resource: 'widgets', namespaced: false },
    );
    await eventually(() => client.create(widgets, { metadata: { name: 'one' } }));
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const state = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const socket = open([], { headers: { accept } }, `/apis/${group}/v1/widgets?${state}`);
    const told: { readonly type: string; readonly object: { readonly kind: string } }[] = [];
    socket.on('message', (data) => told.push(JSON.parse(String(data))));
    await eventually(() => told.length === 2);
    assert.deepEqual(
      told.map(({ type, object }) => [type, object.kind]),
      [
        ['ADDED', 'Table'],
        ['BOOKMARK', 'Table'],
      ],
    );
    socket.terminate();
  });

  it('goes on with nothing that a client says, and answers its pings', async () => {
    const socket = open([]);
    await message(socket);
    socket.send('a word');
    socket.ping('are you there');
    const [said] = await once(socket, 'pong');
    assert.equal(String(said), 'are you there');
    socket.terminate();
  });

  it('ends with the server', async () => {
    const other = await openCluster();
    const { ca, cert, key } = other.admin;
    const url = `${other.url.replace('https', 'wss')}${path.replace('first', 'kube-root-ca.crt')}`;
    const socket = new WebSocket(url, { ca, cert, key, origin: 'https://page.example.com' });
    await message(socket);
    const [[code]] = await Promise.all([once(socket, 'close'), other.close()]);
    assert.equal(code, 1000);
  });

  it('counts as a request without a code', async () => {
    const socket = open([]);
    await message(socket);
    socket.close();
    const wire = openHttp1(cluster.admin);
    const metrics = async () => (await wire.ask({ path: '/metrics' })).text;
    await eventually(metrics, /apiserver_request_total\{code="0",[^}]*resource="configmaps",[^}]*verb="WATCH"/);
    wire.close();
  });

  it('takes a token among its sub-protocols, and answers with the other', async () => {
    const reference = { namespace: 'default', name: 'page' };
    await client.create(serviceAccounts, { metadata: reference });
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
    type Granted = { readonly status: { readonly token: string } };
    const { status } = await client.createSubresource<Granted>(serviceAccounts, reference, 'token', request);
    const bearer = (token: string) =>
      `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
    const anonymous: ClientOptions = { cert: '', key: '' };
    assert.equal(await refusal(open(['watch.example.com', bearer(status.token)], anonymous)), 403, 'not yet allowed');
    assert.equal(await refusal(open(['watch.example.com', bearer('nonsense')], anonymous)), 401);
    assert.equal(await refusal(open([bearer(status.token)], anonymous)), 401, 'no other sub-protocol');
    await client.create(clusterRoleBindings, {
      metadata: { name: 'page' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'ServiceAccount', ...reference }],
    });
    const socket = open(['watch.example.com', bearer(status.token)], anonymous);
    assert.equal(JSON.parse(String((await message(socket)).bytes)).type, 'ADDED');
    assert.equal(socket.protocol, 'watch.example.com');
    socket.terminate();
  });

  it('is refused without an origin, with two sub-protocols, and where the watch is', async () => {
    assert.equal(await refusal(open([], { origin: '' })), 403);
    assert.equal(await refusal(open([], { origin: 'null' })), 403);
    const fromPath = open([], { origin: '/a/path/is/one' });
    await once(fromPath, 'open');
    fromPath.terminate();
    assert.equal(await refusal(open(['a', 'b'])), 400);
    assert.equal(await refusal(open([], {}, '/api/v1/nothing?watch=1')), 404);
  });
});
