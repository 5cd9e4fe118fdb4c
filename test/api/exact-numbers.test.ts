/** Whole numbers of 64 bits in custom objects come back as they were written, whichever way they came. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  mutatingWebhookConfigurations,
} from '../../src/api/gen/admissionregistration-v1.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import type { ResourceType } from '../../src/apimachinery/resource.ts';
import { startWebhookServer } from '../../src/apiserver/webhook-client/webhook-server.fixture.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createHttpTransport } from '../../src/client/http-transport.ts';
import { createClient } from '../../src/client/typed-client.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { define, type Schema } from '../conformance/definitions.ts';
import { openCluster, type StoreName } from './cluster.ts';
import { openHttp1 } from './wire.ts';

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      properties: {
        serial: {
          type: 'integer',
          'x-kubernetes-validations': [{ rule: 'self != 9007199254740995', message: 'this one is taken' }],
        },
        known: { type: 'array', items: { type: 'integer' }, 'x-kubernetes-list-type': 'set' },
      },
    },
  },
} as Schema;

for (const storeName of ['memory', 'LMDB'] satisfies StoreName[]) {
  describe(`over ${storeName}`, async () => {
    const cluster = await openCluster({ storeName });
    const wire = openHttp1(cluster.admin);
    after(async () => {
      wire.close();
      await cluster.close();
    });
    const defined = await define(cluster.controlPlane.admin, { schema });
    const type: ResourceType = defined.type();
    const path = `/apis/${type.group}/v1/gadgets`;
    const head = `"apiVersion":"${type.group}/v1","kind":"Gadget"`;
    const call = (method: string, at: string, contentType: string, body: string) =>
      wire.ask({ method, path: at, headers: { 'content-type': contentType }, body });
    const read = async (accept = 'application/json', query = '') =>
      (await wire.ask({ path: `${path}/a${query}`, headers: { accept } })).text;

    it('JSON', async () => {
      const spec = '{"serial":9007199254740993,"free":{"deep":[-9223372036854775808,1]}}';
      const made = await call('POST', path, 'application/json', `{${head},"metadata":{"name":"a"},"spec":${spec}}`);
      assert.equal(made.status, 201);
      for (const text of [made.text, await read(), await read('application/json', '?pretty=true')]) {
        assert.match(
          text.replace(/\s/g, ''),
          /"spec":\{"serial":9007199254740993,"free":\{"deep":\[-9223372036854775808,1\]\}\}/,
        );
      }
      assert.match(await read('application/yaml'), /serial: 9007199254740993/);
    });

    it('a merge patch, and one that is about something else', async () => {
      const merge = 'application/merge-patch+json';
      assert.match(
        (await call('PATCH', `${path}/a`, merge, '{"spec":{"serial":9007199254740997}}')).text,
        /9007199254740997/,
      );
      assert.match(
        (await call('PATCH', `${path}/a`, merge, '{"metadata":{"labels":{"a":"b"}}}')).text,
        /9007199254740997/,
      );
    });

    it('a JSON patch, and its tests', async () => {
      const tested = '{"op":"test","path":"/spec/serial","value":9007199254740997}';
      const replaced = '{"op":"replace","path":"/spec/serial","value":9007199254740999}';
      const patch = (...operations: string[]) =>
        call('PATCH', `${path}/a`, 'application/json-patch+json', `[${operations.join(',')}]`);
      assert.match((await patch(tested, replaced)).text, /9007199254740999/);
      assert.equal((await patch(tested.replace('997', '996'), replaced)).status, 422);
    });

    it('apply, in YAML, and who owns them', async () => {
      const yaml = `apiVersion: ${type.group}/v1\nkind: Gadget\nspec:\n  serial: 9007199254741001\n  known: [9007199254740993]\n`;
      const applied = await call('PATCH', `${path}/a?fieldManager=me&force=true`, 'application/apply-patch+yaml', yaml);
      assert.match(applied.text, /"serial":9007199254741001,.*"known":\[9007199254740993\]/);
      assert.match(applied.text, /"v:9007199254740993":\{\}/);
      const again = await call('PATCH', `${path}/a?fieldManager=me`, 'application/apply-patch+yaml', yaml);
      assert.equal(again.text, applied.text);
    });

    it('rules see them, and so do sets', async () => {
      const put = async (spec: string) => {
        const { metadata } = JSON.parse(await read()) as { readonly metadata: object };
        return call(
          'PUT',
          `${path}/a`,
          'application/json',
          `{${head},"metadata":${JSON.stringify(metadata)},"spec":${spec}}`,
        );
      };
      assert.equal((await put('{"serial":9007199254740994}')).status, 200);
      assert.match((await put('{"serial":9007199254740995}')).text, /this one is taken/);
      assert.equal((await put('{"known":[9007199254740992,9007199254740993]}')).status, 200);
      assert.match(
        (await put('{"known":[9007199254740993,9007199254740993]}')).text,
        /spec\.known\[1\]: Duplicate value/,
      );
    });

    it('defaults of a definition', async () => {
      const number = { type: 'integer', default: 0 };
      const spec = { type: 'object', default: {}, properties: { serial: number } };
      const listed = await define(cluster.controlPlane.admin, {
        schema: { type: 'object', properties: { spec } } as Schema,
      });
      const at = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${listed.name}`;
      const serial = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/serial/default';
      const patch = `[{"op":"replace","path":"${serial}","value":9007199254740993}]`;
      const patched = await call('PATCH', at, 'application/json-patch+json', patch);
      assert.match(patched.text, /"default":9007199254740993/);
      const { group } = listed.type();
      const body = `{"apiVersion":"${group}/v1","kind":"Gadget","metadata":{"generateName":"a-"}}`;
      // The server follows its definitions.
      await eventually(
        async () => (await call('POST', `/apis/${group}/v1/gadgets`, 'application/json', body)).text,
        /"spec":\{"serial":9007199254740993\}/,
      );
    });

    it('what our own client reads and writes over the network', async () => {
      const transport = createHttpTransport({
        server: cluster.url,
        clock: systemClock,
        tls: cluster.admin,
      });
      const client = createClient(transport);
      const written = { metadata: { name: 'client' }, spec: { free: { serial: 9007199254740999n } } } as KubeObject;
      const made = (await client.create(type, written)) as KubeObject & { readonly spec: { readonly free: object } };
      assert.deepEqual(made.spec.free, { ...made.spec.free, serial: 9007199254740999n });
      for await (const { object } of client.watch(type, { signal: AbortSignal.timeout(20_000) })) {
        if (object.metadata.name !== 'client') continue;
        assert.deepEqual((object as typeof made).spec.free, made.spec.free);
        break;
      }
      await transport.close();
    });

    it('free-form data of a built-in kind, in JSON and in protobuf', async () => {
      const at = '/apis/apps/v1/namespaces/default/controllerrevisions';
      const body = '{"metadata":{"name":"numbers"},"revision":1,"data":{"serial":9007199254740993}}';
      assert.match((await call('POST', at, 'application/json', body)).text, /"data":\{"serial":9007199254740993\}/);
      for (const accept of ['application/json', 'application/vnd.kubernetes.protobuf']) {
        const { text } = await wire.ask({ path: `${at}/numbers`, headers: { accept } });
        assert.match(text, /\{"serial":9007199254740993\}/, accept);
      }
    });

    it('tables that hold the objects', async () => {
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const table = await read(accept, '?includeObject=Object');
      assert.match(table, /"known":\[9007199254740992,9007199254740993\]/);
    });

    it('patches of webhooks and policies', async () => {
      const { admin } = cluster.controlPlane;
      const patch = '[{"op":"add","path":"/spec/free/hook","value":9007199254740995}]';
      await using server = await startWebhookServer(({ request }: { readonly request: { readonly uid: string } }) => ({
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: {
          uid: request.uid,
          allowed: true,
          patchType: 'JSONPatch',
          patch: Buffer.from(patch).toString('base64'),
        },
      }));
      const rule = {
        apiGroups: [type.group],
        apiVersions: ['v1'],
        resources: ['gadgets'],
        operations: ['CREATE' as const],
      };
      await admin.create(mutatingWebhookConfigurations, {
        metadata: { name: type.group },
        webhooks: [
          {
            name: 'numbers.example.com',
            admissionReviewVersions: ['v1'],
            sideEffects: 'None',
            clientConfig: { url: server.url, caBundle: server.caBundle },
            rules: [rule],
          },
        ],
      });
      const expression = '[JSONPatch{op: "add", path: "/spec/free/policy", value: 9007199254740997}]';
      await admin.create(mutatingAdmissionPolicies, {
        metadata: { name: type.group },
        spec: {
          reinvocationPolicy: 'IfNeeded',
          matchConstraints: { resourceRules: [rule] },
          mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }],
        },
      });
      await admin.create(mutatingAdmissionPolicyBindings, {
        metadata: { name: type.group },
        spec: { policyName: type.group },
      });
      await eventually(async () => {
        const body = `{${head},"metadata":{"generateName":"b-"},"spec":{"free":{}}}`;
        const { text } = await call('POST', path, 'application/json', body);
        assert.match(text, /"hook":9007199254740995/);
        assert.match(text, /"policy":9007199254740997/);
      });
      await admin.delete(mutatingWebhookConfigurations, { name: type.group });
      await admin.delete(mutatingAdmissionPolicyBindings, { name: type.group });
    });
  });
}
