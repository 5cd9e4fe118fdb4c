/**
 * From a client through the API server to a kubelet and back, with real sockets; containers are processes of this machine. What real
 * kubectl makes of it: `kubectl.test.ts`.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { deflateRawSync, gunzipSync, gzipSync, inflateRawSync } from 'node:zlib';
import { WebSocket, WebSocketServer } from 'ws';
import { nodes, type Pod, services } from '../../api/gen/core-v1.ts';
import { endpointSlices } from '../../api/gen/discovery-v1.ts';
import { systemClock } from '../../base/clock.ts';
import { systemJournal } from '../../kubelet/server/journal.ts';
import { runningPod, testKeys } from '../../kubelet/server/node.fixture.ts';
import { processRuntime } from '../../kubelet/server/process-runtime.fixture.ts';
import { type Dial, tcpDial } from '../../serving/dial.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { call, startTestCluster, type TestCluster } from './cluster.fixture.ts';

const pods: Pod[] = [];
const line = (second: number, stream: string, text: string) =>
  `2026-01-01T00:00:0${second}.000000000Z ${stream} F ${text}\n`;
/** Pods' addresses lead to loopback, since the tests have no Pods' network. */
const dial: Dial = ({ host, port }, signal) =>
  tcpDial({ clock: systemClock })({ host: host.startsWith('10.') ? '127.0.0.1' : host, port }, signal);
const deniesCreate: Authorizer = {
  name: 'test',
  authorize: ({ user, info }) => ({
    decision: user.name === 'reader' && info.verb === 'create' ? 'deny' : 'allow',
    reason: '',
  }),
};

/** Of the logs that the kubelet was asked for. */
const logSignals: AbortSignal[] = [];
let cluster: TestCluster;
let directory: string;
let backend: Server;
let secureBackend: Server;
const portOf = (server: Server) => (server.address() as AddressInfo).port;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'coracle-node-proxy-test-'));
  await writeFile(join(directory, 'web-main'), line(1, 'stdout', 'hello') + line(2, 'stderr', 'problem'));
  const runtime = processRuntime({ pods: () => pods, logPath: (id) => join(directory, id) });
  cluster = await startTestCluster({
    runtime,
    pods,
    onLog: (signal) => logSignals.push(signal),
    proxy: { dial, authorizer: () => deniesCreate },
    nodeAddresses: ['10.9.0.1'],
    systemLogs: { directory, journal: systemJournal(systemClock, '/nowhere/journalctl') },
  });
  backend = createServer(serveBackend);
  const upgrades = new WebSocketServer({ server: backend });
  upgrades.on('connection', (socket) => socket.on('message', (data) => socket.send(`echo ${data}`)));
  const { certificatePem, keyPem } = testKeys().serving();
  secureBackend = createTlsServer({ cert: certificatePem, key: keyPem }, serveBackend);
  for (const server of [backend, secureBackend]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }
  const web = runningPod('web', [{ name: 'main' }]);
  await addPod({ ...web, status: { ...web.status, podIP: '10.9.9.9', podIPs: [{ ip: '10.9.9.9' }] } });
  await addPod(runningPod('two', [{ name: 'main' }, { name: 'side' }]));
  await addPod({ ...runningPod('lost', [{ name: 'main' }]), spec: { containers: [{ name: 'main', image: 'a/b:1' }] } });
});
after(async () => {
  await cluster.stop();
  for (const server of [backend, secureBackend]) {
    server.closeAllConnections();
    server.close();
  }
  await rm(directory, { recursive: true });
});

async function addPod(pod: Pod): Promise<void> {
  pods.push(await cluster.addPod(pod));
}

/** Who waits for the end of an endless page. */
const endlessGone: ((gone: unknown) => void)[] = [];

function packed(encoding: string, page: Buffer): Buffer {
  if (encoding === 'gzip') return gzipSync(page);
  if (encoding === 'half gzip') return gzipSync(page).subarray(0, 20);
  return encoding === 'deflate' ? deflateRawSync(page) : page;
}

function unpacked(encoding: string, bytes: Buffer): string {
  if (encoding === 'gzip') return gunzipSync(bytes).toString();
  return (encoding === 'deflate' ? inflateRawSync(bytes) : bytes).toString();
}

