import assert from 'node:assert/strict';
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { seededRandom } from '../../base/random.ts';
import { createCertificateAuthority, issueCertificate } from '../../pki/authority.ts';
import { systemKeys } from '../../pki/keys.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { CertificateFiles } from './certificate-files.ts';

const clock = new FakeClock();
const sources = { clock, random: seededRandom(1), keys: systemKeys };
const authority = createCertificateAuthority({ commonName: 'ca' }, sources);
const pair = (commonName: string) => issueCertificate(authority, { commonName, usages: ['client auth'] });
const nowMs = Date.UTC(2026, 0, 31, 8, 15);

describe('a certificate and its key in files', () => {
  let folder: string;
  const open = () => new CertificateFiles({ folder, name: 'kubelet-client' });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coracle-certificates-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is absent at first', () => assert.equal(open().current(), undefined));

  it('lies under the time it came, for its owner alone, and is found through a link', () => {
    open().update(pair('a'), nowMs);
    const file = join(folder, 'kubelet-client-2026-01-31-08-15-00.pem');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.match(readFileSync(file, 'utf8'), /^-----BEGIN CERTIFICATE[\s\S]*PRIVATE KEY-----\n$/);
    assert.ok(lstatSync(join(folder, 'kubelet-client-current.pem')).isSymbolicLink());
    assert.equal(open().current()?.leaf.subject.commonName, 'a');
  });

  it('gives way to a newer pair, and the older file stays', () => {
    open().update(pair('a'), nowMs);
    const taken = open().update(pair('b'), nowMs + 1000);
    assert.equal(taken.leaf.subject.commonName, 'b');
    assert.equal(open().current()?.leaf.subject.commonName, 'b');
    assert.equal(readdirSync(folder).length, 3);
  });

  it('is the newer one after a crash between the two last steps', () => {
    open().update(pair('a'), nowMs);
    renameSync(join(folder, 'kubelet-client-current.pem'), join(folder, 'kubelet-client-updated.pem'));
    assert.equal(open().current()?.leaf.subject.commonName, 'a');
  });

  it('is never half replaced: a key that is not the certificate’s is refused and changes nothing', () => {
    open().update(pair('a'), nowMs);
    const mixed = { certificatePem: pair('b').certificatePem, keyPem: pair('c').keyPem };
    assert.throws(() => open().update(mixed, nowMs + 1000), /private key does not match public key/);
    assert.equal(open().current()?.leaf.subject.commonName, 'a');
  });

  it('does not overwrite a file where the link should be', () => {
    writeFileSync(join(folder, 'kubelet-client-current.pem'), 'mine');
    assert.throws(
      () => open().update(pair('a'), nowMs),
      /expected ".*kubelet-client-current.pem" to be a symlink but it is a file/,
    );
    assert.throws(() => open().current(), /could not convert data from .*current.pem/);
  });
});
