/** What comes over the network, good and bad: each gets a clear answer, and the server goes on. */
import assert from 'node:assert/strict';
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { configMaps } from '../../api/gen/core-v1.ts';
import { type OpenHttps, type OpenServer, openServerWithDefault, serveHttps } from '../api-server.fixture.ts';
import type { ApiRequest } from '../request.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

describe('the server on the network', () => {
  let opened: OpenServer;
  let https: OpenHttps;
  let session: ClientHttp2Session;
  const logged: string[] = [];
  before(async () => {
    opened = await openServerWithDefault();
    const log = {
      debug() {},
      info() {},
      warn() {},
      error: (message: string) => void logged.push(message),
      child: () => log,
    };
    https = await serveHttps(opened.server, { bodyTimeoutMs: 300, log });
    session = connectHttp2(https.url, { ca: https.ca });
    await opened.client.create(configMaps, { metadata: { name: 'a', namespace: 'default' }, data: { x: '1' } });
  });
  after(async () => {
    session.close();
    await https.close();
    await opened.close();
    assert.deepEqual(logged, [], 'nothing unexpected was logged');
  });

  const ask = ({ method = 'GET', path, headers = {}, body }: Asked) =>
    new Promise<Answer>((resolve, reject) => {
      const stream = session.request(
        { ':method': method, ':path': path, ...headers },
        { endStream: body === undefined },
      );
      const chunks: Buffer[] = [];
      let head: Record<string, unknown> = {};
      stream.on('response', (received) => {
        head = received as Record<string, unknown>;
      });
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
      stream.on('end', () => resolve({ status: Number(head[':status']), headers: head, body: Buffer.concat(chunks) }));
      stream.on('error', reject);
      if (body !== undefined) stream.end(body);
    });

  const collection = '/api/v1/namespaces/default/configmaps';
  const json = { 'content-type': 'application/json' };
  const mergePatch = { 'content-type': 'application/merge-patch+json' };
  const badInputs: readonly (Asked & { readonly name: string; readonly code: number; readonly message: RegExp })[] = [
    {
      name: 'malformed JSON',
      method: 'POST',
      path: collection,
      headers: json,
      body: '{"metadata": {',
      code: 400,
      message:
        /^the object provided is unrecognized \(must be of type ConfigMap\): couldn't get version\/kind; json parse error: unexpected end of JSON input/,
    },
    {
      name: 'malformed YAML',
      method: 'POST',
      path: collection,
      headers: { 'content-type': 'application/yaml' },
      body: 'a: [',
      code: 400,
      message: /unrecognized/,
    },
    { name: 'an empty body', method: 'POST', path: collection, headers: json, body: '', code: 400, message: /<empty>/ },
    {
      name: 'a wrong type',
      method: 'POST',
      path: collection,
      headers: json,
      body: '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},"data":{"x":1}}',
      code: 400,
      message:
        /^ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string$/,
    },
    {
      name: 'another kind',
      method: 'POST',
      path: collection,
      headers: json,
      body: '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"}}',
      code: 400,
      message:
        /^Secret in version "v1" cannot be handled as a ConfigMap: converting \(v1.Secret\) to \(core.ConfigMap\): unknown conversion$/,
    },
    {
      name: 'an unknown kind',
      method: 'POST',
      path: collection,
      headers: json,
      body: '{"kind":"Nonsense","apiVersion":"v1"}',
      code: 400,
      message: /no kind "Nonsense" is registered for version "v1"/,
    },
    {
      name: 'an unknown field under strict validation',
      method: 'POST',
      path: `${collection}?fieldValidation=Strict`,
      headers: json,
      body: '{"metadata":{"name":"x"},"nonsense":1}',
      code: 400,
      message: /strict decoding error: unknown field "nonsense"$/,
    },
    {
      name: 'a name that is not that of the URL',
      method: 'PUT',
      path: `${collection}/a`,
      headers: json,
      body: '{"metadata":{"name":"b"}}',
      code: 400,
      message: /^the name of the object \(b\) does not match the name on the URL \(a\)$/,
    },
    {
      name: 'a body that is too large',
      method: 'POST',
      path: collection,
      headers: json,
      body: Buffer.alloc(3 * 1024 * 1024 + 1, 32),
      code: 413,
      message: /^Request entity too large: limit is 3145728$/,
    },
    {
      name: 'a media type nobody reads',
      method: 'POST',
      path: collection,
      headers: { 'content-type': 'text/html' },
      body: '<p>',
      code: 415,
      message: /^the body of the request was in an unknown format/,
    },
    {
      name: 'a media type nobody writes',
      path: `${collection}/a`,
      headers: { accept: 'text/html' },
      code: 406,
      message:
        /^only the following media types are accepted: application\/json, application\/yaml, application\/vnd\.kubernetes\.protobuf$/,
    },
    {
      name: 'an apply in CBOR',
      method: 'PATCH',
      path: `${collection}/a`,
      headers: { 'content-type': 'application/apply-patch+cbor' },
      body: '{}',
      code: 415,
      message: /^415: Unsupported Media Type$/,
    },
    {
      name: 'a malformed patch',
      method: 'PATCH',
      path: `${collection}/a`,
      headers: mergePatch,
      body: '{',
      code: 400,
      message: /^error decoding patch: /,
    },
    {
      name: 'a patch nested too deeply',
      method: 'PATCH',
      path: `${collection}/a`,
      headers: mergePatch,
      body: `${'{"data":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
      code: 400,
      message: /^error decoding patch: /,
    },
    {
      name: 'a patch that makes nonsense',
      method: 'PATCH',
      path: `${collection}/a`,
      headers: mergePatch,
      body: '{"data":[]}',
      code: 422,
      message: /^ "" is invalid: patch: Invalid value: ".*": json: cannot unmarshal array/,
    },
    {
      name: 'an unknown resource',
      path: '/api/v1/nonsense',
      code: 404,
      message: /^the server could not find the requested resource$/,
    },
    {
      name: 'the deletion of all namespaces',
      method: 'DELETE',
      path: '/api/v1/namespaces',
      code: 405,
      message: /^the server does not allow this method on the requested resource$/,
    },
    {
      name: 'a version that is none, of one object,',
      path: `${collection}/a?resourceVersion=x`,
      code: 500,
      message: /^resourceVersion: Invalid value: "x": strconv\.ParseUint: parsing "x": invalid syntax$/,
    },
    {
      name: 'a version that is none, of a list,',
      path: `${collection}?resourceVersion=x`,
      code: 400,
      message: /^invalid resource version: resourceVersion: Invalid value: "x": .* invalid syntax$/,
    },
    {
      name: 'a method that a collection does not take',
      method: 'PATCH',
      path: collection,
      headers: mergePatch,
      body: '{}',
      code: 405,
      message: /^the server does not allow this method on the requested resource$/,
    },
    {
      name: 'an unknown subresource',
      path: `${collection}/a/nonsense`,
      code: 404,
      message: /^the server could not find/,
    },
    {
      name: 'a namespaced object without a namespace',
      path: '/api/v1/configmaps/a',
      code: 404,
      message: /^the server could not find/,
    },
    { name: 'a path that is not properly encoded', path: '/api/v1/%zz', code: 400, message: /not properly encoded/ },
    {
      name: 'a dry run of an unknown sort',
      method: 'POST',
      path: `${collection}?dryRun=Some`,
      headers: json,
      body: '{"metadata":{"name":"x"}}',
      code: 422,
      message: /dryRun: Unsupported value/,
    },
    {
      name: 'delete options of another kind',
      method: 'DELETE',
      path: `${collection}/a`,
      headers: json,
      body: '{"kind":"Pod","apiVersion":"v1"}',
      code: 400,
      message: /^no kind "Pod" is registered for version "v1" in scheme/,
    },
    {
      name: 'broken protobuf',
      method: 'POST',
      path: collection,
      headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
      body: Buffer.from('k8s\0\x0a\xff'),
      code: 400,
      message: /unexpected EOF/,
    },
    {
      name: 'bytes that are no protobuf',
      method: 'POST',
      path: collection,
      headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
      body: 'nonsense',
      code: 400,
      message: /expected prefix/,
    },
  ];

  for (const { name, code, message, ...asked } of badInputs) {
    test(`${name} is answered with ${code} and a Status`, async () => {
      const answer = await ask(asked);
      const status = JSON.parse(answer.body.toString());
      assert.equal(status.kind, 'Status');
      assert.match(status.message, message);
      assert.equal(answer.status, code);
      assert.equal(status.code, code);
      assert.doesNotMatch(answer.body.toString(), /\bat .*\.ts:\d+/);
    });
  }

  test('the old place of bindings takes bodies off the network', async () => {
    const body = '{"metadata":{"name":"missing"},"target":{"name":"n"}}';
    const answer = await ask({ method: 'POST', path: '/api/v1/namespaces/default/bindings', headers: json, body });
    assert.equal(JSON.parse(answer.body.toString()).message, 'pods "missing" not found');
  });

  test('a path that nobody serves is a plain 404', async () => {
    for (const path of ['/nonsense', '/apis/nonsense/v1/things', '/healthz/']) {
      const answer = await ask({ path });
      assert.equal(answer.status, 404);
      assert.equal(answer.body.toString(), '404 page not found\n');
    }
  });

  test('unknown fields are warned of by default', async () => {
    const body = '{"metadata":{"name":"warned"},"nonsense":1,"data":{"a":"1","a":"2"}}';
    const answer = await ask({ method: 'POST', path: collection, headers: json, body });
    assert.equal(answer.status, 201);
    assert.equal(answer.headers.warning, '299 - "unknown field \\"nonsense\\"", 299 - "duplicate field \\"data.a\\""');
  });

  test('the same object as JSON, pretty JSON, YAML, Table and metadata only', async () => {
    const path = `${collection}/a`;
    const plain = JSON.parse((await ask({ path })).body.toString());
    assert.deepEqual(plain.data, { x: '1' });
    assert.match((await ask({ path: `${path}?pretty=true` })).body.toString(), /^\{\n {2}"kind": "ConfigMap"/);
    const yaml = await ask({ path, headers: { accept: 'application/yaml' } });
    assert.match(yaml.body.toString(), /^kind: ConfigMap\n/);
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    const table = JSON.parse((await ask({ path, headers: { accept } })).body.toString());
    assert.equal(table.kind, 'Table');
    assert.equal(table.rows[0].object.kind, 'PartialObjectMetadata');
    assert.equal(table.rows[0].cells[0], 'a');
    const partial = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
    const list = JSON.parse((await ask({ path: collection, headers: { accept: partial } })).body.toString());
    assert.equal(list.kind, 'PartialObjectMetadataList');
    assert.equal(list.items[0].data, undefined);
  });

  test('items of a list go without kind and version, as upstream writes them', async () => {
    const list = JSON.parse((await ask({ path: collection })).body.toString());
    assert.equal(list.kind, 'ConfigMapList');
    assert.deepEqual(Object.keys(list.items[0]).slice(0, 1), ['metadata']);
  });

  test('the old HTTP serves the same, and keeps its connections', async () => {
    const answer = await askHttp1(https, { path: `${collection}/a`, headers: { 'user-agent': 'curl/8' } });
    assert.equal(answer.status, 200);
    assert.match(answer.body.toString(), /^\{\n/);
    const created = await askHttp1(https, {
      method: 'POST',
      path: collection,
      headers: json,
      body: '{"metadata":{"name":"http1"}}',
    });
    assert.equal(created.status, 201);
  });

  test('a body that stops half-way is waited for a while and then refused; the connection is of no more use', async () => {
    const socket = await openSocket(https);
    socket.write(
      `POST ${collection} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"meta`,
    );
    const text = await readAll(socket);
    assert.match(text, /^HTTP\/1\.1 504 /);
    assert.match(text, /request did not complete within the allotted timeout/);
  });

  test('a sender who hangs up half-way harms nobody', async () => {
    const socket = await openSocket(https);
    socket.write(
      `POST ${collection} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"meta`,
    );
    socket.destroySoon();
    const stream = session.request({ ':method': 'POST', ':path': collection, ...json });
    stream.on('error', () => {});
    stream.write('{"meta');
    stream.close(constants.NGHTTP2_CANCEL);
    assert.equal((await ask({ path: '/readyz' })).status, 200);
  });

  test('a slow body is read to its end', async () => {
    const body = '{"metadata":{"name":"slowly"}}';
    const answer = await new Promise<Answer>((resolve, reject) => {
      const stream = session.request({ ':method': 'POST', ':path': collection, ...json });
      const chunks: Buffer[] = [];
      let status = 0;
      stream.on('response', (head) => {
        status = Number(head[':status']);
      });
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
      stream.on('end', () => resolve({ status, headers: {}, body: Buffer.concat(chunks) }));
      stream.on('error', reject);
      const letters = [...body];
      const next = () => {
        const letter = letters.shift();
        if (letter === undefined) stream.end();
        else stream.write(letter, () => setImmediate(next));
      };
      next();
    });
    assert.equal(answer.status, 201);
  });

  test('many idle connections leave room for others', async () => {
    const sockets = await Promise.all(Array.from({ length: 200 }, () => openSocket(https)));
    assert.equal((await ask({ path: '/readyz' })).status, 200);
    for (const socket of sockets) socket.destroy();
  });

  test('bytes that are not HTTP end their connection only', async () => {
    const socket = await openSocket(https);
    socket.write('nonsense\r\n\r\n');
    assert.match(await readAll(socket), /^HTTP\/1\.1 400 /);
    assert.equal((await ask({ path: '/livez' })).status, 200);
  });

  test('a watch tells what happens line by line, and ends with the client', async () => {
    const stream = session.request({ ':path': `${collection}?watch=1&fieldSelector=metadata.name%3Dstreamed` });
    stream.setEncoding('utf8');
    await new Promise((resolve) => stream.once('response', resolve));
    await opened.client.create(configMaps, { metadata: { name: 'streamed', namespace: 'default' } });
    const line = await new Promise<string>((resolve) => stream.once('data', resolve));
    const event = JSON.parse(line);
    assert.equal(event.type, 'ADDED');
    assert.equal(event.object.metadata.name, 'streamed');
    assert.equal(event.object.kind, 'ConfigMap');
    await new Promise<void>((resolve) => {
      stream.once('close', resolve);
      stream.close();
    });
    const metrics = async () => (await ask({ path: '/metrics' })).body.toString();
    let text = await metrics();
    for (let turn = 0; turn < 50 && /kind="ConfigMap"[^}]*\} 1/.test(text); turn++) text = await metrics();
    assert.match(text, /apiserver_registered_watchers\{[^}]*kind="ConfigMap"[^}]*\} 0/);
  });

  test('health pages list their checks', async () => {
    const verbose = (await ask({ path: '/readyz?verbose' })).body.toString();
    assert.match(verbose, /^\[\+\]ping ok\n/);
    assert.match(verbose, /readyz check passed\n$/);
    assert.equal((await ask({ path: '/livez/ping' })).body.toString(), 'ok');
    assert.equal((await ask({ path: '/livez/nonsense' })).status, 404);
    const version = JSON.parse((await ask({ path: '/version' })).body.toString());
    assert.equal(version.major, '1');
    assert.equal(version.minor, '36');
  });

  test('aggregated discovery and OpenAPI carry an ETag and can be asked whether they changed; plain discovery does not', async () => {
    const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    for (const [path, accept] of [
      ['/api', aggregated],
      ['/apis', aggregated],
      ['/openapi/v2', 'application/json'],
      ['/openapi/v3', 'application/json'],
    ] as const) {
      const first = await ask({ path, headers: { accept } });
      assert.equal(first.status, 200, path);
      const again = await ask({ path, headers: { accept, 'if-none-match': String(first.headers.etag) } });
      assert.equal(again.status, 304, path);
    }
    for (const path of ['/api', '/apis', '/apis/apps/v1']) assert.equal((await ask({ path })).headers.etag, undefined);
  });
});

