import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { path } from '../../apimachinery/field-error.ts';
import { createCertificateRequest } from '../../pki/certificate-request.ts';
import {
  assertErrors,
  type BadInput,
  context,
  created,
  errorsOf,
  merged,
  now,
  rowOf,
  updated,
  updateErrorsOf,
} from '../given.fixture.ts';
import { certificateRequestProblem, certificatesProblem, trustAnchorProblems } from './pem-blocks.ts';
import { validateSignerName } from './signer-name.ts';
import { certificateSigningRequestBehaviour as behaviour } from './v1/certificate-signing-request.ts';
import { clusterTrustBundleBehaviour } from './v1beta1/cluster-trust-bundle.ts';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const pem = createCertificateRequest(privateKey, { commonName: 'jane' });
const base64 = (text: string) => Buffer.from(text).toString('base64');

const request = {
  metadata: { name: 'jane', creationTimestamp: '2025-12-31T23:59:00Z' },
  spec: { request: base64(pem), signerName: 'example.com/people', usages: ['client auth'] },
};

function condition(type: string, more: object = {}): object {
  return { type, status: 'True', ...more };
}
const withConditions = (...conditions: object[]) => ({ ...request, status: { conditions } });

describe('a request for a certificate', () => {
  it('is signed by the key that it is for', () => {
    assert.equal(certificateRequestProblem(base64(pem)), undefined);
    const bytes = Buffer.from(pem.replace(/-----[^-]+-----|\n/g, ''), 'base64');
    bytes[bytes.length - 1]! ^= 1;
    const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
    assert.equal(certificateRequestProblem(base64(forged)), 'x509: certificate request signature is invalid');
  });

  it('says who asks, whatever the client wrote', () => {
    const { spec } = created(behaviour, merged(request, { spec: { username: 'root', groups: ['system:masters'] } }));
    assert.equal(spec.username, context.user.name);
    assert.equal(spec.uid, '7');
    assert.deepEqual(spec.groups, ['dev']);
    assert.deepEqual(spec.extra, { scopes: ['a'] });
  });

  const cases: readonly BadInput[] = [
    {
      title: 'is no request at all',
      changes: { spec: { request: base64('hello') } },
      errors: [`spec.request: Invalid value: "${base64('hello')}": PEM block type must be CERTIFICATE REQUEST`],
    },
    { title: 'is for nothing', changes: { spec: { usages: [] } }, errors: ['spec.usages: Required value'] },
    {
      title: 'is for one thing twice',
      changes: { spec: { usages: ['client auth', 'client auth'] } },
      errors: ['spec.usages[1]: Duplicate value: "client auth"'],
    },
    {
      title: 'goes to nobody in particular',
      changes: { spec: { signerName: 'people' } },
      errors: [
        `spec.signerName: Invalid value: "people": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
      ],
    },
    {
      title: 'goes to the signer of old',
      changes: { spec: { signerName: 'kubernetes.io/legacy-unknown' } },
      errors: [
        'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
      ],
    },
    {
      title: 'is for too short a time',
      changes: { spec: { expirationSeconds: 10 } },
      errors: [
        'spec.expirationSeconds: Invalid value: 10: may not specify a duration less than 600 seconds (10 minutes)',
      ],
    },
  ];
  it('is good before it is made bad', () => assert.deepEqual(errorsOf(behaviour, request), []));
  for (const bad of cases) it(bad.title, () => assertErrors(behaviour, request, bad));

  it('is approved through a way of its own alone', () => {
    const approved = withConditions(condition('Approved'));
    assert.deepEqual(updateErrorsOf(behaviour, request, approved, 'approval'), []);
    assert.deepEqual(updateErrorsOf(behaviour, request, approved, 'status'), [
      'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
    ]);
  });

  it('is not approved and denied', () => {
    const both = withConditions(condition('Approved'), condition('Denied'));
    assert.deepEqual(updateErrorsOf(behaviour, request, both, 'approval'), [
      'status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
    ]);
  });

  it('keeps its approval', () => {
    assert.deepEqual(updateErrorsOf(behaviour, withConditions(condition('Approved')), request, 'approval'), [
      'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
    ]);
  });

  it('is given its times by the server', () => {
    const { status } = updated(behaviour, request, withConditions(condition('Approved')), 'approval');
    assert.deepEqual(status?.conditions, [
      { type: 'Approved', status: 'True', lastUpdateTime: now, lastTransitionTime: now },
    ]);
  });

  it('is issued once', () => {
    const status = { certificate: base64('-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n') };
    assert.deepEqual(updateErrorsOf(behaviour, request, { ...request, status }, 'status'), [
      'status.certificate: Invalid value: "<certificate data>": x509: malformed certificate',
    ]);
    const [, , error] = updateErrorsOf(
      behaviour,
      { ...request, status },
      { ...request, status: { certificate: 'YQ==' } },
      'status',
    );
    assert.equal(error, undefined);
  });

  const states: readonly (readonly [text: string, status: object])[] = [
    ['Pending', {}],
    ['Approved', { conditions: [condition('Approved')] }],
    ['Approved,Issued', { conditions: [condition('Approved')], certificate: 'YQ==' }],
    ['Denied', { conditions: [condition('Denied')] }],
    ['Approved,Failed', { conditions: [condition('Approved'), condition('Failed')] }],
  ];
  for (const [text, status] of states) {
    it(`is shown as ${text}`, () => assert.equal(rowOf(behaviour, { ...request, status }).Condition, text));
  }

  it('shows how long it is to last', () => {
    assert.equal(rowOf(behaviour, request).RequestedDuration, '<none>');
    assert.equal(rowOf(behaviour, merged(request, { spec: { expirationSeconds: 86400 } })).RequestedDuration, '24h');
  });
});

describe('a chain of certificates', () => {
  it('is certificates and nothing else', () => {
    assert.equal(certificatesProblem(base64('x')), 'must contain at least one CERTIFICATE PEM block');
    assert.equal(
      certificatesProblem(base64(pem)),
      'only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"',
    );
  });

  it('of trust has an anchor', () => {
    assert.deepEqual(trustAnchorProblems(''), ['at least one trust anchor must be provided']);
    assert.deepEqual(trustAnchorProblems(pem), ['entry 0 has bad block type: CERTIFICATE REQUEST']);
  });
});

describe('the name of a signer', () => {
  it('is a domain of two parts and a path', () => {
    assert.deepEqual(validateSignerName(path('x'), 'example.com/a'), []);
    assert.equal(
      validateSignerName(path('x'), 'com/a')[0]?.detail,
      'should be a domain with at least two segments separated by dots',
    );
  });

  it('stands in front of the names of its bundles', () => {
    const names = clusterTrustBundleBehaviour;
    assert.deepEqual(names.validateName!('example.com:people:a', false), []);
    const spec = { signerName: 'example.com/people', trustBundle: '' };
    const [error = ''] = errorsOf(names, { metadata: { name: 'a' }, spec });
    assert.equal(
      error,
      'metadata.name: Invalid value: "a": ClusterTrustBundle for signerName example.com/people must be named with prefix example.com:people:',
    );
  });
});
