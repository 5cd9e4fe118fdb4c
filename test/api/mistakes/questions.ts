/** Questions of lists and watches that make no sense. */
import {
  bad,
  collection,
  configMap,
  continueAt,
  invalid,
  list,
  type Mistake,
  parsing,
  podsPath,
  post,
} from './mistake.ts';

export const questions: readonly Mistake[] = [
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
    name: 'a dry run of nothing',
    ...post(configMap('b'), `${collection}?dryRun=`),
    ...invalid,
    message: 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: [""]: supported values: "All"',
  },
  {
    name: 'a deletion of another object of the name, by query',
    method: 'DELETE',
    path: `${collection}/a?uid=another`,
    code: 409,
    reason: 'Conflict',
    message: /the UID in the precondition \(another\) does not match the UID in record/,
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
