/**
 * Conversion webhooks, well and badly behaved: what comes of lists and watches over objects that lie in several versions, what a webhook may
 * change and what it may not, and that one that does not answer is in nobody's way but its own.
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type CustomResourceDefinition, customResourceDefinitions } from '../../src/api/gen/apiextensions-v1.ts';
import { namespaces } from '../../src/api/gen/core-v1.ts';
import { findCondition } from '../../src/apimachinery/conditions.ts';
import { StatusError } from '../../src/apimachinery/status.ts';
import { startWebhookServer, type WebhookServer } from '../../src/apiserver/webhook-client/webhook-server.fixture.ts';
import type { Client } from '../../src/client/index.ts';
import { follow, when } from '../conformance/cluster.ts';
import { type CustomObject, type Defined, define, undefine } from '../conformance/definitions.ts';
import { openCluster, type StoreName } from './cluster.ts';

interface Request {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly CustomObject[];
}

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: Request;
}

type Respond = (request: Request, review: Review) => object;

const reviewed = (convertedObjects: readonly unknown[]): object => ({
  result: { status: 'Success' },
  convertedObjects,
});

/** What a gadget is called: `size` in v1, `length` in v2, `extent` in v3. */
const fields: Readonly<Record<string, string>> = { v1: 'size', v2: 'length', v3: 'extent' };
const versionOf = (apiVersion = '') => apiVersion.slice(apiVersion.indexOf('/') + 1);

function converted(object: CustomObject, apiVersion: string): CustomObject {
  const { [fields[versionOf(object.apiVersion)]!]: value, ...rest } = object;
  return { ...rest, apiVersion, [fields[versionOf(apiVersion)]!]: value } as CustomObject;
}

const honest: Respond = ({ objects, desiredAPIVersion }) =>
  reviewed(objects.map((object) => converted(object, desiredAPIVersion)));

/** A webhook whose answers the test chooses as it goes. */
async function webhookWith(): Promise<WebhookServer & { respond: Respond }> {
  const chosen = { respond: honest };
  const server = await startWebhookServer((review: Review) => {
    const answer = chosen.respond(review.request, review);
    if ('apiVersion' in answer) return answer;
    const { apiVersion, kind } = review;
    return { apiVersion, kind, response: { uid: review.request.uid, ...answer } };
  });
  return Object.assign(chosen, server);
}

type Conversion = NonNullable<CustomResourceDefinition['spec']['conversion']>;

const conversionBy = ({ url, caBundle }: Pick<WebhookServer, 'url' | 'caBundle'>): Conversion => ({
  strategy: 'Webhook',
  webhook: { clientConfig: { url, caBundle }, conversionReviewVersions: ['v1'] },
});

const versions = [{ name: 'v1' }, { name: 'v2' }, { name: 'v3' }];

async function storeIn(client: Client, { name }: Defined, version: string): Promise<void> {
  const definition = await client.get(customResourceDefinitions, { name });
  const next = definition.spec.versions.map((one) => ({ ...one, storage: one.name === version }));
  await client.update(customResourceDefinitions, { ...definition, spec: { ...definition.spec, versions: next } });
}

async function refusal(call: Promise<unknown>): Promise<StatusError> {
  const outcome = await call.catch((error: unknown) => error);
  assert.ok(outcome instanceof StatusError, `not refused: ${JSON.stringify(outcome)}`);
  return outcome;
}

const first = ({ objects, desiredAPIVersion }: Request) => converted(objects[0]!, desiredAPIVersion);
const withMetadata = (request: Request, metadata: object): object => {
  const object = first(request);
  return reviewed([{ ...object, metadata: { ...object.metadata, ...metadata } }]);
};

