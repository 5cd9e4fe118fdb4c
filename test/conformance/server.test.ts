/** What a server says about itself, and in which forms it answers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from './cluster.ts';

const { client } = await startCluster({ controllers: [], scheduler: false });

test('[sig-api-machinery] server version should find the server version [Conformance]', async () => {
  const version = (await client.raw({ method: 'GET', path: '/version' })) as {
    readonly major: string;
    readonly minor: string;
  };
  assert.match(version.major, /^\d+$/);
  assert.match(version.minor, /^\d+\+?$/);
  assert.equal(`${version.major}.${version.minor.replace(/\+$/, '')}`, '1.36');
});

test('[sig-api-machinery] Servers with support for Table transformation should return a 406 for a backend which does not implement metadata [Conformance]', async () => {
  const asking = client.raw({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    body: {
      kind: 'SelfSubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      spec: { nonResourceAttributes: { path: '/', verb: 'get' } },
    },
  });
  await assert.rejects(asking, { code: 406 });
});
