/** Objects whose names or changes are refused. */

import { mergePatch } from '../wire.ts';
import {
  bad,
  collection,
  configMap,
  deploymentsPath,
  invalid,
  type Mistake,
  notFound,
  parsing,
  post,
  put,
  remove,
} from './mistake.ts';

const dnsSubdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
export const names: readonly Mistake[] = [
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
    name: 'owners that none can be',
    ...post(
      JSON.stringify({
        metadata: {
          name: 'owned',
          ownerReferences: [
            { apiVersion: 'v1', kind: 'Event', name: 'a', uid: '1', controller: true },
            { apiVersion: 'a/b/c', kind: 'B', name: 'b', uid: '2', controller: true },
            { apiVersion: 'v1', kind: 'C', name: 'c', uid: '3', controller: true },
          ],
        },
      }),
    ),
    ...invalid,
    message:
      /: \/v1, Kind=Event is disallowed from being an owner, .*: version must not be empty, .* in references for Event\/a and B\/b, .* in references for Event\/a and C\/c\]$/,
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
      'metadata.ownerReferences.apiVersion',
      'metadata.ownerReferences.kind',
      'metadata.ownerReferences.name',
      'metadata.ownerReferences.uid',
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

export const changes: readonly Mistake[] = [
  {
    name: 'a change of what is immutable',
    ...put(configMap('frozen', ',"immutable":true,"data":{"x":"2"}'), `${collection}/frozen`),
    ...invalid,
    causes: ['data'],
    message: 'ConfigMap "frozen" is invalid: data: Forbidden: field is immutable when `immutable` is set',
  },
  {
    name: 'a time of deletion for what nobody deletes',
    method: 'PATCH',
    path: `${collection}/a`,
    headers: mergePatch,
    body: '{"metadata":{"deletionTimestamp":"2001-01-01T00:00:00Z","deletionGracePeriodSeconds":5}}',
    ...invalid,
    causes: ['metadata.deletionTimestamp', 'metadata.deletionGracePeriodSeconds'],
    message:
      'ConfigMap "a" is invalid: [metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable, metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable]',
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
