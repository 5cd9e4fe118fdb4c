/** `coracle kube-apiserver` with flags about TLS: what a client on the network meets. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect, type SecureVersion, type TLSSocket } from 'node:tls';
import { freePort, launcher } from './coracle.fixture.ts';

describe('kube-apiserver', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-serving-flags-'));
  let child: ChildProcess;
  let port: number;

  before(async () => {
    port = await freePort();
    const words = [
      ...['--bind-address=127.0.0.1', `--secure-port=${port}`],
      ...[`--data-dir=${join(folder, 'data')}`, `--cert-dir=${join(folder, 'pki')}`],
      ...['--tls-min-version=VersionTLS12', '--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'],
      '--strict-transport-security-directives=max-age=31536000,includeSubDomains,preload',
    ];
    child = spawn(launcher, ['kube-apiserver', ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
    await new Promise<void>((resolve, reject) => {
      let output = '';
      const read = (chunk: Buffer) => {
        output += String(chunk);
        if (output.includes('serving')) resolve();
      };
      child.stdout!.on('data', read);
      child.stderr!.on('data', read);
      child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${output}`)));
    });
  });
  after(async () => {
    if (child.exitCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  });

  it('agrees only on the versions and suites of its flags', async () => {
    const cipherWith = (maxVersion: SecureVersion, ciphers?: string) =>
      new Promise<string>((resolve) => {
        const options = { host: '127.0.0.1', port, maxVersion, rejectUnauthorized: false };
        const socket: TLSSocket = connect({ ...options, ...(ciphers ? { ciphers } : {}) }, () => {
          resolve(socket.getCipher().name);
          socket.destroy();
        });
        socket.on('error', () => resolve('none'));
      });
    assert.equal(await cipherWith('TLSv1.2'), 'ECDHE-ECDSA-AES256-GCM-SHA384');
    assert.equal(await cipherWith('TLSv1.2', 'ECDHE-ECDSA-AES128-GCM-SHA256'), 'none');
    assert.match(await cipherWith('TLSv1.3'), /^TLS_/);
  });

  it('tells browsers to come by HTTPS', async () => {
    const headers = await new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
      const asked = get({ host: '127.0.0.1', port, path: '/version', agent: false, rejectUnauthorized: false });
      asked.on('error', reject).on('response', (response) => {
        resolve(response.headers);
        response.resume();
      });
    });
    assert.equal(headers['strict-transport-security'], 'max-age=31536000; includeSubDomains; preload');
  });
});
