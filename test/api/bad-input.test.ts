/**
 * What goes wrong between clients and the API server, tried over real HTTPS, both versions of HTTP: every mistake gets upstream's
 * status code, reason and words, the server answers the next good request, and nothing half-done is stored. Mistakes of connections
 * are in `bad-connections.test.ts`, those that kubectl makes of manifests in `bad-manifests.test.ts`.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { deployments } from '../../src/api/gen/apps-v1.ts';
import { configMaps, services } from '../../src/api/gen/core-v1.ts';
import type { Status } from '../../src/apimachinery/status.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { createCertificateAuthority } from '../../src/pki/authority.ts';
import { encodePrivateKey, systemKeys } from '../../src/pki/keys.ts';
import { createTokenSigner } from '../../src/pki/token-signer.ts';
import { type OpenCluster, openCluster } from './cluster.ts';
import {
  type Asked,
  type Endpoint,
  json,
  jsonPatch,
  mergePatch,
  openWires,
  statusOf,
  strategicPatch,
  type Wire,
  yaml,
} from './wire.ts';

interface Mistake extends Asked {
  readonly name: string;
  readonly code: number;
  /** Absent: upstream gives none. */
  readonly reason?: string;
  readonly message: string | RegExp;
  /** Fields of the causes, where there are several. */
  readonly causes?: readonly string[];
}

const collection = '/api/v1/namespaces/default/configmaps';
const deploymentsPath = '/apis/apps/v1/namespaces/default/deployments';
const podsPath = '/api/v1/namespaces/default/pods';
const bodyLimit = 3 * 1024 * 1024;

const post = (body: string | Buffer, path = collection, headers: Asked['headers'] = json): Asked => ({
  method: 'POST',
  path,
  headers: headers ?? json,
  body,
});
const put = (body: string, path = `${collection}/a`): Asked => ({ method: 'PUT', path, headers: json, body });
const patch = (headers: Asked['headers'], body: string, query = ''): Asked => ({
  method: 'PATCH',
  path: `${collection}/a${query}`,
  headers: headers ?? {},
  body,
});
const remove = (body: string, query = ''): Asked => ({
  method: 'DELETE',
  path: `${collection}/a${query}`,
  headers: json,
  body,
});
const list = (query: Readonly<Record<string, string>>, path = collection): Asked => ({
  path: `${path}?${new URLSearchParams(query)}`,
});
const continueAt = (token: object) => Buffer.from(JSON.stringify(token)).toString('base64url');
const configMap = (name: string, rest = '') =>
  `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"${name}"}${rest}}`;

const unrecognized = (problem: string, body: string) =>
  `the object provided is unrecognized (must be of type ConfigMap): ${problem} (${body})`;
const noJson = (problem: string, body: string) =>
  unrecognized(`couldn't get version/kind; json parse error: ${problem}`, body);
const hex = (text: string) => Buffer.from(text).toString('hex');
const unfit = (problem: string) => `ConfigMap in version "v1" cannot be handled as a ConfigMap: ${problem}`;
const kindStruct =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
const scheme = 'pkg/api/legacyscheme/scheme.go:30';
const bad = { code: 400, reason: 'BadRequest' } as const;
const invalid = { code: 422, reason: 'Invalid' } as const;
const notFound = { code: 404, reason: 'NotFound' } as const;
const refusedMethod = {
  code: 405,
  reason: 'MethodNotAllowed',
  message: 'the server does not allow this method on the requested resource',
} as const;
const noResource = { ...notFound, message: 'the server could not find the requested resource' } as const;