const serveBackend: Parameters<typeof createServer>[1] = (request, response) => {
  const { url = '', method, headers } = request;
  if (url.startsWith('/redirect')) {
    const { searchParams } = new URL(url, 'http://backend');
    response.writeHead(302, { location: searchParams.get('to') ?? '' }).end();
    return;
  }
  if (url.startsWith('/page')) {
    const page = Buffer.from(decodeURIComponent(url.slice('/page?'.length)));
    const named = headers['x-encoding'] ?? '';
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-length': packed(String(named), page).length,
      'access-control-allow-origin': '*',
      ...(named === '' ? {} : { 'content-encoding': String(named).replace(/.* /, '') }),
    });
    response.end(packed(String(named), page));
    return;
  }
  if (url === '/endless') {
    response.writeHead(200, { 'content-type': 'text/html' });
    const more = () => {
      while (response.write('<a href="/x">'.repeat(1000)));
    };
    response.on('drain', more).on('close', () => endlessGone.splice(0).map((resolve) => resolve(undefined)));
    more();
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    response.writeHead(url.startsWith('/teapot') ? 418 : 200, { 'set-cookie': ['a=1', 'b=2'], 'x-backend': 'yes' });
    response.end(JSON.stringify({ url, method, headers, body: Buffer.concat(chunks).toString() }));
  });
};

const podPath = (rest: string) => `/api/v1/namespaces/default/pods/${rest}`;
const messageIn = ({ text }: { readonly text: string }) => JSON.parse(text).message as string;

/** As the administrator. */
function openSocket(path: string, protocols: string[]): WebSocket {
  const { pki, apiServer } = cluster.controlPlane;
  const { certificatePem, keyPem } = pki.client('admin', 'kubernetes-admin', ['system:masters']);
  const ca = pki.authority.certificatePem;
  return new WebSocket(`wss://127.0.0.1:${apiServer.port}${path}`, protocols, {
    ca,
    cert: certificatePem,
    key: keyPem,
  });
}

