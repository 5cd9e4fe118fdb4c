/** Protobuf over the network: the same objects as in JSON, whatever the verb. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { configMaps } from '../../api/gen/core-v1.ts';
import { openEnvelope } from '../../apimachinery/protobuf/envelope.ts';
import { expired } from '../../apimachinery/status.ts';
import { WireReader } from '../../base/protobuf/wire-reader.ts';
import { type OpenHttps, type OpenServer, openServerWithDefault, serveHttps } from '../api-server.fixture.ts';
import { builtinCodec } from './json.ts';
import { encodeProtobuf, protobufFrame, replaceRevision } from './protobuf.ts';
import { plainFrame } from './representations.ts';

const mediaType = 'application/vnd.kubernetes.protobuf';
const metadataOnly = `${mediaType};as=PartialObjectMetadata;v=v1;g=meta.k8s.io`;
const metadataListOnly = `${mediaType};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io`;

type Plain = Record<string, unknown>;

/** An answer's object as JSON would have it. */
function opened(bytes: Buffer): Plain {
  const { apiVersion, kind, message } = openEnvelope(bytes);
  const { type } = builtinCodec().registry.kind(apiVersion, kind)!;
  const value = builtinCodec().decodeMessage(message, type);
  return { kind, apiVersion, ...(JSON.parse(builtinCodec().encodeAs(value, type)) as Plain) };
}

test('a frame says how long it is, what happened and to what', () => {
  const frame = protobufFrame('ADDED', Buffer.from('object'));
  assert.equal(frame.toString('latin1'), '\0\0\0\x11\x0a\x05ADDED\x12\x08\x0a\x06object');
});

test('a message takes another revision in the head of its metadata', () => {
  const type = 'core/v1.ConfigMap';
  const object = (resourceVersion: string) => {
    const metadata = {
      name: 'n'.repeat(100),
      namespace: 'default',
      resourceVersion,
      labels: { a: 'b' },
      generation: 7,
    };
    return { metadata, data: { key: 'value' } };
  };
  const message = builtinCodec().encodeMessage(object('9'), type);
  const later = replaceRevision(message, 1234567);
  assert.deepEqual(later, builtinCodec().encodeMessage(object('1234567'), type));
});

test('what ends a watch is a Status in protobuf too', () => {
  const frame = plainFrame('ERROR', expired('too old resource version: 1 (5)').status, 'protobuf').encoded();
  const { type, object } = eventOf(frame.subarray(4));
  assert.equal(type, 'ERROR');
  assert.deepEqual([object.kind, object.code, object.reason], ['Status', 410, 'Expired']);
});