/** Answers to the question to make one v2 object a v1, and what the client hears of them after the webhook's name. */
const failures: Readonly<Record<string, readonly [Respond, RegExp]>> = {
  'no response': [(_, { apiVersion, kind }) => ({ apiVersion, kind }), /failed: no response provided$/],
  'an answer to another question': [
    () => ({ uid: 'other', ...reviewed([]) }),
    /failed: expected response\.uid="[-0-9a-f]{36}", got "other"$/,
  ],
  'another kind of answer': [
    (_, { kind }) => ({ apiVersion: 'apiextensions.k8s.io/v1beta1', kind, response: {} }),
    /failed: expected webhook response of apiextensions\.k8s\.io\/v1, Kind=ConversionReview, got apiextensions\.k8s\.io\/v1beta1, Kind=ConversionReview$/,
  ],
  'a failure with its reason': [() => ({ result: { status: 'Failure', message: 'too heavy' } }), /failed: too heavy$/],
  'a failure without': [
    () => ({ result: { status: 'Failure' } }),
    /failed: response\.result\.status was 'Failure', not 'Success'$/,
  ],
  'too few objects': [() => reviewed([]), /returned 0 objects, expected 1$/],
  'the version it had': [
    ({ objects }) => reviewed(objects),
    /returned invalid object at index 0: invalid groupVersion \(expected \S+\/v1, received \S+\/v2\)$/,
  ],
  'another kind': [
    (request) => reviewed([{ ...first(request), kind: 'Widget' }]),
    /returned invalid object at index 0: invalid kind \(expected Gadget, received Widget\)$/,
  ],
  'another name': [
    (request) => withMetadata(request, { name: 'b' }),
    /returned invalid object: must have the same name: a != b$/,
  ],
  'another namespace': [
    (request) => withMetadata(request, { namespace: 'c' }),
    /returned invalid object: must have the same namespace: default != c$/,
  ],
  'another uid': [
    (request) => withMetadata(request, { uid: 'x' }),
    /returned invalid object: must have the same UID: \S+ != x$/,
  ],
  'a label that is none': [
    (request) => withMetadata(request, { labels: { a: 'b c' } }),
    /returned invalid metadata: metadata\.labels: Invalid value: "b c": a valid label must be/,
  ],
  'a label that is a number': [
    (request) => withMetadata(request, { labels: { a: 1 } }),
    /returned invalid metadata: metadata\.labels\[a\] must be a string, but is int64 in converted object$/,
  ],
  'labels that are a text': [
    (request) => withMetadata(request, { labels: 'a' }),
    /returned invalid metadata: invalid metadata\.labels of type string in converted object$/,
  ],
};

