/** Bodies that cannot be read, or are not of the kind that is asked for. */

import { json, mergePatch, yaml } from '../wire.ts';
import {
  bad,
  bodyLimit,
  collection,
  configMap,
  deploymentsPath,
  hex,
  invalid,
  kindStruct,
  type Mistake,
  noJson,
  notFound,
  patch,
  podsPath,
  post,
  put,
  scheme,
  unfit,
  unrecognized,
} from './mistake.ts';

export const brokenBodies: readonly Mistake[] = [
  { name: 'an empty body', ...post(''), ...bad, message: noJson('unexpected end of JSON input', '<empty>') },
  {
    name: 'JSON that ends too early',
    ...post('{"a": {'),
    ...bad,
    message: noJson('unexpected end of JSON input', '{"a": {'),
  },
  {
    name: 'JSON with something after it',
    ...post('{}{}'),
    ...bad,
    message: noJson("invalid character '{' after top-level value", '{}{}'),
  },
  {
    name: 'a word that JSON does not know',
    ...post('{"a": nope}'),
    ...bad,
    message: noJson("invalid character 'o' in literal null (expecting 'u')", '{"a": nope}'),
  },
  {
    name: 'bytes that are nothing',
    ...post(Buffer.from([0, 1, 2])),
    ...bad,
    message: noJson("invalid character '\\x00' looking for beginning of value", '000102'),
  },
  {
    name: 'a list for an object',
    ...post('[]'),
    ...bad,
    message: noJson(`json: cannot unmarshal array into Go value of type ${kindStruct}`, hex('[]')),
  },
  {
    name: 'JSON nested a hundred thousand levels deep',
    ...post('['.repeat(100_000)),
    ...bad,
    message: noJson("invalid character '[' exceeded max depth", `${hex('['.repeat(30))} ...`),
  },
  {
    name: 'an object nested too deeply',
    ...post(configMap('deep', `,"data":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`)),
    ...bad,
    message: noJson("invalid character '{' exceeded max depth", '{"kind":"ConfigMap","apiVersio ...'),
  },
  {
    name: 'a body above 3 MiB',
    ...post(Buffer.alloc(bodyLimit + 1, ' ')),
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: 'Request entity too large: limit is 3145728',
  },
  {
    name: 'a patch above 3 MiB',
    ...patch(mergePatch, `{"data":{"x":"${'y'.repeat(bodyLimit)}"}}`),
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: 'Request entity too large: limit is 3145728',
  },
  {
    name: 'YAML that is none',
    ...post('a: [', collection, yaml),
    ...bad,
    // The YAML parser's own words follow.
    message: /^the object provided is unrecognized \(must be of type ConfigMap\): yaml: line 1: .+ \(613a205b\)$/,
  },
  {
    name: 'YAML with tabs',
    ...post('a:\n\tb: 1\n', collection, yaml),
    ...bad,
    message: /^the object provided is unrecognized \(must be of type ConfigMap\): yaml: line 2: /,
  },
  {
    name: 'YAML that is a mere word',
    ...post('hello', collection, yaml),
    ...bad,
    message: noJson(`json: cannot unmarshal string into Go value of type ${kindStruct}`, hex('hello')),
  },
  {
    name: 'an anchor nobody set',
    ...post('a: *x', collection, yaml),
    ...bad,
    message: unrecognized("yaml: unknown anchor 'x' referenced", hex('a: *x')),
  },
  {
    name: 'an anchor that contains itself',
    ...post('a: &x [*x]', collection, yaml),
    ...bad,
    message: unrecognized("yaml: anchor 'x' value contains itself", hex('a: &x [*x]')),
  },
  {
    name: 'a billion laughs',
    ...post(billionLaughs(), collection, yaml),
    ...bad,
    message: /: yaml: document contains excessive aliasing \(/,
  },
  {
    name: 'YAML nested without end',
    ...post('['.repeat(50_000), collection, yaml),
    ...bad,
    message: /: yaml: exceeded max depth of 10000 \(/,
  },
];

function billionLaughs(): string {
  const levels = [...'bcdefghij'].map((level, index) => {
    const below = String.fromCharCode('a'.charCodeAt(0) + index);
    return `${level}: &${level} [${Array(9).fill(`*${below}`).join(',')}]`;
  });
  return ['kind: ConfigMap', 'apiVersion: v1', 'a: &a [lol, lol, lol, lol]', ...levels].join('\n');
}

export const wrongTypes: readonly Mistake[] = [
  {
    name: 'a number for a text',
    ...post('{"data":{"x":1}}'),
    ...bad,
    message: unfit('json: cannot unmarshal number into Go struct field ConfigMap.data of type string'),
  },
  {
    name: 'a list for a struct',
    ...post('{"metadata":[]}'),
    ...bad,
    message: unfit('json: cannot unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta'),
  },
  {
    name: 'a text for a number',
    ...post('{"spec":{"replicas":"3"}}', deploymentsPath),
    ...bad,
    message:
      'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
  },
  {
    name: 'a number too large for its field',
    ...post('{"spec":{"replicas":3000000000}}', deploymentsPath),
    ...bad,
    message:
      'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32',
  },
  {
    name: 'a quantity that is none',
    ...post('{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"lots"}}}]}}', podsPath),
    ...bad,
    message:
      'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression \'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$\'',
  },
  {
    name: 'a time that is none',
    ...post('{"metadata":{"creationTimestamp":"yesterday"}}'),
    ...bad,
    message: unfit('parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'),
  },
  {
    name: 'data that is not base64',
    ...post('{"data":{"a":"%"}}', '/api/v1/namespaces/default/secrets'),
    ...bad,
    message: 'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0',
  },
];

export const wrongKinds: readonly Mistake[] = [
  {
    name: 'a kind that is a number',
    ...post('{"kind":5}'),
    ...bad,
    message: noJson('json: cannot unmarshal number into Go struct field .kind of type string', '{"kind":5}'),
  },
  {
    name: 'a version with too many slashes',
    ...post('{"apiVersion":"a/b/c"}'),
    ...bad,
    message: unrecognized('unexpected GroupVersion string: a/b/c', '{"apiVersion":"a/b/c"}'),
  },
  {
    name: 'an unknown kind',
    ...post('{"kind":"Nonsense","apiVersion":"v1"}'),
    ...bad,
    message: `Nonsense in version "v1" cannot be handled as a ConfigMap: no kind "Nonsense" is registered for version "v1" in scheme "${scheme}"`,
  },
  {
    name: 'an unknown version',
    ...post('{"kind":"ConfigMap","apiVersion":"v9"}'),
    ...bad,
    message: `ConfigMap in version "v9" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v9" in scheme "${scheme}"`,
  },
  {
    name: 'an unknown group',
    ...post('{"kind":"ConfigMap","apiVersion":"example.com/v1"}'),
    ...bad,
    message: unfit(`no kind "ConfigMap" is registered for version "example.com/v1" in scheme "${scheme}"`),
  },
  {
    name: 'another kind than the resource’s',
    ...post('{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"}}'),
    ...bad,
    message:
      'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
  },
  {
    name: 'another version than the path’s',
    ...post(
      '{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v1","metadata":{"name":"x"}}',
      '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
    ),
    ...bad,
    message: 'the API version in the data (autoscaling/v1) does not match the expected API version (autoscaling/v2)',
  },
  {
    name: 'another namespace than the path’s',
    ...post('{"metadata":{"name":"x","namespace":"other"}}'),
    ...bad,
    message: 'the namespace of the provided object does not match the namespace sent on the request',
  },
  {
    name: 'a namespace that is not there',
    ...post(configMap('x'), '/api/v1/namespaces/missing/configmaps'),
    ...notFound,
    message: 'namespaces "missing" not found',
  },
];

const strictly = (path: string) => `${path}?fieldValidation=Strict`;
export const unwantedFields: readonly Mistake[] = [
  {
    name: 'unknown and repeated fields under Strict, all at once',
    ...post(
      '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"bar":1,"name":"x"},"foo":1,"data":{"a":"1","a":"2"}}',
      strictly(collection),
    ),
    ...bad,
    message: unfit(
      'strict decoding error: unknown field "metadata.bar", unknown field "foo", duplicate field "data.a"',
    ),
  },
  {
    name: 'a field in the wrong case under Strict',
    ...post(configMap('x', ',"Data":{}'), strictly(collection)),
    ...bad,
    message: unfit('strict decoding error: unknown field "Data"'),
  },
  {
    name: 'a repeated key of YAML under Strict',
    ...post(
      'kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\ndata:\n  a: "1"\n  a: "2"\n',
      strictly(collection),
      yaml,
    ),
    ...bad,
    message: unfit('strict decoding error: yaml: unmarshal errors:\n  line 6: key "a" already set in map'),
  },
  {
    name: 'an unknown field of an update under Strict',
    ...put(configMap('a', ',"foo":1'), strictly(`${collection}/a`)),
    ...bad,
    message: unfit('strict decoding error: unknown field "foo"'),
  },
  {
    name: 'a field validation of an unknown sort',
    ...post(configMap('x'), `${collection}?fieldValidation=Perhaps`),
    ...invalid,
    message:
      'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Perhaps": supported values: "", "Ignore", "Strict", "Warn"',
  },
  {
    name: 'a dry run of an unknown sort',
    ...post(configMap('x'), `${collection}?dryRun=Some`),
    ...invalid,
    message: 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
  },
  {
    name: 'a field manager with too long a name and unprintable signs in it',
    ...post(configMap('x'), `${collection}?fieldManager=%07${'x'.repeat(128)}`),
    ...invalid,
    causes: ['fieldManager', 'fieldManager'],
    message:
      /^CreateOptions\.meta\.k8s\.io "" is invalid: \[fieldManager: Too long: may not be more than 128 bytes, fieldManager: Invalid value: "\\ax+": invalid character U\+0007 \(at position 0\)\]$/,
  },
];

const unreadable = 'the body of the request was in an unknown format - accepted media types include: ';
const writable = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
export const mediaTypes: readonly Mistake[] = [
  ...['text/html', 'application', 'application/x-www-form-urlencoded', 'application/cbor'].map((type) => ({
    name: `a body of type ${type}`,
    ...post('a', collection, { 'content-type': type }),
    code: 415,
    reason: 'UnsupportedMediaType',
    message: unreadable + writable,
  })),
  ...[{}, json, { 'content-type': 'text/plain' }].map((headers) => ({
    name: `a patch of type ${JSON.stringify(headers)}`,
    ...patch(headers, '{}'),
    code: 415,
    reason: 'UnsupportedMediaType',
    message: '415: Unsupported Media Type',
  })),
  ...['text/html', 'application/json;as=Chair;v=v1;g=meta.k8s.io', 'image/png;q=0.5, text/*'].map((accept) => ({
    name: `an answer of type ${accept}`,
    path: `${collection}/a`,
    headers: { accept },
    code: 406,
    reason: 'NotAcceptable',
    message: /^only the following media types are accepted: application\/json, application\/yaml/,
  })),
];