test('big answers are compressed for those who are far away', async () => {
  const opened = await openServerWithDefault();
  const far = (request: ApiRequest) =>
    opened.server.handle(Object.defineProperty(request, 'remoteAddress', { value: '192.0.2.1' }));
  const https = await serveHttps({ handle: far });
  try {
    const data = { x: 'y'.repeat(200_000) };
    await opened.client.create(configMaps, { metadata: { name: 'big', namespace: 'default' }, data });
    const path = '/api/v1/namespaces/default/configmaps/big';
    const answer = await askHttp1(https, { path, headers: { 'accept-encoding': 'gzip' } });
    assert.equal(answer.headers['content-encoding'], 'gzip');
    assert.deepEqual(JSON.parse(gunzipSync(answer.body).toString()).data, data);
  } finally {
    await https.close();
    await opened.close();
  }
});

test('a long list arrives whole', async () => {
  const opened = await openServerWithDefault();
  const https = await serveHttps(opened.server);
  try {
    const data = { x: 'y'.repeat(10_000) };
    for (let i = 0; i < 100; i++) {
      await opened.client.create(configMaps, { metadata: { name: `item-${i}`, namespace: 'default' }, data });
    }
    const { items } = await https.client.list(configMaps, { namespace: 'default' });
    assert.equal(items.length, 100);
    assert.ok(items.every((item) => item.data?.x?.length === 10_000));
  } finally {
    await https.close();
    await opened.close();
  }
});