for (const storeName of ['memory', 'LMDB'] satisfies StoreName[]) {
  describe(`conversion over ${storeName}`, async () => {
    const cluster = await openCluster({ storeName });
    const client = cluster.controlPlane.admin;
    const webhook = await webhookWith();
    after(async () => {
      await cluster.close();
      await webhook[Symbol.asyncDispose]();
    });
    const defined = await define(client, { namespaced: true, versions, conversion: conversionBy(webhook) });
    const at = (version: string) => defined.type(version);
    const gadget = (name: string, rest: object): CustomObject => ({
      metadata: { namespace: 'default', name },
      ...rest,
    });

    for (const [what, [respond, message]] of Object.entries(failures)) {
      it(`tells of ${what}`, async () => {
        webhook.respond = respond;
        const refused = await refusal(client.create(at('v2'), gadget('a', { length: 1 })));
        webhook.respond = honest;
        assert.equal(refused.code, 500);
        const subject = `conversion webhook for ${at('v2').group}/v2, Kind=Gadget `;
        assert.ok(refused.message.startsWith(subject), refused.message);
        assert.match(refused.message, message);
      });
    }

    it('lets a webhook change labels and annotations, and nothing else of the metadata', async () => {
      webhook.respond = (request) =>
        withMetadata(request, {
          labels: { by: 'webhook' },
          annotations: { a: 'b' },
          finalizers: ['example.com/x'],
          generation: 9,
        });
      const { metadata } = await client.create(at('v2'), gadget('labelled', { length: 1 }));
      webhook.respond = honest;
      assert.deepEqual([metadata.labels, metadata.annotations], [{ by: 'webhook' }, { a: 'b' }]);
      assert.deepEqual([metadata.finalizers, metadata.generation], [undefined, 1]);
      await client.delete(at('v1'), { namespace: 'default', name: 'labelled' });
    });

    it('lists what lies in several versions in the one that is asked for, each asked about once', async () => {
      await client.create(at('v1'), gadget('one', { size: 1 }));
      await storeIn(client, defined, 'v2');
      await client.create(at('v1'), gadget('two', { size: 2 }));
      for (const [version, field] of Object.entries(fields)) {
        const { items } = await client.list(at(version), { namespace: 'default' });
        assert.deepEqual(
          items.map((item) => [item.apiVersion, item[field]]),
          [
            [`${at(version).group}/${version}`, 1],
            [`${at(version).group}/${version}`, 2],
          ],
        );
      }
      const asked = webhook.received.length;
      await client.list(at('v3'), { namespace: 'default' });
      assert.equal(webhook.received.length, asked);
    });

    it('shows a watch in its own version what is written in others', async () => {
      using changes = await follow(client, at('v3'), { namespace: 'default' });
      const made = await client.create(at('v1'), gadget('seen', { size: 5 }));
      const added = await changes.next();
      assert.deepEqual(
        [added.type, added.object.apiVersion, added.object.extent],
        ['ADDED', `${at('v3').group}/v3`, 5],
      );
      await client.patch(at('v2'), { namespace: 'default', name: 'seen' }, { type: 'merge', body: { length: 6 } });
      const changed = await changes.next();
      assert.deepEqual([changed.type, changed.object.extent, changed.object.size], ['MODIFIED', 6, undefined]);
      assert.equal(changed.object.metadata.uid, made.metadata.uid);
      await client.delete(at('v1'), { namespace: 'default', name: 'seen' });
      const gone = await changes.next();
      assert.deepEqual([gone.type, gone.object.extent], ['DELETED', 6]);
    });

    it('that cannot be asked for stays with its own definition', async () => {
      const nowhere = { url: 'https://127.0.0.1:1', caBundle: webhook.caBundle };
      const broken = await define(client, { namespaced: true, versions, conversion: conversionBy(nowhere) });
      const made = await client.create(namespaces, { metadata: { generateName: 'broken-' }, spec: {} });
      const namespace = made.metadata.name!;
      await client.create(broken.type('v1'), { metadata: { namespace, name: 'a' }, size: 1 });
      const refused = await refusal(client.list(broken.type('v2'), { namespace }));
      assert.equal(refused.code, 500);
      assert.match(
        refused.message,
        /^conversion webhook for \S+\/v1, Kind=Gadget failed: Post "https:\/\/127\.0\.0\.1:1\S*": /,
      );
      const { items } = await client.list(broken.type('v1'), { namespace });
      assert.equal(items.length, 1, 'what needs no conversion is served');
      const untouched = await client.create(at('v1'), gadget('untouched', { size: 1 }));
      assert.equal(untouched.size, 1);
      await undefine(client, broken);
    });

    it('that cannot be asked for holds up the deletion of a definition only where it is needed, which its status tells', async () => {
      const nowhere = { url: 'https://127.0.0.1:1', caBundle: webhook.caBundle };
      const mixed = await define(client, { namespaced: true, versions, conversion: conversionBy(nowhere) });
      await client.create(mixed.type('v1'), gadget('a', { size: 1 }));
      await storeIn(client, mixed, 'v2');
      await client.delete(customResourceDefinitions, { name: mixed.name });
      const waiting = await when(
        client,
        customResourceDefinitions,
        { name: mixed.name },
        (definition) =>
          findCondition(definition?.status?.conditions, 'Terminating')?.reason === 'InstanceDeletionFailed',
      );
      const condition = findCondition(waiting?.status?.conditions, 'Terminating');
      assert.match(condition?.message ?? '', /^could not list instances: conversion webhook for /);
      const spec = { conversion: { strategy: 'None', webhook: null } };
      await client.patch(customResourceDefinitions, { name: mixed.name }, { type: 'merge', body: { spec } });
      await when(client, customResourceDefinitions, { name: mixed.name }, (definition) => definition === undefined);
    });
  });
}
