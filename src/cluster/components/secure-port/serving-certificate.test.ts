import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { silentLog } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { createCertificateAuthority, issueCertificate } from '../../../pki/authority.ts';
import { systemKeys } from '../../../pki/keys.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { thisMachine } from '../../machine/machine.ts';
import { alwaysOk, startHealthServer } from './health-server.ts';
import { followServingFiles, servingCertificate } from './serving-certificate.ts';

function freePort(): Promise<number> {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => found(port));
    });
  });
}

test('a certificate that was renewed in its files is shown within a minute, and one that is half written is not', async () => {
  const clock = new FakeClock();
  const ending = new AbortController();
  const environment = {
    clock,
    random: seededRandom(1),
    log: silentLog,
    machine: thisMachine(),
    signal: ending.signal,
    started() {},
  };
  const folder = mkdtempSync(join(tmpdir(), 'coracle-serving-'));
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  const authority = createCertificateAuthority({ commonName: 'ca' }, { ...environment, keys: systemKeys });
  const renew = (commonName: string) => {
    const pair = issueCertificate(authority, { commonName, usages: ['server auth'] });
    writeFileSync(certFile, pair.certificatePem);
    return () => writeFileSync(keyFile, pair.keyPem);
  };
  renew('first')();
  const flags = { certFile, keyFile, folder: '', name: 'x', dnsNames: [], ipAddresses: [] };
  const tls = servingCertificate(flags, environment);
  const port = await freePort();
  await using server = await startHealthServer({ host: '127.0.0.1', port, tls, paths: { '/healthz': alwaysOk } });
  const following = followServingFiles(tls, (pair) => server.replaceCertificate(pair), environment);
  const shown = () =>
    new Promise<string>((resolve, reject) => {
      const asked = get({ host: '127.0.0.1', port, path: '/healthz', agent: false, rejectUnauthorized: false });
      asked.on('error', reject).on('response', (response) => {
        resolve(String((response.socket as TLSSocket).getPeerCertificate().subject.CN));
        response.destroy();
      });
    });
  await clock.advance(60_000);
  assert.equal(await shown(), 'first');
  const finish = renew('second');
  await clock.advance(60_000);
  assert.equal(await shown(), 'first', 'the key does not fit yet');
  finish();
  await clock.advance(60_000);
  assert.equal(await shown(), 'second');
  ending.abort();
  await following;
  rmSync(folder, { recursive: true });
});
