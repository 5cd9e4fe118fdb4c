import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiRequest, ApiResponse } from '../request.ts';
import { crossOriginProblems, withCrossOrigin } from './cross-origin.ts';

const handled: string[] = [];
const handle = withCrossOrigin(
  async ({ method }): Promise<ApiResponse> => {
    handled.push(method);
    return { status: 200, headers: { 'content-type': 'text/plain' }, body: { kind: 'bytes', chunks: [] } };
  },
  ['//example\\.com(:|$)', '^https://.*\\.example\\.org$'],
);

function ask(method: string, origin?: string): Promise<ApiResponse> {
  handled.length = 0;
  return handle({
    method,
    path: '/version',
    query: new URLSearchParams(),
    headers: { origin },
    body: { kind: 'none' },
    remoteAddress: '',
    clientCertificates: [],
    signal: new AbortController().signal,
  } satisfies ApiRequest);
}

describe('pages of other origins', () => {
  it('are let through where a pattern names them', async () => {
    for (const origin of ['https://example.com', 'http://example.com:8080', 'https://a.example.org']) {
      const { status, headers } = await ask('GET', origin);
      assert.equal(status, 200);
      assert.deepEqual(headers, {
        'content-type': 'text/plain',
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
        'access-control-allow-headers':
          'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
        'access-control-expose-headers': 'Date',
        'access-control-allow-credentials': 'true',
      });
    }
  });

  it('are told what they may send before they send, without anybody being asked who they are', async () => {
    const { status, headers } = await ask('OPTIONS', 'https://example.com');
    assert.equal(status, 204);
    assert.equal(headers['access-control-allow-origin'], 'https://example.com');
    assert.deepEqual(handled, []);
  });

  it('are clients like others where no pattern names them', async () => {
    for (const origin of [undefined, 'https://example.community', 'https://example.com.evil', 'null']) {
      const { headers } = await ask('OPTIONS', origin);
      assert.deepEqual(headers, { 'content-type': 'text/plain' });
      assert.deepEqual(handled, ['OPTIONS']);
    }
  });
});

describe('patterns of origins', () => {
  it('must hold on to both ends of a name', () => {
    assert.deepEqual(crossOriginProblems(['//example\\.com(:|$)', '^https://example\\.com$']), []);
    for (const loose of ['example.com', '//example.com', 'example.com$']) {
      const [problem = ''] = crossOriginProblems([loose]);
      assert.match(
        problem,
        /^--cors-allowed-origins has an invalid regular expression: .* does not pin to start\/end of host/,
      );
    }
  });

  it('must be patterns, and something', () => {
    assert.match(
      crossOriginProblems(['('])[0]!,
      /invalid regular expression: error parsing regexp: missing closing \)/,
    );
    assert.match(
      crossOriginProblems([''])[0]!,
      /^empty value in --cors-allowed-origins, help: List of allowed origins/,
    );
  });
});
