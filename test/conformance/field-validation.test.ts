/** Strict validation of fields that a kind does not have, or that stand twice. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { deployments } from '../../src/api/gen/apps-v1.ts';
import { openHttp1, statusOf } from '../api/wire.ts';
import { startCluster } from './cluster.ts';

const { client, connection, namespace: makeNamespace } = await startCluster({ scheduler: false });
const { ca, cert, key } = connection.tls as { readonly ca: string; readonly cert: string; readonly key: string };
const wire = openHttp1({ url: connection.server, ca, cert, key });
after(() => wire.close());

const template =
  '{"metadata":{"labels":{"app":"nginx"}},"spec":{"containers":[{"name":"nginx","image":"nginx:latest"}]}}';
const selector = '"selector":{"matchLabels":{"app":"nginx"}}';

/** Bytes, because no JSON of ours has a field twice. */
async function create(namespace: string, metadata: string, spec: string, fieldValidation: string) {
  return wire.ask({
    method: 'POST',
    path: `/apis/apps/v1/namespaces/${namespace}/deployments?fieldManager=field_validation_mgr&fieldValidation=${fieldValidation}`,
    headers: { 'content-type': 'application/json' },
    body: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"my-dep",${metadata}"labels":{"app":"nginx"}},"spec":{${spec}${selector},"template":${template}}}`,
  });
}

async function assertStrict(metadata: string, spec: string, problems: string): Promise<void> {
  const namespace = await makeNamespace();
  const refused = await create(namespace, metadata, spec, 'Strict');
  assert.equal(refused.status, 400);
  assert.ok(statusOf(refused).message?.includes(`strict decoding error: ${problems}`), refused.text);
  assert.deepEqual((await client.list(deployments, { namespace })).items, []);
  assert.equal((await create(namespace, metadata, spec, 'Ignore')).status, 201);
}

test('[sig-api-machinery] FieldValidation should detect unknown and duplicate fields of a typed object [Conformance]', async () => {
  await assertStrict(
    '',
    '"unknownField":"foo","replicas":2,"replicas":3,',
    'unknown field "spec.unknownField", duplicate field "spec.replicas"',
  );
});

test('[sig-api-machinery] FieldValidation should detect unknown metadata fields of a typed object [Conformance]', async () => {
  await assertStrict('"unknownMeta":"foo",', '', 'unknown field "metadata.unknownMeta"');
});
