import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { builtinResources } from '../../api/schema.ts';
import { OpenApi } from '../openapi/openapi.ts';
import type { ApiRequest } from '../request.ts';
import { Discovery } from './discovery.ts';
import { discoveryReply, openApiReply } from './document-reply.ts';

const resources = builtinResources().filter((row) => row.enabledByDefault);
const discovery = new Discovery({ resources });
const openApi = new OpenApi({ resources, version: 'v1.36.2' });
const nowMs = Date.UTC(2026, 0, 2);

function get(path: string, headers: ApiRequest['headers'] = {}): ApiRequest {
  const url = new URL(path, 'http://server');
  return {
    method: 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers,
    body: { kind: 'none' },
    remoteAddress: '127.0.0.1',
    clientCertificates: [],
    signal: new AbortController().signal,
  };
}

describe('kept documents', () => {
  it('come whole the first time and as 304 to those who have them', () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const first = discoveryReply(get('/apis', { accept }), discovery);
    assert.equal(first?.status, 200);
    assert.equal(first.headers.vary, 'Accept');
    const again = discoveryReply(
      get('/apis', { accept, 'if-none-match': `"other", ${first.headers.etag}` }),
      discovery,
    );
    assert.equal(again?.status, 304);
    assert.deepEqual(again.body, { kind: 'none' });
  });

  it('are always told anew in the forms of discovery that are older than ETags', () => {
    assert.deepEqual(discoveryReply(get('/apis'), discovery)?.headers, { 'content-type': 'application/json' });
  });

  it('are refused to those who read none of their forms', () => {
    const reply = openApiReply(get('/openapi/v2', { accept: 'text/html' }), openApi, nowMs);
    assert.deepEqual(reply, { status: 406, headers: { vary: 'Accept-Encoding, Accept' }, body: { kind: 'none' } });
    for (const accept of ['', 'text/html, */*', 'application/json']) {
      const { status, headers } = openApiReply(get('/openapi/v2', { accept }), openApi, nowMs)!;
      assert.deepEqual([status, headers['content-type']], [200, 'application/json'], accept);
    }
  });

  it('are found with and without a slash at the end', () => {
    assert.equal(discoveryReply(get('/apis/apps/v1/'), discovery)?.status, 200);
    assert.equal(discoveryReply(get('/apis/apps/v3/'), discovery), undefined);
    assert.equal(openApiReply(get('/openapi/v4'), openApi, nowMs), undefined);
  });

  it('may be kept for a year where the URL has the hash of the content', () => {
    const index = JSON.parse(openApi.v3Index().body.toString());
    const url = index.paths['apis/apps/v1'].serverRelativeURL;
    const reply = openApiReply(get(url), openApi, nowMs);
    assert.equal(reply?.status, 200);
    assert.equal(reply.headers['cache-control'], 'public, immutable');
    assert.equal(reply.headers.expires, 'Sat, 02 Jan 2027 00:00:00 GMT');
    assert.deepEqual(openApiReply(get('/openapi/v3/apis/apps/v1?hash=OLD'), openApi, nowMs), {
      status: 301,
      headers: { location: url },
      body: { kind: 'none' },
    });
    assert.equal(openApiReply(get('/openapi/v3/apis/apps/v1'), openApi, nowMs)?.headers['cache-control'], undefined);
  });
});
