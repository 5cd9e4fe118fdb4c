import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { flags } from '../../../apiserver/gen/flags.ts';
import { silentLog } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { createCertificateAuthority, issueCertificate } from '../../../pki/authority.ts';
import { systemKeys } from '../../../pki/keys.ts';
import { parseFlags } from '../../../serving/flags.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { GivenFlags } from '../flags/given-flags.ts';
import { auditorFrom } from '../kube-apiserver/audit.ts';
import { tlsParametersFrom } from './tls-flags.ts';

const folder = mkdtempSync(join(tmpdir(), 'coracle-tls-'));
const ending = new AbortController();
after(() => {
  ending.abort();
  rmSync(folder, { recursive: true });
});
const environment = { clock: new FakeClock(), random: seededRandom(1), log: silentLog, signal: ending.signal };
const given = (...words: readonly string[]) => new GivenFlags(parseFlags(flags, words));
const parameters = (...words: readonly string[]) => tlsParametersFrom(given(...words), environment);

describe('flags about TLS', () => {
  it('say what is wrong with them', () => {
    const refused: readonly (readonly [flag: string, message: RegExp])[] = [
      ['--tls-min-version=1.3', /^unknown tls version "1.3"$/],
      ['--tls-cipher-suites=TLS_NONE', /^Cipher suite TLS_NONE not supported or doesn't exist$/],
      ['--tls-sni-cert-key=a.crt', /expected comma separated certificate and key file paths$/],
      ['--tls-sni-cert-key=a.crt,a.key:', /empty names list is not allowed$/],
      ['--tls-sni-cert-key=/nowhere/a.crt,/nowhere/a.key', /cannot be read \(ENOENT\)/],
    ];
    for (const [flag, message] of refused) assert.throws(() => parameters(flag), { message }, flag);
  });

  it('name certificates, each flag one, and follow their files', async () => {
    const authority = createCertificateAuthority({ commonName: 'ca' }, { ...environment, keys: systemKeys });
    const [certFile, keyFile] = [join(folder, 'a.crt'), join(folder, 'a.key')];
    const issue = (commonName: string) => {
      const { certificatePem, keyPem } = issueCertificate(authority, { commonName, usages: ['server auth'] });
      writeFileSync(certFile, certificatePem);
      writeFileSync(keyFile, keyPem);
    };
    issue('a.example.com');
    const pair = `${certFile},${keyFile}`;
    const { SNICallback } = parameters(`--tls-sni-cert-key=${pair}`, `--tls-sni-cert-key=${pair}:b.example.com,c`);
    const context = (name: string) => new Promise((resolve) => SNICallback?.(name, (_, found) => resolve(found)));
    const before = await context('b.example.com');
    assert.ok(before);
    assert.ok(await context('a.example.com'));
    assert.ok(await context('c'));
    assert.equal(await context('d.example.com'), undefined);
    issue('d.example.com');
    await environment.clock.advance(60_000);
    assert.ok(await context('d.example.com'));
    assert.notEqual(await context('b.example.com'), before);
  });
});

describe('flags about batches of audit events', () => {
  const policy = join(folder, 'policy.yaml');
  writeFileSync(policy, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n');
  const log = ['--audit-policy-file', policy, '--audit-log-path', join(folder, 'audit.log')];
  const refused: readonly (readonly [words: readonly string[], message: string])[] = [
    [
      ['--audit-log-mode=batch', '--audit-log-batch-throttle-enable'],
      'invalid audit batch log throttle QPS 0, must be a positive number',
    ],
    [
      ['--audit-log-mode=batch', '--audit-log-batch-throttle-enable', '--audit-log-batch-throttle-qps=1'],
      'invalid audit batch log throttle burst 0, must be a positive number',
    ],
    [
      ['--audit-log-mode=batch', '--audit-log-batch-buffer-size=0'],
      'invalid audit batch log buffer size 0, must be a positive number',
    ],
    [
      ['--audit-log-mode=batch', '--audit-log-batch-max-size=-1'],
      'invalid audit batch log max batch size -1, must be a positive number',
    ],
    [['--audit-log-mode=lazy'], 'invalid audit log mode lazy, allowed modes are "batch,blocking,blocking-strict"'],
  ];
  for (const [words, message] of refused) {
    it(`are refused: ${words.join(' ')}`, () =>
      assert.rejects(async () => auditorFrom(given(...log, ...words), { ...environment } as never), { message }));
  }

  it('mean nothing where no batches are made', async () => {
    const words = ['--audit-log-batch-throttle-enable', '--audit-log-batch-buffer-size=0'];
    const auditor = await auditorFrom(given(...log, ...words), { ...environment } as never);
    await auditor?.close();
  });
});