test('closing ends watches and lets requests under way finish', async () => {
  const opened = await openServerWithDefault();
  const https = await serveHttps(opened.server);
  await opened.client.create(configMaps, { metadata: { name: 'a', namespace: 'default' } });
  const events = https.client.watch(configMaps, {})[Symbol.asyncIterator]();
  assert.equal((await events.next()).value?.type, 'ADDED');
  await opened.server.close();
  assert.equal((await events.next()).done, true);
  await https.close();
  await opened.close();
});

test('a port that is taken is told of', async () => {
  const opened = await openServerWithDefault();
  const https = await serveHttps(opened.server);
  const { startHttpServer } = await import('./http-server.ts');
  const { silentLog } = await import('../../base/log.ts');
  await assert.rejects(
    startHttpServer({
      handle: (request) => opened.server.handle(request),
      listen: [
        { host: '127.0.0.1', port: 0 },
        { host: '127.0.0.1', port: https.port },
      ],
      certificate: '',
      key: '',
      log: silentLog,
    }),
    { code: 'EADDRINUSE' },
  );
  await https.close();
  await opened.close();
});

function openSocket({ port, ca }: OpenHttps): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls(
      { host: '127.0.0.1', port, ca, servername: 'localhost', ALPNProtocols: ['http/1.1'] },
      () => resolve(socket),
    );
    socket.on('error', reject);
  });
}

function readAll(socket: TLSSocket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('close', () => resolve(text));
    socket.on('end', () => socket.end());
  });
}

function askHttp1({ port, ca }: OpenHttps, { method = 'GET', path, headers = {}, body }: Asked): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest({ host: '127.0.0.1', port, ca, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => void chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });
}

test('a client may be sent to another server with its answer, which it still gets', async () => {
  const opened = await openServerWithDefault();
  const https = await serveHttps(opened.server, { goawayChance: 1 });
  const session = connectHttp2(https.url, { ca: https.ca });
  try {
    const goneAway = new Promise<void>((resolve) => session.once('goaway', () => resolve()));
    const stream = session.request({ ':path': '/version' }).setEncoding('utf8');
    const text = new Promise<string>((resolve) => {
      let all = '';
      stream.on('data', (chunk: string) => {
        all += chunk;
      });
      stream.once('end', () => resolve(all));
    });
    assert.equal(JSON.parse(await text).major, '1');
    await goneAway;
  } finally {
    session.close();
    await https.close();
    await opened.close();
  }
});
