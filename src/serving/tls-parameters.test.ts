import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { type ConnectionOptions, connect, createServer, type Server } from 'node:tls';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { createCertificateAuthority, issueCertificate } from '../pki/authority.ts';
import { systemKeys } from '../pki/keys.ts';
import { NamedCertificates, type TlsParameters, tlsParameters } from './tls-parameters.ts';

const parts = { clock: systemClock, random: systemRandom, keys: systemKeys };
const authority = createCertificateAuthority({ commonName: 'ca' }, parts);
const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

function pair(commonName: string, dnsNames: readonly string[] = []) {
  const { certificatePem, keyPem } = issueCertificate(authority, { commonName, dnsNames, usages: ['server auth'] });
  return { certificate: certificatePem, key: keyPem };
}

async function serve(parameters: TlsParameters): Promise<number> {
  const { certificate, key } = pair('first');
  const server = createServer({ ...parameters, cert: certificate, key }, (socket) => socket.end());
  server.on('tlsClientError', () => {});
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** What a handshake came to, or why there was none. */
function handshake(port: number, options: ConnectionOptions = {}) {
  return new Promise<{ protocol: string; cipher: string; name: string } | string>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }, () => {
      const { CN } = socket.getPeerCertificate().subject;
      resolve({ protocol: socket.getProtocol()!, cipher: socket.getCipher().name, name: String(CN) });
      socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
  });
}

async function agreed(port: number, options: ConnectionOptions = {}) {
  const outcome = await handshake(port, options);
  assert.ok(typeof outcome === 'object', String(outcome));
  return outcome;
}

describe('what a server asks of TLS', () => {
  it('is 1.2 by default, or the version that is named', async () => {
    const port = await serve(tlsParameters('', []));
    assert.equal((await agreed(port, { maxVersion: 'TLSv1.2' })).protocol, 'TLSv1.2');
    assert.equal(typeof (await handshake(port, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' })), 'string');
    const strict = await serve(tlsParameters('VersionTLS13', []));
    assert.equal((await agreed(strict)).protocol, 'TLSv1.3');
    assert.equal(typeof (await handshake(strict, { maxVersion: 'TLSv1.2' })), 'string');
  });

  it('may be as old as TLS 1.0, for who says so', async () => {
    const port = await serve(tlsParameters('VersionTLS10', []));
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
    assert.equal((await agreed(port, old)).protocol, 'TLSv1');
  });

  it('is one of the suites that are named, those of 1.3 aside', async () => {
    const suite = 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384';
    const port = await serve(tlsParameters('', [suite]));
    assert.equal((await agreed(port, { maxVersion: 'TLSv1.2' })).cipher, 'ECDHE-ECDSA-AES256-GCM-SHA384');
    const other = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' } as const;
    assert.equal(typeof (await handshake(port, other)), 'string');
    assert.equal((await agreed(port, { ciphers: 'TLS_AES_128_GCM_SHA256' })).protocol, 'TLSv1.3');
  });

  it('goes by names that exist', () => {
    assert.throws(() => tlsParameters('VersionSSL30', []), { message: 'unknown tls version "VersionSSL30"' });
    assert.throws(() => tlsParameters('', ['AES']), { message: "Cipher suite AES not supported or doesn't exist" });
  });
});

describe('the certificate that a client is shown', () => {
  const named = (commonName: string, names: readonly string[] = [], dnsNames: readonly string[] = []) => ({
    ...pair(commonName, dnsNames),
    names,
  });

  it('is that of the name it asks for: given names first, then earlier pairs', async () => {
    const certificates = new NamedCertificates(tlsParameters('', []), [
      named('own.example.com', [], ['*.wild.example.com']),
      named('given', ['given.example.com']),
      named('later', [], ['own.example.com', 'given.example.com']),
    ]);
    const port = await serve(certificates.parameters);
    const shown = async (servername: string) => (await agreed(port, { servername })).name;
    assert.equal(await shown('own.example.com'), 'own.example.com');
    assert.equal(await shown('GIVEN.example.com'), 'given');
    assert.equal(await shown('a.wild.example.com'), 'own.example.com');
    assert.equal(await shown('a.b.wild.example.com'), 'first', 'a star is one label');
    assert.equal((await agreed(port)).name, 'first', 'a client that names nobody');
    certificates.replace([named('renewed', ['own.example.com'])]);
    assert.equal(await shown('own.example.com'), 'renewed');
    assert.throws(() => certificates.replace([{ ...named('a'), key: pair('b').key, names: [] }]));
    assert.equal(await shown('own.example.com'), 'renewed', 'a pair that does not fit is not taken');
  });

  it('comes with the same demands', async () => {
    const certificates = new NamedCertificates(tlsParameters('VersionTLS13', []), [named('a', ['a.example.com'])]);
    const port = await serve(certificates.parameters);
    const outcome = await handshake(port, { servername: 'a.example.com', maxVersion: 'TLSv1.2' });
    assert.equal(typeof outcome, 'string');
  });
});
