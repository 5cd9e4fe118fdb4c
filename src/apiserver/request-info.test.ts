import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRequestInfo } from './request-info.ts';

const core = { isResource: true, group: '', version: 'v1', namespace: '', name: '', subresource: '', rest: [] };

const cases = [
  { url: 'GET /api/v1/namespaces', is: { ...core, verb: 'list', resource: 'namespaces' } },
  { url: 'GET /api/v1/namespaces/a', is: { ...core, verb: 'get', resource: 'namespaces', name: 'a', namespace: 'a' } },
  {
    url: 'PUT /api/v1/namespaces/a/status',
    is: { ...core, verb: 'update', resource: 'namespaces', name: 'a', namespace: 'a', subresource: 'status' },
  },
  {
    url: 'PUT /api/v1/namespaces/a/finalize',
    is: { ...core, verb: 'update', resource: 'namespaces', name: 'a', namespace: 'a', subresource: 'finalize' },
  },
  { url: 'GET /api/v1/namespaces/a/pods', is: { ...core, verb: 'list', resource: 'pods', namespace: 'a' } },
  { url: 'GET /api/v1/pods', is: { ...core, verb: 'list', resource: 'pods' } },
  { url: 'GET /api/v1/pods?watch=true', is: { ...core, verb: 'watch', resource: 'pods' } },
  { url: 'GET /api/v1/pods?watch=0', is: { ...core, verb: 'list', resource: 'pods' } },
  { url: 'GET /api/v1/watch/pods', is: { ...core, verb: 'watch', resource: 'pods' } },
  {
    url: 'GET /api/v1/watch/namespaces/a/pods/b',
    is: { ...core, verb: 'watch', resource: 'pods', namespace: 'a', name: 'b' },
  },
  {
    url: 'HEAD /api/v1/namespaces/a/pods/b',
    is: { ...core, verb: 'get', resource: 'pods', namespace: 'a', name: 'b' },
  },
  {
    url: 'POST /api/v1/namespaces/a/pods/b/exec',
    is: { ...core, verb: 'create', resource: 'pods', namespace: 'a', name: 'b', subresource: 'exec' },
  },
  {
    url: 'GET /api/v1/namespaces/a/services/http:b:80/proxy/x/y',
    is: {
      ...core,
      verb: 'get',
      resource: 'services',
      namespace: 'a',
      name: 'http:b:80',
      subresource: 'proxy',
      rest: ['x', 'y'],
    },
  },
  {
    url: 'GET /api/v1/pods?fieldSelector=metadata.name%3Dx',
    is: { ...core, verb: 'list', resource: 'pods', name: 'x', fieldSelector: 'metadata.name=x' },
  },
  {
    url: 'DELETE /apis/apps/v1/namespaces/a/deployments?labelSelector=x',
    is: {
      ...core,
      group: 'apps',
      verb: 'deletecollection',
      resource: 'deployments',
      namespace: 'a',
      labelSelector: 'x',
    },
  },
  {
    url: 'PATCH /apis/apps/v1/namespaces/a/deployments/b/scale',
    is: {
      ...core,
      group: 'apps',
      verb: 'patch',
      resource: 'deployments',
      namespace: 'a',
      name: 'b',
      subresource: 'scale',
    },
  },
];

for (const { url, is } of cases) {
  test(`${url} means ${is.verb} ${is.resource}`, () => {
    assert.deepEqual(defined(parse(url)), { ...is, path: pathOf(url) });
  });
}

for (const path of ['/', '/api', '/api/v1', '/apis', '/apis/apps', '/apis/apps/v1', '/healthz', '/openapi/v3/api/v1']) {
  test(`GET ${path} is no resource`, () => {
    const info = parse(`GET ${path}`);
    assert.equal(info.isResource, false);
    assert.equal(info.verb, 'get');
    assert.equal(info.path, path);
  });
}

test('a watch of nothing is refused', () => {
  assert.throws(() => parse('GET /api/v1/watch'), { name: 'UndecidedError' });
});

function parse(text: string) {
  const [method = '', url = ''] = text.split(' ');
  return parseRequestInfo(method, pathOf(text), new URLSearchParams(url.split('?')[1] ?? ''));
}

function pathOf(text: string): string {
  return text.split(' ')[1]!.split('?')[0]!;
}

function defined(object: object): object {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
