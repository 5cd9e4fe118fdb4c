import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '../../base/random.ts';
import type { CertifiedKey } from '../../pki/authority.ts';
import { isIssuedBy, parseCertificates } from '../../pki/certificate.ts';
import { systemKeys } from '../../pki/keys.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { CommandError } from '../command-error.ts';
import { clusterPki } from './cluster-pki.ts';

const sources = { clock: new FakeClock(), random: systemRandom, keys: systemKeys };

function folder() {
  const files = new Map<string, CertifiedKey>();
  const pki = () =>
    clusterPki(
      {
        load: (name) => files.get(name),
        save: (name, { certificatePem, keyPem }) => files.set(name, { certificatePem, keyPem }),
      },
      sources,
    );
  return { files, pki };
}

test('what is there is used again', () => {
  const { pki } = folder();
  const first = pki().client('admin', 'kubernetes-admin');
  assert.deepEqual(pki().client('admin', 'kubernetes-admin'), first);
});

test('damaged and half-lost certificates are made anew, and those of another authority', () => {
  const { files, pki } = folder();
  const first = pki().client('admin', 'kubernetes-admin');
  const foreign = folder().pki().client('admin', 'kubernetes-admin');
  const other = pki().client('scheduler', 'system:kube-scheduler');
  const broken: readonly CertifiedKey[] = [
    { ...first, certificatePem: 'garbage' },
    { ...first, keyPem: '' },
    { ...first, keyPem: other.keyPem },
    { ...first, certificatePem: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' },
    foreign,
  ];
  for (const pair of broken) {
    files.set('admin', pair);
    const { authority, client } = pki();
    const made = client('admin', 'kubernetes-admin');
    assert.notDeepEqual(made, pair);
    assert.ok(isIssuedBy(parseCertificates(made.certificatePem)[0]!, authority.certificate));
  }
});

test('an authority that is damaged or half lost is told, and never replaced', () => {
  const { files, pki } = folder();
  pki();
  const ca = files.get('ca')!;
  for (const [pair, problem] of [
    [{ ...ca, keyPem: '' }, /ca\.crt and ca\.key .* cannot be used: the PEM text holds no private key/],
    [{ ...ca, certificatePem: 'garbage' }, /cannot be used: the PEM text holds no certificate/],
  ] as const) {
    files.set('ca', pair);
    assert.throws(pki, (error: Error) => error instanceof CommandError && problem.test(error.message));
    assert.equal(files.get('ca'), pair);
  }
});