const brokenBodies: readonly Mistake[] = [
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

const wrongTypes: readonly Mistake[] = [
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

const wrongKinds: readonly Mistake[] = [
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
const unwantedFields: readonly Mistake[] = [
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
const mediaTypes: readonly Mistake[] = [
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
    message:
      /^the body of the request was in an unknown format - accepted media types include: application\/json-patch\+json, application\/merge-patch\+json, application\/strategic-merge-patch\+json/,
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

const parsing = (what: string, why = 'invalid syntax') => `strconv.ParseUint: parsing "${what}": ${why}`;
const questions: readonly Mistake[] = [
  {
    name: 'a label selector that ends too early',
    ...list({ labelSelector: 'a in (' }),
    ...bad,
    message: "unable to parse requirement: found '', expected: ',', ')' or identifier",
  },
  {
    name: 'a label selector with two values',
    ...list({ labelSelector: 'a=b=c' }),
    ...bad,
    message: "found '=', expected: ',' or 'end of string'",
  },
  {
    name: 'a label selector with a value that is none',
    ...list({ labelSelector: 'a=_-' }),
    ...bad,
    message: /^unable to parse requirement: values\[0\]\[a\]: Invalid value: "_-": a valid label must be/,
  },
  {
    name: 'a field selector without sense',
    ...list({ fieldSelector: 'nonsense' }),
    ...bad,
    message: "invalid selector: 'nonsense'; can't understand 'nonsense'",
  },
  {
    name: 'a field selector for what cannot be selected',
    ...list({ fieldSelector: 'data.x=1' }),
    ...bad,
    message: '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
  },
  {
    name: 'a field selector for what Pods do not have',
    ...list({ fieldSelector: 'spec.nonsense=1' }, podsPath),
    ...bad,
    message: 'field label not supported: spec.nonsense',
  },
  ...['abc', '-1', '1.5'].map((version) => ({
    name: `a list of version ${version}`,
    ...list({ resourceVersion: version }),
    ...bad,
    message: `invalid resource version: resourceVersion: Invalid value: "${version}": ${parsing(version)}`,
  })),
  {
    name: 'a list of a version that no number can hold',
    ...list({ resourceVersion: '99999999999999999999' }),
    ...bad,
    message: `invalid resource version: resourceVersion: Invalid value: "99999999999999999999": ${parsing('99999999999999999999', 'value out of range')}`,
  },
  {
    name: 'an object of a version that is none',
    path: `${collection}/a?resourceVersion=abc`,
    code: 500,
    message: `resourceVersion: Invalid value: "abc": ${parsing('abc')}`,
  },
  {
    name: 'a watch from a version that is none',
    ...list({ watch: '1', resourceVersion: 'abc' }),
    code: 500,
    message: `resourceVersion: Invalid value: "abc": ${parsing('abc')}`,
  },
  {
    name: 'a version and an unknown way to match it',
    ...list({ resourceVersion: '1', resourceVersionMatch: 'Perhaps' }),
    ...invalid,
    message:
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Perhaps": supported values: "Exact", "NotOlderThan", ""',
  },
  {
    name: 'a way to match and no version',
    ...list({ resourceVersionMatch: 'Exact' }),
    ...invalid,
    message:
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
  },
  {
    name: 'initial events of a watch that does not say how new',
    ...list({ watch: '1', sendInitialEvents: 'true' }),
    ...invalid,
    message:
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
  },
  ...['limit', 'timeoutSeconds'].map((parameter) => ({
    name: `a ${parameter} that is no number`,
    ...list({ [parameter]: 'x' }),
    ...bad,
    message: 'strconv.ParseInt: parsing "x": invalid syntax',
  })),
  {
    name: 'a limit that no number can hold',
    ...list({ limit: '99999999999999999999' }),
    ...bad,
    message: 'strconv.ParseInt: parsing "99999999999999999999": value out of range',
  },
  {
    name: 'a continue token that is no base64',
    ...list({ limit: '1', continue: '%%' }),
    ...bad,
    message: 'invalid continue token: continue key is not valid: illegal base64 data at input byte 0',
  },
  {
    name: 'a continue token of an unknown version',
    ...list({ limit: '1', continue: continueAt({ v: 'x', rv: 1, start: 'a' }) }),
    ...bad,
    message: 'invalid continue token: continue key is not valid: server does not recognize this encoded version x',
  },
  {
    name: 'a continue token without a version of the list',
    ...list({ limit: '1', continue: continueAt({ v: 'meta.k8s.io/v1', start: 'a' }) }),
    ...bad,
    message:
      'invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)',
  },
  {
    name: 'a continue token that begins nowhere',
    ...list({ limit: '1', continue: continueAt({ v: 'meta.k8s.io/v1', rv: 5, start: '' }) }),
    ...bad,
    message: 'invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)',
  },
  {
    name: 'a continue token that leaves the list',
    ...list({ limit: '1', continue: continueAt({ v: 'meta.k8s.io/v1', rv: 5, start: '../../secrets/default/x' }) }),
    ...bad,
    message: 'invalid continue token: continue key is not valid: ../../secrets/default/x',
  },
  {
    name: 'a continue token and a version',
    ...list({
      limit: '1',
      resourceVersion: '5',
      continue: continueAt({ v: 'meta.k8s.io/v1', rv: 5, start: 'default/a' }),
    }),
    ...bad,
    message: 'specifying resource version is not allowed when using continue',
  },
];

/** How upstream shows `a` after a patch that makes nonsense of it. */
const nonsense = (problem: string, shown = '"\\{.*\\}"') =>
  new RegExp(`^ "" is invalid: patch: Invalid value: ${shown}: ${problem}$`);
const doesNotApply = {
  ...invalid,
  message: 'the server rejected our request due to an error in our request',
} as const;
const patches: readonly Mistake[] = [
  {
    name: 'a merge patch that is no JSON',
    ...patch(mergePatch, '{'),
    ...bad,
    message: 'error decoding patch: unexpected end of JSON input',
  },
  {
    name: 'no merge patch at all',
    ...patch(mergePatch, ''),
    ...bad,
    message: 'error decoding patch: unexpected end of JSON input',
  },
  {
    name: 'a merge patch that is a list',
    ...patch(mergePatch, '[]'),
    ...bad,
    message: 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
  },
  { name: 'a merge patch that is null', ...patch(mergePatch, 'null'), ...bad, message: 'Invalid JSON Patch' },
  {
    name: 'a merge patch nested too deeply',
    ...patch(mergePatch, `${'{"data":'.repeat(20_000)}1${'}'.repeat(20_000)}`),
    ...bad,
    message: "error decoding patch: invalid character '{' exceeded max depth",
  },
  {
    name: 'a merge patch that puts a list where a map should be',
    ...patch(mergePatch, '{"data":["<"]}'),
    ...invalid,
    causes: ['patch'],
    message: nonsense(
      'json: cannot unmarshal array into Go struct field ConfigMap\\.data of type map\\[string\\]string',
      '"\\{\\\\"apiVersion\\\\":\\\\"v1\\\\",\\\\"data\\\\":\\[\\\\"\\\\\\\\u003c\\\\"\\],\\\\"kind\\\\":\\\\"ConfigMap\\\\",\\\\"metadata\\\\":\\{.*\\}\\}"',
    ),
  },
  {
    name: 'a merge patch that makes another kind of it',
    ...patch(mergePatch, '{"kind":"Nonsense"}'),
    ...invalid,
    message: nonsense(`no kind "Nonsense" is registered for version "v1" in scheme "${scheme}"`),
  },
  {
    name: 'a merge patch with unknown and repeated fields under Strict',
    ...patch(mergePatch, '{"foo":1,"data":{"a":"1","a":"2"}}', '?fieldValidation=Strict'),
    ...invalid,
    message: nonsense('strict decoding error: duplicate field "data\\.a", unknown field "foo"'),
  },
  {
    name: 'a merge patch of another name',
    ...patch(mergePatch, '{"metadata":{"name":"b"}}'),
    ...bad,
    message: 'the name of the object (b) does not match the name on the URL (a)',
  },
  {
    name: 'a merge patch of another namespace',
    ...patch(mergePatch, '{"metadata":{"namespace":"b"}}'),
    ...bad,
    message: 'the namespace of the provided object does not match the namespace sent on the request',
  },
  {
    name: 'a merge patch that is applied by force',
    ...patch(mergePatch, '{}', '?force=true'),
    ...invalid,
    message: 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
  },
  {
    name: 'a strategic patch that is no JSON',
    ...patch(strategicPatch, '{'),
    ...bad,
    message: 'unexpected end of JSON input',
  },
  {
    name: 'a strategic patch that is a list',
    ...patch(strategicPatch, '[]'),
    ...bad,
    message: 'json: cannot unmarshal array into Go value of type map[string]interface {}',
  },
  {
    name: 'a strategic patch that puts a text where a map should be',
    ...patch(strategicPatch, '{"data":"x"}'),
    ...invalid,
    message: ' "" is invalid: patch: Invalid value: "map[data:x]": cannot restore map from string',
  },
  {
    name: 'a strategic patch that puts a map where a list should be',
    ...patch(strategicPatch, '{"metadata":{"finalizers":{"a":"b"}}}'),
    ...invalid,
    message:
      ' "" is invalid: patch: Invalid value: "map[metadata:map[finalizers:map[a:b]]]": cannot restore slice from map',
  },
  {
    name: 'a strategic patch that puts a number where a text should be',
    ...patch(strategicPatch, '{"data":{"x":5}}'),
    ...invalid,
    message: ' "" is invalid: patch: Invalid value: "map[data:map[x:5]]": cannot convert int64 to string',
  },
  {
    name: 'a strategic patch with an unknown directive',
    ...patch(strategicPatch, '{"data":{"$patch":"frob"}}'),
    code: 500,
    message: 'unknown patch type: frob in map: map[$patch:frob]',
  },
  {
    name: 'a JSON patch that is an object',
    ...patch(jsonPatch, '{}'),
    ...bad,
    message: 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
  },
  {
    name: 'a JSON patch of numbers',
    ...patch(jsonPatch, '[1]'),
    ...bad,
    message: 'error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp',
  },
  {
    name: 'a JSON patch whose path is a number',
    ...patch(jsonPatch, '[{"op":"add","path":5}]'),
    ...bad,
    message: 'error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string',
  },
  {
    name: 'a JSON patch with unknown members under Strict',
    ...patch(jsonPatch, '[{"op":"add","path":"/data/y","value":"1","why":"not"}]', '?fieldValidation=Strict'),
    ...invalid,
    message: nonsense('strict decoding error: json patch unknown field "\\[0\\]\\.why"'),
  },
  {
    name: 'a JSON patch of too many operations',
    ...patch(jsonPatch, `[${Array(10_001).fill('{"op":"test","path":"/data/x","value":"1"}').join(',')}]`),
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
  },
  ...[
    '[{"op":"frob","path":"/data/x"}]',
    '[{"op":"replace","path":"/data/none","value":"1"}]',
    '[{"op":"remove","path":"/data/none"}]',
    '[{"op":"add","path":"/no/where","value":"1"}]',
    '[{"op":"test","path":"/data/x","value":"2"}]',
    '[{"op":"move","from":"/data/none","path":"/data/y"}]',
    '[{"op":"add","path":"/metadata/labels/a"}]',
    // The first operation works, and still nothing of it stays.
    '[{"op":"add","path":"/data/y","value":"1"},{"op":"remove","path":"/data/none"}]',
  ].map((body) => ({ name: `the JSON patch ${body}`, ...patch(jsonPatch, body), ...doesNotApply })),
  {
    name: 'a JSON patch that leaves no object',
    ...patch(jsonPatch, '[{"op":"replace","path":"","value":[]}]'),
    ...invalid,
    message:
      /^ "" is invalid: patch: Invalid value: "\[\]": couldn't get version\/kind; json parse error: json: cannot unmarshal array into Go value of type struct/,
  },
  {
    name: 'a broken patch for what is not there',
    ...patch(mergePatch, '{'),
    path: `${collection}/missing`,
    ...notFound,
    message: 'configmaps "missing" not found',
  },
];

const dnsSubdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const names: readonly Mistake[] = [
  {
    name: 'a name that is none',
    ...post(configMap('Bad_Name')),
    ...invalid,
    causes: ['metadata.name'],
    message: `ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": ${dnsSubdomain}`,
  },
  {
    name: 'no name',
    ...post('{"metadata":{}}'),
    ...invalid,
    causes: ['metadata.name'],
    message: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
  },
  {
    name: 'a name that is too long',
    ...post(configMap('x'.repeat(254))),
    ...invalid,
    message: /: metadata\.name: Invalid value: "x+": must be no more than 253 characters$/,
  },
  {
    name: 'everything wrong at once',
    ...post(
      '{"metadata":{"name":"Bad","labels":{"-":"1","a":"b c"},"annotations":{"/":""},"ownerReferences":[{}],"finalizers":["x"]},"data":{"a b":"1","..":"2"}}',
    ),
    ...invalid,
    causes: [
      'metadata.name',
      'metadata.labels',
      'metadata.labels',
      'metadata.annotations',
      'metadata.annotations',
      'metadata.annotations',
      'metadata.ownerReferences[0].apiVersion',
      'metadata.ownerReferences[0].kind',
      'metadata.ownerReferences[0].name',
      'metadata.ownerReferences[0].uid',
      'metadata.finalizers[0]',
      'data[..]',
      'data[a b]',
    ],
    message: /^ConfigMap "Bad" is invalid: \[metadata\.name: .*, metadata\.labels: /,
  },
  {
    name: 'a Service with every port wrong',
    ...post(
      '{"metadata":{"name":"1.2"},"spec":{"ports":[{"port":0},{"port":99999,"protocol":"X"}]}}',
      '/api/v1/namespaces/default/services',
    ),
    ...invalid,
    message:
      /^Service "1\.2" is invalid: \[metadata\.name: .*spec\.ports\[0\]\.name: Required value, spec\.ports\[0\]\.port: Invalid value: 0: must be between 1 and 65535, inclusive, .*spec\.ports\[1\]\.port: Invalid value: 99999: must be between 1 and 65535, inclusive, spec\.ports\[1\]\.protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"/,
  },
];

const changes: readonly Mistake[] = [
  {
    name: 'a change of what is immutable',
    ...put(configMap('frozen', ',"immutable":true,"data":{"x":"2"}'), `${collection}/frozen`),
    ...invalid,
    causes: ['data'],
    message: 'ConfigMap "frozen" is invalid: data: Forbidden: field is immutable when `immutable` is set',
  },
  {
    name: 'a change of a Deployment’s selector',
    method: 'PATCH',
    path: `${deploymentsPath}/web`,
    headers: mergePatch,
    body: '{"spec":{"selector":{"matchLabels":{"app":"other"}},"template":{"metadata":{"labels":{"app":"other"}}}}}',
    ...invalid,
    causes: ['spec.selector'],
    message:
      'Deployment.apps "web" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"other"}}: field is immutable',
  },
  {
    name: 'a change of a Service’s address',
    method: 'PATCH',
    path: '/api/v1/namespaces/default/services/web',
    headers: mergePatch,
    body: '{"spec":{"clusterIP":"10.96.77.77","clusterIPs":["10.96.77.77"]}}',
    ...invalid,
    message:
      /^Service "web" is invalid: \[?spec\.clusterIPs?\[0\]: Invalid value: \["10\.96\.77\.77"\]: may not change once set/,
  },
  {
    name: 'a name that is not the path’s',
    ...put(configMap('b')),
    ...bad,
    message: 'the name of the object (b) does not match the name on the URL (a)',
  },
  {
    name: 'an update without a name',
    ...put('{}'),
    ...bad,
    message: 'the name of the object (a based on URL) was undeterminable: name must be provided',
  },
  {
    name: 'an update of what is not there',
    ...put(configMap('none'), `${collection}/none`),
    ...notFound,
    message: 'configmaps "none" not found',
  },
  {
    name: 'an update from an old version',
    ...put('{"metadata":{"name":"a","resourceVersion":"1"}}'),
    code: 409,
    reason: 'Conflict',
    message:
      'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
  },
  {
    name: 'an update from a version that is none',
    ...put('{"metadata":{"name":"a","resourceVersion":"x"}}'),
    code: 500,
    message: parsing('x'),
  },
  {
    name: 'an update of another object of the same name',
    ...put('{"metadata":{"name":"a","uid":"x"}}'),
    code: 409,
    reason: 'Conflict',
    message:
      /^Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: \/registry\/configmaps\/default\/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in object meta: [-0-9a-f]{36}$/,
  },
  {
    name: 'a second object of the same name',
    ...post(configMap('a')),
    code: 409,
    reason: 'AlreadyExists',
    message: 'configmaps "a" already exists',
  },
  {
    name: 'a creation that brings its version along',
    ...post('{"metadata":{"name":"x","resourceVersion":"5"}}'),
    code: 500,
    message: 'resourceVersion should not be set on objects to be created',
  },
  {
    name: 'the deletion of what is not there',
    method: 'DELETE',
    path: `${collection}/none`,
    ...notFound,
    message: 'configmaps "none" not found',
  },
  {
    name: 'the deletion of another object of the same name',
    ...remove('{"preconditions":{"uid":"x"}}'),
    code: 409,
    reason: 'Conflict',
    message:
      /^Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition \(x\) does not match the UID in record \([-0-9a-f]{36}\)\. The object might have been deleted and then recreated$/,
  },
  {
    name: 'delete options that are no JSON',
    ...remove('{'),
    ...bad,
    message: "couldn't get version/kind; json parse error: unexpected end of JSON input",
  },
  {
    name: 'delete options with a text for a number',
    ...remove('{"gracePeriodSeconds":"x"}'),
    ...bad,
    message: 'json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
  },
  {
    name: 'delete options of another kind',
    ...remove('{"kind":"Pod","apiVersion":"v1"}'),
    ...bad,
    message: /^no kind "Pod" is registered for version "v1" in scheme /,
  },
  {
    name: 'delete options that contradict themselves',
    ...remove('{"propagationPolicy":"Foreground","orphanDependents":true}'),
    ...invalid,
    message:
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Foreground": orphanDependents and deletionPropagation cannot be both set',
  },
  {
    name: 'an unknown propagation policy',
    method: 'DELETE',
    path: `${collection}/a?propagationPolicy=Perhaps`,
    ...invalid,
    message:
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Perhaps": supported values: "Foreground", "Background", "Orphan", "nil"',
  },
  {
    name: 'a grace period that is no number',
    method: 'DELETE',
    path: `${collection}/a?gracePeriodSeconds=x`,
    ...bad,
    message: 'strconv.ParseInt: parsing "x": invalid syntax',
  },
  {
    name: 'the deletion of a collection by a selector that is none',
    method: 'DELETE',
    path: `${collection}?labelSelector=${encodeURIComponent('a in (')}`,
    ...bad,
    message: /^unable to parse requirement/,
  },
];

const addresses: readonly Mistake[] = [
  { name: 'an unknown resource', path: '/api/v1/nonsense', ...noResource },
  { name: 'an unknown resource in a namespace', path: '/api/v1/namespaces/default/nonsense/x', ...noResource },
  { name: 'an unknown subresource', path: `${collection}/a/nonsense`, ...noResource },
  { name: 'a subresource that the kind does not have', path: `${collection}/a/status`, ...noResource },
  { name: 'a namespaced object without its namespace', path: '/api/v1/configmaps/a', ...noResource },
  { name: 'a name with a slash in it', path: `${collection}/a%2Fb`, ...noResource },
  { name: 'a name that leads elsewhere', path: `${collection}/..%2F..%2F..%2Fsecrets`, ...noResource },
  { name: 'a creation by name', ...post(configMap('a'), `${collection}/a`), ...refusedMethod },
  { name: 'an update of a collection', ...put(configMap('a'), collection), ...refusedMethod },
  { name: 'a patch of a collection', ...patch(mergePatch, '{}'), path: collection, ...refusedMethod },
  { name: 'a creation in all namespaces', ...post(configMap('a'), '/api/v1/configmaps'), ...refusedMethod },
  { name: 'the deletion of all namespaces', method: 'DELETE', path: '/api/v1/namespaces', ...refusedMethod },
  { name: 'the creation of a component status', ...post('{}', '/api/v1/componentstatuses'), ...refusedMethod },
  {
    name: 'a review that is asked for without a question',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    ...refusedMethod,
  },
  ...['PROPFIND', 'OPTIONS', 'TRACE'].map((method) => ({
    name: `the method ${method}`,
    method,
    path: collection,
    ...refusedMethod,
  })),
  {
    name: 'a watch of what cannot be watched',
    path: '/api/v1/componentstatuses?watch=1',
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'watch is not supported on resources of kind "componentstatuses"',
  },
  {
    name: 'a path that is not properly encoded',
    path: '/api/v1/%zz',
    ...bad,
    message: 'the path of the request is not properly encoded',
  },
];

const groups: Readonly<Record<string, readonly Mistake[]>> = {
  'broken bodies': brokenBodies,
  'wrong types': wrongTypes,
  'wrong kinds': wrongKinds,
  'unwanted fields': unwantedFields,
  'media types': mediaTypes,
  'lists and watches': questions,
  patches,
  names,
  changes,
  'paths and methods': addresses,
};

describe('bad requests', () => {
  let cluster: OpenCluster;
  let wires: readonly Wire[];
  const logged: string[] = [];
  before(async () => {
    const log = {
      debug() {},
      info() {},
      warn() {},
      error: (message: string) => void logged.push(message),
      child: () => log,
    };
    cluster = await openCluster({ log });
    wires = openWires(cluster.admin);
    const client = cluster.controlPlane.admin;
    const metadata = (name: string) => ({ name, namespace: 'default' });
    await client.create(configMaps, { metadata: metadata('a'), data: { x: '1' } });
    await client.create(configMaps, { metadata: metadata('frozen'), data: { x: '1' }, immutable: true });
    const labels = { app: 'web' };
    await client.create(deployments, {
      metadata: metadata('web'),
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'example.com/web' }] } },
      },
    });
    await client.create(services, { metadata: metadata('web'), spec: { ports: [{ port: 80 }], selector: labels } });
  });
  after(async () => {
    for (const wire of wires) wire.close();
    await cluster.close();
    assert.deepEqual(logged, [], 'none of it was unexpected');
  });

  /** What is stored, apart from what controllers do of their own accord. */
  async function stored(): Promise<string> {
    const texts: string[] = [];
    for (const path of [
      collection,
      '/api/v1/namespaces/default/services',
      '/api/v1/namespaces/default/secrets',
      podsPath,
    ]) {
      const { status, text } = await wires[1]!.ask({ path });
      assert.equal(status, 200);
      texts.push(JSON.stringify(JSON.parse(text).items));
    }
    const { text } = await wires[1]!.ask({ path: deploymentsPath });
    for (const { spec, metadata } of JSON.parse(text).items)
      texts.push(JSON.stringify([metadata.name, metadata.uid, spec]));
    return texts.join('\n');
  }

  for (const [group, mistakes] of Object.entries(groups)) {
    describe(group, () => {
      for (const { name, code, reason, message, causes, ...asked } of mistakes) {
        test(`${name}: ${code} ${reason ?? ''}`, async () => {
          const before = await stored();
          for (const wire of wires) {
            const answer = await wire.ask(asked);
            const status = statusOf(answer);
            if (typeof message === 'string') assert.equal(status.message, message, wire.protocol);
            else assert.match(status.message ?? '', message, wire.protocol);
            checkStatus(status, { code, reason });
            assert.equal(answer.status, code);
            if (causes)
              assert.deepEqual(
                status.details?.causes?.map(({ field }) => field),
                causes,
              );
            assert.doesNotMatch(answer.text, /\.ts:\d+|node:internal/, 'no stack is shown');
            assert.equal((await wire.ask({ path: `${collection}/a` })).status, 200, 'the next request is answered');
          }
          assert.equal(await stored(), before, 'nothing has changed');
        });
      }
    });
  }

  test('versions of the future are waited for, then refused', async () => {
    const future = '99999999';
    const token = continueAt({ v: 'meta.k8s.io/v1', rv: Number(future), start: 'default/a' });
    const asked = [
      { path: `${collection}/a?resourceVersion=${future}` },
      list({ resourceVersion: future }),
      list({ resourceVersion: future, resourceVersionMatch: 'Exact' }),
      list({ limit: '1', continue: token }),
    ];
    const answers = await Promise.all(asked.flatMap((one) => wires.map((wire) => wire.ask(one))));
    for (const answer of answers) {
      const status = statusOf(answer);
      assert.match(status.message ?? '', /^Timeout: Too large resource version: 99999999, current: \d{1,5}$/);
      checkStatus(status, { code: 504, reason: 'Timeout' });
      assert.deepEqual(status.details, {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      });
      assert.equal(answer.headers['retry-after'], '1');
    }
  });

  test('paths that nobody serves are plain pages', async () => {
    for (const wire of wires) {
      for (const path of ['/nonsense', '/apis/nonsense/v1/things', '/apis/apps/v9/deployments', '/api/v2']) {
        const { status, text, headers } = await wire.ask({ path });
        assert.equal(status, 404, path);
        assert.equal(text, '404 page not found\n');
        assert.equal(headers['content-type'], 'text/plain; charset=utf-8');
      }
    }
  });

  test('Warn warns of unwanted fields, Ignore does not, and both drop them', async () => {
    const body = (name: string) => configMap(name, ',"foo":1,"data":{"a":"1","a":"2"}');
    const expected = '299 - "unknown field \\"foo\\"", 299 - "duplicate field \\"data.a\\""';
    for (const wire of wires) {
      const label = wire.protocol.toLowerCase().replace('/', '-');
      const cases = [
        { mode: '', warning: expected },
        { mode: 'Warn', warning: expected },
        { mode: 'Ignore', warning: undefined },
      ];
      for (const { mode, warning } of cases) {
        const query = mode && `?fieldValidation=${mode}`;
        const answer = await wire.ask(post(body(`fields-${label}-${mode.toLowerCase()}x`), collection + query));
        assert.equal(answer.status, 201);
        assert.equal(answer.headers.warning, warning);
        const { foo, data } = JSON.parse(answer.text);
        assert.deepEqual({ foo, data }, { foo: undefined, data: { a: '2' } });
      }
      const twice = `kind: ConfigMap\napiVersion: v1\nmetadata: {name: fields-${label}-y}\ndata: {a: "1", a: "2"}\n`;
      const answer = await wire.ask(post(twice, collection, yaml));
      assert.equal(answer.headers.warning, '299 - "line 4: key \\"a\\" already set in map"');
    }
  });

  test('keys that mean something to JavaScript are keys like any other', async () => {
    for (const wire of wires) {
      const name = `keys-${wire.protocol.toLowerCase().replace('/', '-')}`;
      const data = '{"__proto__":"1","constructor":"2","toString":"3"}';
      const { status, text } = await wire.ask(post(configMap(name, `,"data":${data}`)));
      assert.equal(status, 201);
      assert.ok(text.includes(`"data":${data}`), text);
    }
  });

  describe('strangers', () => {
    const unauthorized = { code: 401, reason: 'Unauthorized' };

    async function refuse(endpoint: Endpoint, headers: Readonly<Record<string, string>> = {}): Promise<void> {
      const strangers = openWires(endpoint);
      for (const wire of strangers) {
        for (const asked of [
          { path: collection, headers },
          post(configMap('x'), collection, { ...json, ...headers }),
        ]) {
          const answer = await wire.ask(asked);
          assert.equal(answer.status, 401, wire.protocol);
          const status = statusOf(answer);
          assert.equal(status.message, 'Unauthorized');
          checkStatus(status, unauthorized);
        }
        wire.close();
      }
      for (const wire of wires) assert.equal((await wire.ask({ path: `${collection}/a` })).status, 200);
    }
    const nobody = (): Endpoint => ({ url: cluster.url, ca: cluster.ca });
    const sources = { clock: systemClock, random: systemRandom, keys: systemKeys };

    test('an expired client certificate is of no use', () =>
      refuse(cluster.as('admin', { groups: ['system:masters'], madeInDays: -3 })));
    test('one that is not yet valid neither', () =>
      refuse(cluster.as('admin', { groups: ['system:masters'], madeInDays: 3 })));
    test('nor one that is meant for servers', () =>
      refuse(cluster.as('admin', { groups: ['system:masters'], usages: ['server auth'] })));
    test('nor one of a foreign authority, though it bears the same name', () => {
      const authority = createCertificateAuthority({ commonName: 'kubernetes' }, sources);
      return refuse(cluster.as('admin', { groups: ['system:masters'], authority }));
    });
    test('nor a bearer token of any wrong sort', async () => {
      const foreign = createTokenSigner({
        clock: systemClock,
        issuers: ['https://kubernetes.default.svc.cluster.local'],
        signingKeyPem: encodePrivateKey(systemKeys.generate()),
      });
      const now = Math.floor(systemClock.now() / 1000);
      const claims = {
        iss: 'https://kubernetes.default.svc.cluster.local',
        sub: 'system:serviceaccount:default:default',
        aud: ['https://kubernetes.default.svc.cluster.local'],
        iat: now,
        nbf: now,
        exp: now + 3600,
        'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'default', uid: 'x' } },
      };
      const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const unsigned = `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.`;
      const tokens = ['nonsense', 'a.b.c', '....', 'x'.repeat(20_000), 'abcdef.0123456789abcdef', unsigned];
      tokens.push(await foreign.sign(claims as never));
      for (const token of tokens) await refuse(nobody(), { authorization: `Bearer ${token}` });
    });

    test('who shows nothing is anonymous, may see that the server lives, and no more', async () => {
      for (const wire of openWires(nobody())) {
        for (const path of ['/healthz', '/livez', '/readyz', '/version']) {
          assert.equal((await wire.ask({ path })).status, 200, path);
        }
        const cases = [
          {
            asked: { path: collection },
            message:
              'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default"',
          },
          {
            asked: post('{', collection, { ...json, authorization: 'Basic YWRtaW46YWRtaW4=' }),
            message:
              'configmaps is forbidden: User "system:anonymous" cannot create resource "configmaps" in API group "" in the namespace "default"',
          },
          {
            asked: { method: 'DELETE', path: `${collection}/a` },
            message:
              'configmaps "a" is forbidden: User "system:anonymous" cannot delete resource "configmaps" in API group "" in the namespace "default"',
          },
          { asked: { path: '/metrics' }, message: 'forbidden: User "system:anonymous" cannot get path "/metrics"' },
        ];
        for (const { asked, message } of cases) {
          const answer = await wire.ask(asked);
          assert.equal(statusOf(answer).message, message);
          checkStatus(statusOf(answer), { code: 403, reason: 'Forbidden' });
          assert.equal(answer.status, 403);
        }
        wire.close();
      }
    });

    test('nobody becomes somebody else without the right to', async () => {
      const jane = openWires(cluster.as('jane'));
      for (const wire of jane) {
        const answer = await wire.ask({ path: collection, headers: { 'impersonate-user': 'admin' } });
        assert.equal(answer.status, 403);
        assert.equal(
          statusOf(answer).message,
          'users "admin" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope',
        );
        wire.close();
      }
    });
  });
});

function checkStatus(
  status: Status,
  { code, reason }: { readonly code: number; readonly reason?: string | undefined },
): void {
  assert.equal(status.kind, 'Status');
  assert.equal(status.apiVersion, 'v1');
  assert.equal(status.status, 'Failure');
  assert.equal(status.reason, reason);
  assert.equal(status.code, code);
  assert.deepEqual(status.metadata, {});
}