describe('logs', () => {
  it('refuses what makes no sense, and names the choices', async () => {
    const cases: [string, number, string][] = [
      ['none/log', 404, 'pods "none" not found'],
      ['two/log', 400, 'a container name must be specified for pod two, choose one of: [main side]'],
      ['two/log?container=none', 400, 'container none is not valid for pod two'],
      ['web/log?tailLines=x', 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
      [
        'web/log?tailLines=-1&limitBytes=0',
        422,
        'PodLogOptions "web" is invalid: [tailLines: Invalid value: -1: must be greater than or equal to 0, limitBytes: Invalid value: 0: must be greater than 0]',
      ],
      ['web/log?previous=true', 400, 'previous terminated container "main" in pod "web" not found'],
    ];
    for (const [path, status, message] of cases) {
      const answer = await call(cluster, podPath(path));
      assert.deepEqual([answer.status, messageIn(answer)], [status, message], path);
    }
    assert.equal((await call(cluster, podPath('lost/log'))).status, 204);
  });

  it('ends a followed log at the kubelet when its reader goes', async () => {
    await writeFile(join(directory, 'quiet-main'), line(1, 'stdout', 'first'));
    await addPod(runningPod('quiet', [{ name: 'main' }]));
    logSignals.length = 0;
    const reader = new AbortController();
    const first = await new Promise<string>((resolve, reject) => {
      const onData = (text: string) => resolve(text);
      call(cluster, podPath('quiet/log?follow=true'), { onData, signal: reader.signal }).catch(reject);
    });
    assert.equal(first, 'first\n');
    const [signal] = logSignals;
    assert.equal(signal?.aborted, false);
    const ended = new Promise((resolve) => signal?.addEventListener('abort', resolve));
    reader.abort();
    await ended;
  });

  it('come over a WebSocket in messages, the first of them empty', async () => {
    const long = 'x'.repeat(3000);
    await writeFile(join(directory, 'wide-main'), line(1, 'stdout', long));
    await addPod(runningPod('wide', [{ name: 'main' }]));
    const read = async (protocols: string[]) => {
      const socket = openSocket(podPath('wide/log'), protocols);
      const messages: { readonly text: string; readonly binary: boolean }[] = [];
      socket.on('message', (data: Buffer, binary) => messages.push({ text: data.toString(), binary }));
      const [code] = (await once(socket, 'close')) as [number];
      assert.equal(code, 1000);
      assert.equal(messages[0]?.text, '');
      assert.ok(messages.length > 2, 'nothing is told in one message that is longer than 2048 bytes');
      const kinds = new Set(messages.map(({ binary }) => binary));
      return { protocol: socket.protocol, kinds: [...kinds], texts: messages.map(({ text }) => text) };
    };
    for (const protocols of [[], ['binary.k8s.io'], ['other', 'binary.k8s.io', 'base64.binary.k8s.io']]) {
      const { protocol, kinds, texts } = await read(protocols);
      assert.deepEqual([protocol, kinds], [protocols.length === 0 ? '' : 'binary.k8s.io', [true]]);
      assert.equal(texts.join(''), `${long}\n`);
    }
    const encoded = await read(['base64.binary.k8s.io']);
    assert.deepEqual([encoded.protocol, encoded.kinds], ['base64.binary.k8s.io', [false]]);
    const decoded = encoded.texts.map((text) => Buffer.from(text, 'base64').toString());
    assert.equal(decoded.join(''), `${long}\n`);
  });

  it('are refused over a WebSocket as they are without, and under an unknown sub-protocol', async () => {
    const refusal = async (path: string, protocols: string[] = []) => {
      const socket = openSocket(podPath(path), protocols).on('error', () => {});
      const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      return { status: response.statusCode, text: Buffer.concat(chunks).toString() };
    };
    const missing = await refusal('none/log');
    assert.deepEqual([missing.status, messageIn(missing)], [404, 'pods "none" not found']);
    const nowhere = await refusal('web/log?previous=true');
    assert.equal(messageIn(nowhere), 'previous terminated container "main" in pod "web" not found');
    assert.equal((await refusal('lost/log')).status, 204);
    logSignals.length = 0;
    assert.deepEqual(await refusal('web/log?follow=true', ['channel.k8s.io']), { status: 403, text: '' });
    await eventually(() => assert.ok(logSignals[0]?.aborted, 'the kubelet was left alone again'));
  });

  it('end at the kubelet when their reader over a WebSocket goes', async () => {
    logSignals.length = 0;
    const socket = openSocket(podPath('web/log?follow=true'), []);
    await once(socket, 'message');
    await eventually(() => assert.equal(logSignals[0]?.aborted, false));
    socket.close();
    await eventually(() => assert.equal(logSignals[0]?.aborted, true));
  });

  it('tells that the kubelet cannot be reached', async () => {
    const proxy: Dial = () => Promise.reject(new Error('dial tcp 10.0.0.1:10250: i/o timeout'));
    const other = await startTestCluster({
      runtime: processRuntime({ pods: () => [] }),
      pods: [],
      proxy: { dial: proxy },
    });
    try {
      await other.addPod(runningPod('web', [{ name: 'main' }]));
      const { status, text } = await call(other, podPath('web/log'));
      assert.equal(status, 500);
      assert.match(
        messageIn({ text }),
        /^Get "https:\/\/127\.0\.0\.1:\d+\/containerLogs\/default\/web\/main": dial tcp/,
      );
      const headers = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' };
      const exec = await call(other, podPath('web/exec?command=a&stdout=1'), { method: 'POST', headers });
      assert.equal(messageIn(exec), 'error dialing backend: dial tcp 10.0.0.1:10250: i/o timeout');
      const proxied = await call(other, '/api/v1/nodes/node-a:1/proxy/');
      assert.equal(messageIn(proxied), 'address not allowed');
    } finally {
      await other.stop();
    }
  });
});

describe('sessions', () => {
  it('need an upgrade, a Pod on a node and a container', async () => {
    const cases: [string, number, string][] = [
      ['web/exec?command=a&stdout=1', 400, 'Upgrade request required'],
      ['lost/exec?command=a&stdout=1', 400, 'pod lost does not have a host assigned'],
      ['lost/portforward', 400, 'pod lost does not have a host assigned'],
      ['two/attach?stdout=1', 400, 'a container name must be specified for pod two, choose one of: [main side]'],
      ['none/exec', 404, 'pods "none" not found'],
    ];
    for (const [path, status, message] of cases) {
      const answer = await call(cluster, podPath(path), { method: 'POST' });
      assert.deepEqual([answer.status, messageIn(answer)], [status, message], path);
    }
  });

  it('by WebSocket need the right to create, as by POST', async () => {
    const { pki, apiServer } = cluster.controlPlane;
    const open = (user: string) => {
      const { certificatePem, keyPem } = pki.client(user, user, ['system:masters']);
      const socket = new WebSocket(
        `wss://127.0.0.1:${apiServer.port}${podPath('web/exec?command=echo&command=hi&stdout=1')}`,
        ['v4.channel.k8s.io'],
        { ca: pki.authority.certificatePem, cert: certificatePem, key: keyPem },
      );
      let heard = '';
      socket.on('message', (data: Buffer) => {
        if (data[0] === 1) heard += data.subarray(1).toString();
      });
      return new Promise<string>((resolve, reject) => {
        socket.on('error', reject);
        socket.on('close', () => resolve(heard));
      });
    };
    assert.equal(await open('writer'), 'hi\n');
    await assert.rejects(open('reader'), /403/);
  });
});

describe('proxy', () => {
  const web = () => podPath(`web:${portOf(backend)}/proxy`);

  it('passes on path, query, body and headers, but no credentials', async () => {
    const headers = { authorization: 'Bearer secret', 'x-own': 'kept', 'content-type': 'text/plain', host: 'api.test' };
    const answer = await call(cluster, `${web()}/a%20b/c/?x=1&y=%2F`, { method: 'PUT', headers, body: 'content' });
    assert.deepEqual([answer.status, answer.headers['x-backend']], [200, 'yes']);
    assert.deepEqual(answer.headers['set-cookie'], ['a=1', 'b=2']);
    const seen = JSON.parse(answer.text);
    assert.deepEqual([seen.url, seen.method, seen.body], ['/a%20b/c/?x=1&y=%2F', 'PUT', 'content']);
    assert.equal(seen.headers.authorization, undefined);
    assert.equal(seen.headers['x-own'], 'kept');
    assert.equal(seen.headers.host, 'api.test');
    assert.equal(seen.headers['x-forwarded-for'], '127.0.0.1');
    assert.equal(seen.headers['x-forwarded-uri'], `${web()}/a%20b/c/`);
  });

  it('passes the answer back as it is', async () => {
    assert.equal((await call(cluster, `${web()}/teapot`)).status, 418);
    const head = await call(cluster, `${web()}/x`, { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers['x-backend'], head.text], [200, 'yes', '']);
  });

  it('sends a browser below the slash', async () => {
    const answer = await call(cluster, `${web()}?q=1`);
    assert.deepEqual([answer.status, answer.headers.location], [301, `${web()}/?q=1`]);
    assert.equal((await call(cluster, web(), { method: 'POST' })).status, 200);
  });

  it('leads redirects through itself', async () => {
    const to = async (location: string) =>
      (await call(cluster, `${web()}/redirect?to=${location}`, { headers: { host: 'api.test' } })).headers.location;
    assert.equal(await to('/login/'), `${web()}/login/`);
    assert.equal(await to(`http://10.9.9.9:${portOf(backend)}/x?y=1`), `${web()}/x?y=1`);
    assert.equal(await to('https://api.test/x'), `https://api.test${web()}/x`);
    assert.equal(await to('https://elsewhere.test/x'), 'https://elsewhere.test/x');
    assert.equal(await to('beside'), 'beside');
    assert.equal(await to('/a%20b/?c#d'), `${web()}/a%20b/?c#d`);
    const nonsense = await call(cluster, `${web()}/redirect?to=http://a%2520b/`);
    assert.deepEqual(
      [nonsense.status, messageIn(nonsense)],
      [
        500,
        'Internal error occurred: error trying to parse Location header: parse "http://a%20b/": invalid URL escape "%20"',
      ],
    );
  });

  it('leads the links of a page through itself, packed as it was', async () => {
    const page = '<A HREF="/rewriteme">test</A><img src=beside><a href="https://elsewhere.test/">';
    const rewritten = page.replace('/rewriteme', `${web()}/rewriteme`);
    const read = async (encoding: string) => {
      const headers = { 'x-encoding': encoding, 'accept-encoding': 'gzip' };
      const answer = await call(cluster, `${web()}/page?${encodeURIComponent(page)}`, { headers });
      assert.equal(answer.headers['content-encoding'] ?? '', encoding);
      assert.equal(answer.headers['access-control-allow-origin'], undefined);
      return unpacked(encoding, answer.bytes);
    };
    assert.equal(await read(''), rewritten);
    assert.equal(await read('gzip'), rewritten);
    assert.equal(await read('deflate'), rewritten);
    assert.equal(await read('br'), page);
    const head = await call(cluster, `${web()}/page?${encodeURIComponent(page)}`, { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers['content-length']], [200, undefined]);
  });

  it('tells that a page cannot be unpacked, where nothing of it has left yet', async () => {
    for (const [encoding, message] of [
      ['not gzip', 'errorf making gzip reader: gzip: invalid header'],
      ['half gzip', 'unexpected EOF'],
    ] as const) {
      const answer = await call(cluster, `${web()}/page?${'x'.repeat(100)}`, { headers: { 'x-encoding': encoding } });
      assert.deepEqual([answer.status, messageIn(answer)], [500, message]);
    }
  });

  it('lets go of a page whose reader has gone', async () => {
    const reader = new AbortController();
    const gone = new Promise((resolve) => endlessGone.push(resolve));
    const onData = () => reader.abort();
    await assert.rejects(call(cluster, `${web()}/endless`, { onData, signal: reader.signal }));
    await gone;
  });

  it('speaks TLS to a Pod on request, without asking for its certificate', async () => {
    const answer = await call(cluster, podPath(`https:web:${portOf(secureBackend)}/proxy/x`));
    assert.equal(JSON.parse(answer.text).url, '/x');
  });

  it('passes upgrades on', async () => {
    const socket = openSocket(`${web()}/socket`, []);
    const heard = await new Promise((resolve, reject) => {
      socket.on('error', reject);
      socket.on('open', () => socket.send('hi'));
      socket.on('message', (data: Buffer) => resolve(data.toString()));
    });
    assert.equal(heard, 'echo hi');
    socket.close();
  });

  it('tells what stands in the way', async () => {
    const cases: [string, number, string][] = [
      [
        podPath('web:1/proxy/'),
        503,
        'error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused',
      ],
      [podPath('ftp:web:1/proxy/'), 400, 'invalid pod request "ftp:web:1"'],
      [podPath('two/proxy/'), 400, 'address not allowed'],
      ['/api/v1/nodes/none/proxy/', 404, 'nodes "none" not found'],
      ['/api/v1/namespaces/default/services/none/proxy/', 404, 'services "none" not found'],
      ['/api/v1/namespaces/default/services/none:80/proxy/', 404, 'services "none" not found'],
    ];
    for (const [path, status, message] of cases) {
      const answer = await call(cluster, path);
      assert.deepEqual([answer.status, messageIn(answer)], [status, message], path);
    }
  });

  it('finds a ready Pod behind a Service, by the name or number of its port', async () => {
    const { admin } = cluster.controlPlane;
    const path = (id: string) => `/api/v1/namespaces/default/services/${id}/proxy/x`;
    await admin.create(services, {
      metadata: { name: 'front', namespace: 'default' },
      spec: { ports: [{ name: 'http', port: 80 }], selector: { app: 'web' } },
    });
    assert.equal(messageIn(await call(cluster, path('front'))), 'no endpoints available for service "front"');
    const endpoint = (name: string, ip: string, ready: boolean) => ({
      addresses: [ip],
      conditions: { ready },
      targetRef: { kind: 'Pod', name, namespace: 'default' },
    });
    await admin.create(endpointSlices, {
      metadata: { name: 'front-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'front' } },
      addressType: 'IPv4',
      // One is not ready, one is no Pod of this name any more.
      endpoints: [
        endpoint('web', '10.9.9.9', true),
        endpoint('two', '10.9.9.8', false),
        endpoint('gone', '10.9.9.7', true),
      ],
      ports: [{ name: 'http', port: portOf(backend), protocol: 'TCP' }],
    });
    for (const id of ['front:http', 'front:80', 'http:front:80']) {
      const answer = await call(cluster, path(id));
      assert.equal(JSON.parse(answer.text).url, '/x', id);
    }
    const wrong = await call(cluster, path('front:81'));
    assert.deepEqual([wrong.status, messageIn(wrong)], [503, 'no service port 81 found for service "front"']);
    assert.equal(messageIn(await call(cluster, path('front:grpc'))), 'no endpoints available for service "front:grpc"');
  });

  /** A Node whose kubelet is reached at that address. */
  const statusOf = (address: string) => ({
    addresses: [{ type: 'InternalIP', address }],
    daemonEndpoints: { kubeletEndpoint: { Port: cluster.kubelet.address.port } },
  });

  it('reaches the kubelet of a node with the API server´s certificate', async () => {
    const { admin } = cluster.controlPlane;
    const made = await admin.create(nodes, { metadata: { name: 'named' }, spec: {}, status: {} });
    await admin.updateStatus(nodes, { ...made, status: statusOf('127.0.0.1') });
    assert.equal(messageIn(await call(cluster, '/api/v1/nodes/named/proxy/healthz')), 'address not allowed');
    await admin.updateStatus(nodes, {
      ...(await admin.get(nodes, { name: 'named' })),
      status: statusOf('10.0.0.1'),
    });
    const untrusted = await call(cluster, '/api/v1/nodes/named/proxy/healthz');
    assert.match(
      messageIn(untrusted),
      /x509: certificate is valid for node-a, 127\.0\.0\.1, 10\.9\.0\.1, not 10\.0\.0\.1$/,
    );
  });
});
