import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest } from '../request.ts';
import { type NegotiationOptions, negotiate } from './negotiation.ts';

function ask(accept: string | undefined, options?: NegotiationOptions, more: { query?: string; agent?: string } = {}) {
  const headers = { accept, 'user-agent': more.agent };
  return negotiate({ headers, query: new URLSearchParams(more.query) } as unknown as ApiRequest, options);
}

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const protobufTable = table.replace('json', 'vnd.kubernetes.protobuf');

const answers = [
  { accept: undefined, format: 'json' },
  { accept: '*/*', format: 'json' },
  { accept: 'application/yaml', format: 'yaml' },
  { accept: 'application/json;q=0.5, application/yaml', format: 'yaml' },
  { accept: 'application/vnd.kubernetes.protobuf,application/json', format: 'protobuf' },
  { accept: 'application/vnd.kubernetes.protobuf;stream=watch', format: 'protobuf' },
  { accept: `${protobufTable},${table}`, format: 'json', options: { transforms: true }, as: 'Table' },
  {
    accept: 'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json',
    format: 'protobuf',
    options: { transforms: true },
    as: 'PartialObjectMetadata',
  },
  { accept: `${table},application/json`, format: 'json', options: { transforms: true }, as: 'Table' },
  { accept: `${table},application/json`, format: 'json' },
  { accept: '*/*, application/yaml;q=0.1', format: 'yaml' },
  { accept: 'application/*, application/vnd.kubernetes.protobuf', format: 'protobuf' },
  { accept: 'nonsense, application/yaml', format: 'yaml' },
  { accept: 'text/html, *', format: 'json' },
  { accept: 'application/json;q=0', format: 'json' },
  { accept: 'application/json;q=many, application/yaml;q=0.1', format: 'yaml' },
  { accept: 'application/json;sv=v2, application/yaml;sv=v1', format: 'yaml' },
  { accept: 'application/json;v=v1, application/yaml', format: 'yaml' },
  { accept: '*/*;as=Table;v=v1;g=meta.k8s.io', format: 'json', options: { transforms: true }, as: 'Table' },
  { accept: 'application/vnd.kubernetes.protobuf, */*', format: 'json', options: { protobuf: false } },
  {
    accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
    format: 'json',
    options: { transforms: 'metadata' as const },
    as: 'PartialObjectMetadata',
  },
  {
    accept: 'application/json;as=Table;v=v9;g=meta.k8s.io, application/json',
    format: 'json',
    options: { transforms: true },
  },
];

for (const { accept, format, options, as } of answers) {
  test(`${accept ?? 'nothing'} is answered with ${as ?? format}${options ? ' where Tables are offered' : ''}`, () => {
    const output = ask(accept, options);
    assert.equal(output.format.name, format);
    assert.equal(output.transform?.as, as);
  });
}

test('what cannot be written is refused, and YAML is no stream', () => {
  assert.throws(() => ask('application/cbor'), { code: 406 });
  assert.throws(() => ask(protobufTable, { transforms: true }), { code: 406 });
  assert.throws(() => ask('application/json;stream=other'), { code: 406 });
  assert.throws(() => ask(table), { code: 406 });
  assert.throws(() => ask(table, { transforms: 'metadata' }), { code: 406 });
  assert.throws(() => ask('Application/JSON'), { code: 406 });
  assert.throws(() => ask('application/vnd.kubernetes.protobuf', { protobuf: false }), {
    code: 406,
    message:
      'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf',
  });
  assert.throws(() => ask('application/yaml, application/json', { stream: true }), {
    code: 406,
    message:
      'only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch',
  });
});

test('people get it pretty', () => {
  assert.equal(ask(undefined, {}, { agent: 'curl/8.1' }).pretty, true);
  assert.equal(ask(undefined, {}, { agent: 'kubectl/v1.33' }).pretty, false);
  assert.equal(ask(undefined, {}, { agent: 'curl/8.1', query: 'pretty=false' }).pretty, false);
  assert.equal(ask('application/json;pretty=1').pretty, true);
});