test('what has no such form is not acceptable', () => {
  assert.throws(() => encodeProtobuf({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' }), { code: 406 });
});

for (const storeName of ['memory', 'LMDB'] as const) {
  describe(`protobuf over ${storeName}`, () => {
    let server: OpenServer;
    let https: OpenHttps;
    let session: ClientHttp2Session;
    before(async () => {
      server = await openServerWithDefault({ storeName });
      https = await serveHttps(server.server);
      session = connectHttp2(https.url, { ca: https.ca });
    });
    after(async () => {
      session.close();
      await https.close();
      await server.close();
    });

    const start = (method: string, path: string, headers: Readonly<Record<string, string>>, body?: Buffer) => {
      const stream = session.request({ ':method': method, ':path': path, ...headers }, { endStream: !body });
      if (body) stream.end(body);
      return stream;
    };
    const ask = async (
      method: string,
      path: string,
      { accept = mediaType, body }: { accept?: string; body?: Buffer } = {},
    ) => {
      const stream = start(method, path, { accept, 'content-type': mediaType }, body);
      let type = '';
      stream.on('response', (headers) => {
        type = String(headers['content-type']);
      });
      const bytes = Buffer.concat(await stream.toArray());
      return { type, bytes };
    };
    const json = async (path: string) =>
      JSON.parse((await ask('GET', path, { accept: 'application/json' })).bytes.toString());
    const collection = '/api/v1/namespaces/default/configmaps';
    const configMap = (name: string, data: Plain) =>
      encodeProtobuf({
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { name, labels: { test: 'a' } },
        data,
      } as object);

    test('an object is created, read, changed and removed', async () => {
      const created = await ask('POST', collection, { body: configMap('life', { x: '1' }) });
      assert.equal(created.type, mediaType);
      assert.deepEqual(opened(created.bytes), await json(`${collection}/life`));
      const read = await ask('GET', `${collection}/life`);
      assert.deepEqual(read, created, 'the same bytes each time');
      const changed = await ask('PUT', `${collection}/life`, { body: configMap('life', { x: 'ä€😀'.repeat(50) }) });
      assert.deepEqual(opened(changed.bytes), await json(`${collection}/life`));
      const options = encodeProtobuf({ kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] } as object);
      await ask('DELETE', `${collection}/life`, { body: options });
      assert.equal((await json(`${collection}/life`)).kind, 'ConfigMap', 'a dry run removes nothing');
      const removed = opened((await ask('DELETE', `${collection}/life`)).bytes);
      assert.equal(removed.status, 'Success');
      const missing = await ask('GET', `${collection}/life`);
      assert.equal(missing.type, mediaType);
      assert.equal(opened(missing.bytes).message, 'configmaps "life" not found');
    });

    test('lists, short and long, are what they are in JSON', async () => {
      for (const path of ['/api/v1/namespaces', `${collection}?labelSelector=none`]) {
        assert.deepEqual(opened((await ask('GET', path)).bytes), await json(path));
      }
      for (let i = 0; i < 20; i++) {
        const metadata = { name: `long-${i}`, namespace: 'default', labels: { long: 'yes' } };
        await server.client.create(configMaps, { metadata, data: { x: 'x'.repeat(20_000) } });
      }
      for (const path of [`${collection}?labelSelector=long`, `${collection}?labelSelector=long&limit=7`]) {
        assert.deepEqual(opened((await ask('GET', path)).bytes), await json(path));
      }
    });

    test('metadata alone comes in protobuf, a Table only in JSON', async () => {
      await server.client.create(configMaps, { metadata: { name: 'meta', namespace: 'default' }, data: { x: '1' } });
      const { metadata } = await json(`${collection}/meta`);
      const partial = opened((await ask('GET', `${collection}/meta`, { accept: metadataOnly })).bytes);
      assert.deepEqual(partial, { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });
      const list = opened((await ask('GET', collection, { accept: metadataListOnly })).bytes);
      assert.equal(list.kind, 'PartialObjectMetadataList');
      assert.ok((list.items as Plain[]).some((item) => (item.metadata as Plain).name === 'meta'));
      const table = 'as=Table;v=v1;g=meta.k8s.io';
      const accept = `${mediaType};${table},application/json;${table}`;
      const answer = await ask('GET', collection, { accept });
      assert.equal(JSON.parse(answer.bytes.toString()).kind, 'Table');
    });

    test('discovery has it too', async () => {
      const { type, bytes } = await ask('GET', '/apis/apps/v1');
      assert.equal(type, mediaType);
      const { resources, groupVersion } = opened(bytes);
      assert.deepEqual({ resources, groupVersion }, pick(await json('/apis/apps/v1'), ['resources', 'groupVersion']));
      const all = `${mediaType};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`;
      const aggregated = await ask('GET', '/apis', { accept: all });
      assert.equal(aggregated.type, all);
      assert.equal(opened(aggregated.bytes).kind, 'APIGroupDiscoveryList');
    });

    /** Collects events until there are enough, then hangs up. */
    async function watched(path: string, accept: string, count: number, act: () => Promise<unknown>) {
      const stream = start('GET', path, { accept });
      const types: string[] = [];
      stream.on('response', (headers) => void types.push(String(headers['content-type'])));
      const events: { readonly type: unknown; readonly object: Plain }[] = [];
      let buffered = Buffer.alloc(0);
      await once(stream, 'response');
      await act();
      for await (const chunk of stream) {
        buffered = Buffer.concat([buffered, chunk as Buffer]);
        while (buffered.length >= 4 && buffered.length >= 4 + buffered.readUInt32BE()) {
          const end = 4 + buffered.readUInt32BE();
          events.push(eventOf(buffered.subarray(4, end)));
          buffered = buffered.subarray(end);
        }
        if (events.length >= count) break;
      }
      stream.close(constants.NGHTTP2_CANCEL);
      return { contentType: types[0], events };
    }

    test('a watch tells what JSON would tell', async () => {
      const path = `${collection}?watch=true&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&fieldSelector=metadata.name=seen`;
      const metadata = { name: 'seen', namespace: 'default' };
      const { client } = server;
      const shown: Plain[] = [];
      const act = async () => {
        const first = await client.create(configMaps, { metadata, data: { x: '1' } });
        shown.push(await json(`${collection}/seen`));
        await client.update(configMaps, { ...first, data: { x: '2' } });
        shown.push(await json(`${collection}/seen`));
        await client.delete(configMaps, metadata);
      };
      const { contentType, events } = await watched(path, mediaType, 4, act);
      assert.equal(contentType, `${mediaType};stream=watch`);
      assert.deepEqual(
        events.map(({ type }) => type),
        ['BOOKMARK', 'ADDED', 'MODIFIED', 'DELETED'],
      );
      const [bookmark, added, modified, deleted] = events.map(({ object }) => object);
      assert.deepEqual((bookmark!.metadata as Plain).annotations, { 'k8s.io/initial-events-end': 'true' });
      assert.deepEqual([added, modified], shown);
      const last = shown[1]!.metadata as Plain;
      const { resourceVersion } = deleted!.metadata as { readonly resourceVersion: string };
      assert.deepEqual(deleted, { ...shown[1], metadata: { ...last, resourceVersion } });
      assert.ok(Number(resourceVersion) > Number(last.resourceVersion));
    });

    test('a watch of metadata has bookmarks of metadata', async () => {
      const path = `${collection}?watch=true&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=none`;
      const { events } = await watched(path, metadataOnly, 1, async () => {});
      assert.equal(events[0]!.object.kind, 'PartialObjectMetadata');
    });
  });
}

function pick(from: Plain, names: readonly string[]): Plain {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}

/** `{type, {raw object}}`; the tables would read the object as JSON. */
function eventOf(frame: Buffer) {
  const reader = new WireReader(frame);
  assert.equal(reader.varint(), 0x0a);
  const type = reader.text();
  assert.equal(reader.varint(), 0x12);
  const extension = new WireReader(reader.bytes());
  assert.equal(extension.varint(), 0x0a);
  const object = extension.bytes();
  assert.ok(reader.done && extension.done);
  return { type, object: opened(object) };
}
