import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { systemClock } from '../base/clock.ts';
import { seededRandom, systemRandom } from '../base/random.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import {
  type CertificateAuthority,
  createCertificateAuthority,
  issueCertificate,
  loadCertificateAuthority,
  signCertificateRequest,
} from './authority.ts';
import { CertificateError, isIssuedBy, parseCertificate, parseCertificates, verifyCertificate } from './certificate.ts';
import { createCertificateRequest, parseCertificateRequest } from './certificate-request.ts';
import { encodePrivateKey, encodePublicKey, keysFrom, parsePrivateKey, systemKeys } from './keys.ts';

const sources = { clock: systemClock, random: systemRandom, keys: systemKeys };
const serverNames = {
  dnsNames: ['kubernetes', 'kubernetes.default.svc.cluster.local', 'localhost'],
  ipAddresses: ['127.0.0.1', '10.96.0.1', '::1', 'fd00:0:0:1::', '2001:db8::ff:1:2'],
};

test('client and server with certificates of one authority meet over TLS, and the server learns user and groups', async (t) => {
  const authority = createCertificateAuthority({ commonName: 'kubernetes' }, sources);
  const server = issueCertificate(authority, { commonName: 'kube-apiserver', usages: ['server auth'], ...serverNames });
  const client = issueCertificate(authority, {
    commonName: 'system:node:a',
    organizations: ['system:nodes', 'extra'],
    usages: ['client auth'],
  });
  const { serverSocket, clientSocket } = await handshake(t, authority, server, client);
  assert.equal(serverSocket.authorized, true);
  assert.equal(clientSocket.authorized, true);
  const seen = parseCertificate(serverSocket.getPeerX509Certificate()!.raw);
  // A set has no order of its own; DER sorts it.
  assert.deepEqual(seen.subject, { commonName: 'system:node:a', organizations: ['extra', 'system:nodes'] });
});

test("another authority's client is not authorized, nor is a server certificate used as a client's", async (t) => {
  const authority = createCertificateAuthority({ commonName: 'kubernetes' }, sources);
  const stranger = createCertificateAuthority({ commonName: 'kubernetes' }, sources);
  const server = issueCertificate(authority, { commonName: 'server', usages: ['server auth'], ...serverNames });
  for (const { name, client } of [
    { name: 'foreign', client: issueCertificate(stranger, { commonName: 'x', usages: ['client auth'] }) },
    { name: 'server auth', client: issueCertificate(authority, { commonName: 'x', usages: ['server auth'] }) },
  ]) {
    const { serverSocket } = await handshake(t, authority, server, client);
    assert.equal(serverSocket.authorized, false, name);
  }
});

test('what is parsed is what was issued, and the runtime reads the same', () => {
  const clock = new FakeClock(Date.UTC(2026, 4, 1, 12));
  const random = seededRandom(7);
  const authority = createCertificateAuthority({ commonName: 'kubernetes' }, { clock, random, keys: systemKeys });
  const { certificatePem } = issueCertificate(authority, {
    commonName: 'kube-apiserver',
    organizations: ['a', 'b'],
    usages: ['server auth', 'client auth'],
    days: 10,
    ...serverNames,
    emailAddresses: ['a@example.com'],
    uris: ['spiffe://x/y'],
  });
  const [parsed] = parseCertificates(certificatePem);
  assert.ok(parsed);
  const runtime = new X509Certificate(certificatePem);
  assert.deepEqual(parsed.subject, { commonName: 'kube-apiserver', organizations: ['a', 'b'] });
  assert.deepEqual(parsed.issuer, { commonName: 'kubernetes', organizations: [] });
  assert.deepEqual(parsed.dnsNames, serverNames.dnsNames);
  assert.deepEqual(parsed.ipAddresses, serverNames.ipAddresses);
  assert.deepEqual([parsed.emailAddresses, parsed.uris], [['a@example.com'], ['spiffe://x/y']]);
  assert.deepEqual(parsed.usages, ['digital signature', 'key encipherment', 'server auth', 'client auth']);
  assert.equal(parsed.isAuthority, false);
  assert.equal(parsed.notBeforeMs, clock.now() - 300_000);
  assert.equal(parsed.notAfterMs, clock.now() + 10 * 86_400_000);
  assert.equal(parsed.fingerprint, runtime.fingerprint256.replaceAll(':', '').toLowerCase());
  assert.equal(parsed.serialNumber, runtime.serialNumber.toLowerCase());
  assert.equal(parsed.notAfterMs, runtime.validToDate.getTime());
  assert.ok(parsed.publicKey.equals(runtime.publicKey));
  assert.ok(runtime.verify(authority.certificate.publicKey));
  assert.ok(runtime.checkIssued(new X509Certificate(authority.certificatePem)));
  assert.ok(isIssuedBy(parsed, authority.certificate));
  assert.ok(authority.certificate.isAuthority);
  assert.deepEqual(authority.certificate.usages, ['digital signature', 'key encipherment', 'cert sign']);
});

test('openssl verifies chain, purpose, host and address', (t) => {
  const authority = createCertificateAuthority(
    { commonName: 'kubernetes', organizations: ['ä'], days: 40_000 },
    sources,
  );
  const server = issueCertificate(authority, { commonName: 'server', usages: ['server auth'], ...serverNames });
  const file = folder(t);
  const ca = file('ca.pem', authority.certificatePem);
  const leaf = file('server.pem', server.certificatePem);
  const verify = (...options: string[]) =>
    openssl('verify', '-x509_strict', '-CAfile', ca, ...options, leaf).includes('server.pem: OK');
  assert.ok(verify('-purpose', 'sslserver'));
  assert.ok(verify('-verify_hostname', 'kubernetes.default.svc.cluster.local'));
  assert.ok(verify('-verify_ip', '2001:db8::ff:1:2'));
  assert.throws(() => verify('-purpose', 'sslclient'), /unsuitable certificate purpose/);
  assert.throws(() => verify('-verify_ip', '10.96.0.2'), /IP address mismatch/);
  assert.match(openssl('x509', '-in', ca, '-noout', '-enddate'), /21\d\d GMT/);
});

for (const { name, args } of [
  { name: 'RSA in PKCS8', args: ['-newkey', 'rsa:2048'] },
  { name: 'EC P-384', args: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'] },
  { name: 'Ed25519', args: ['-newkey', 'ed25519'] },
]) {
  test(`an authority made by openssl with ${name} and a longer name can be used`, (t) => {
    const file = folder(t);
    const [key, certificate] = [file('ca.key', ''), file('ca.pem', '')];
    const subject = '/C=DE/ST=Land/O=Org/OU=Unit/CN=Their CA';
    openssl('req', '-x509', ...args, '-nodes', '-keyout', key, '-out', certificate, '-days', '2', '-subj', subject);
    const files = { certificatePem: openssl('x509', '-in', certificate), keyPem: openssl('pkey', '-in', key) };
    const authority = loadCertificateAuthority(files, sources);
    const issued = issueCertificate(authority, { commonName: 'user', usages: ['client auth'] });
    const leaf = file('leaf.pem', issued.certificatePem);
    assert.match(openssl('verify', '-purpose', 'sslclient', '-CAfile', certificate, leaf), /leaf.pem: OK/);
    const [parsed] = parseCertificates(issued.certificatePem);
    assert.equal(parsed!.notAfterMs, authority.certificate.notAfterMs, 'it does not outlive its authority');
  });
}

test('keys in SEC1 and PKCS1 are understood, encrypted and foreign ones are refused', (t) => {
  const file = folder(t);
  const authority = createCertificateAuthority({ commonName: 'ca' }, sources);
  const key = file('ca.key', authority.keyPem);
  const sec1 = openssl('ec', '-in', key);
  assert.match(sec1, /BEGIN EC PRIVATE KEY/);
  assert.ok(loadCertificateAuthority({ ...authority, keyPem: sec1 }, sources));
  const other = encodePrivateKey(systemKeys.generate());
  assert.throws(() => loadCertificateAuthority({ ...authority, keyPem: other }, sources), /does not belong/);
  const leaf = issueCertificate(authority, { commonName: 'x', usages: ['client auth'] });
  assert.throws(() => loadCertificateAuthority(leaf, sources), /not that of a certificate authority/);
  const encrypted = openssl('ec', '-in', key, '-aes128', '-passout', 'pass:secret');
  assert.throws(() => loadCertificateAuthority({ ...authority, keyPem: encrypted }, sources), /encrypted/);
});

test('a request from openssl is read, signed as asked by the signer, and accepted by openssl', (t) => {
  const file = folder(t);
  const key = file('key.pem', '');
  const request = openssl(
    'req',
    '-new',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    key,
    '-subj',
    '/O=system:nodes/CN=system:node:a',
    '-addext',
    'subjectAltName=DNS:a.example,IP:10.0.0.5,IP:fe80::1,email:a@b,URI:urn:x',
    '-addext',
    'keyUsage=critical,digitalSignature,keyAgreement',
    '-addext',
    'extendedKeyUsage=serverAuth',
  );
  const parsed = parseCertificateRequest(request);
  assert.deepEqual(parsed.subject, { commonName: 'system:node:a', organizations: ['system:nodes'] });
  assert.deepEqual([parsed.dnsNames, parsed.ipAddresses], [['a.example'], ['10.0.0.5', 'fe80::1']]);
  assert.deepEqual([parsed.emailAddresses, parsed.uris], [['a@b'], ['urn:x']]);
  assert.deepEqual(parsed.usages, ['digital signature', 'key agreement', 'server auth']);

  const authority = createCertificateAuthority({ commonName: 'ca' }, sources);
  const certificatePem = signCertificateRequest(authority, parsed, {
    usages: ['digital signature', 'client auth'],
    durationSeconds: 600,
  });
  const [certificate] = parseCertificates(certificatePem);
  assert.ok(certificate);
  assert.deepEqual(certificate.subject, parsed.subject);
  assert.deepEqual(certificate.usages, ['digital signature', 'client auth']);
  assert.deepEqual(certificate.ipAddresses, ['10.0.0.5', 'fe80::1']);
  const leaf = file('leaf.pem', certificatePem);
  const ca = file('ca.pem', authority.certificatePem);
  assert.match(openssl('verify', '-purpose', 'sslclient', '-CAfile', ca, leaf), /OK/);
});

test('a request of ours is verified by openssl and reads back as it was', (t) => {
  const key = systemKeys.generate();
  const wanted = { dnsNames: ['a', 'b.c'], ipAddresses: ['1.2.3.4', '::'], usages: ['server auth'] as const };
  const pem = createCertificateRequest(key, {
    commonName: 'system:node:b',
    organizations: ['system:nodes'],
    ...wanted,
  });
  const text = openssl('req', '-verify', '-noout', '-text', '-in', folder(t)('request.pem', pem));
  assert.match(text, /O\s?=\s?system:nodes, CN\s?=\s?system:node:b/);
  assert.match(text, /DNS:a, DNS:b\.c, IP Address:1\.2\.3\.4, IP Address:0:0:0:0:0:0:0:0/);
  const parsed = parseCertificateRequest(pem);
  assert.deepEqual([parsed.dnsNames, parsed.ipAddresses, parsed.usages], Object.values(wanted));
  assert.deepEqual(parseCertificateRequest(createCertificateRequest(key, { commonName: 'x' })).dnsNames, []);
});

test('a request that was changed, or is none, is refused without harm', () => {
  const pem = createCertificateRequest(systemKeys.generate(), { commonName: 'system:node:b', dnsNames: ['a'] });
  const bytes = Buffer.from(pem.replace(/-----.*-----/g, ''), 'base64');
  const wrap = (der: Buffer) =>
    `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
  for (let i = 0; i < bytes.length; i++) {
    for (const flip of [0x01, 0x80, 0xff]) {
      const changed = Buffer.from(bytes);
      changed[i]! ^= flip;
      assert.throws(() => parseCertificateRequest(wrap(changed)), `byte ${i} xor ${flip}`);
    }
    assert.throws(() => parseCertificateRequest(wrap(bytes.subarray(0, i))), `cut at ${i}`);
  }
  assert.throws(() => parseCertificateRequest('hello'), /PEM block type must be CERTIFICATE REQUEST/);
  assert.throws(() => parseCertificateRequest(encodePrivateKey(systemKeys.generate())), TypeError);
});

test('verification follows intermediates to a root, and minds dates, usage and who may sign', (t) => {
  const clock = new FakeClock(systemClock.now());
  const inTime = { ...sources, clock };
  const root = createCertificateAuthority({ commonName: 'root' }, inTime);
  const [intermediatePem, intermediateKey] = opensslIntermediate(t, root);
  const intermediate = loadCertificateAuthority({ certificatePem: intermediatePem, keyPem: intermediateKey }, inTime);
  const parse = (pem: string) => parseCertificates(pem)[0]!;
  const leaf = parse(
    issueCertificate(intermediate, { commonName: 'u', usages: ['client auth'], days: 3 }).certificatePem,
  );
  const options = {
    roots: [root.certificate],
    intermediates: [intermediate.certificate],
    usage: 'client auth' as const,
    // openssl dates by the wall clock, and may have begun a second later.
    nowMs: Math.max(clock.now(), intermediate.certificate.notBeforeMs),
  };
  const reason = (verify: () => unknown) => {
    try {
      verify();
      return 'none';
    } catch (error) {
      assert.ok(error instanceof CertificateError);
      return error.reason;
    }
  };
  assert.deepEqual(verifyCertificate(leaf, options), [leaf, intermediate.certificate, root.certificate]);
  assert.equal(
    reason(() => verifyCertificate(leaf, { ...options, intermediates: [] })),
    'unknownAuthority',
  );
  assert.equal(
    reason(() => verifyCertificate(leaf, { ...options, roots: [] })),
    'unknownAuthority',
  );
  assert.equal(
    reason(() => verifyCertificate(leaf, { ...options, usage: 'server auth' })),
    'usage',
  );
  assert.equal(
    reason(() => verifyCertificate(leaf, { ...options, nowMs: leaf.notAfterMs + 1000 })),
    'expired',
  );
  assert.equal(
    reason(() => verifyCertificate(leaf, { ...options, nowMs: leaf.notBeforeMs - 1000 })),
    'notYetValid',
  );
  assert.throws(
    () => verifyCertificate(leaf, { ...options, nowMs: Date.UTC(2100, 0, 1) }),
    /^CertificateError: x509: certificate has expired or is not yet valid: current time 2100-01-01T00:00:00Z is after/,
  );
  // A leaf that signs is no authority, whatever its key did.
  const user = issueCertificate(root, { commonName: 'user', usages: ['client auth'] });
  const forger = {
    ...root,
    ...user,
    certificate: parse(user.certificatePem),
    privateKey: parsePrivateKey(user.keyPem),
  };
  const forged = parse(issueCertificate(forger, { commonName: 'admin', usages: ['client auth'] }).certificatePem);
  assert.equal(
    reason(() => verifyCertificate(forged, { ...options, intermediates: [forger.certificate] })),
    'unknownAuthority',
  );
});

test('with a seeded key source, keys are the same each time and good for TLS', async (t) => {
  const make = (seed: number) => {
    const random = seededRandom(seed);
    return createCertificateAuthority({ commonName: 'ca' }, { clock: systemClock, random, keys: keysFrom(random) });
  };
  assert.equal(make(1).keyPem, make(1).keyPem);
  assert.notEqual(make(1).keyPem, make(2).keyPem);
  const authority = make(3);
  const server = issueCertificate(authority, { commonName: 'server', usages: ['server auth'], ...serverNames });
  const client = issueCertificate(authority, { commonName: 'client', usages: ['client auth'] });
  const { serverSocket } = await handshake(t, authority, server, client);
  assert.equal(serverSocket.authorized, true);
});

test('garbage is not a certificate', () => {
  const authority = createCertificateAuthority({ commonName: 'ca' }, sources);
  const { bytes } = authority.certificate;
  for (let length = 0; length < bytes.length; length++)
    assert.throws(() => parseCertificate(bytes.subarray(0, length)));
  assert.throws(() =>
    parseCertificate(generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'der' })),
  );
  assert.deepEqual(parseCertificates('no certificate here'), []);
});

async function handshake(
  t: TestContext,
  authority: CertificateAuthority,
  server: { certificatePem: string; keyPem: string },
  client: { certificatePem: string; keyPem: string },
): Promise<{ serverSocket: TLSSocket; clientSocket: TLSSocket }> {
  const listener = createServer({
    cert: server.certificatePem,
    key: server.keyPem,
    ca: authority.certificatePem,
    requestCert: true,
    rejectUnauthorized: false,
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const accepted = once(listener, 'secureConnection') as Promise<[TLSSocket]>;
  const clientSocket = connect({
    host: '127.0.0.1',
    port: (listener.address() as AddressInfo).port,
    ca: authority.certificatePem,
    cert: client.certificatePem,
    key: client.keyPem,
    servername: 'kubernetes',
  });
  await once(clientSocket, 'secureConnect');
  const [serverSocket] = await accepted;
  t.after(() => {
    clientSocket.destroy();
    serverSocket.destroy();
    listener.close();
  });
  return { serverSocket, clientSocket };
}

function openssl(...args: string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** A folder of the test's own; returns a function that writes a file there and gives its path. */
function folder(t: TestContext): (name: string, content: string) => string {
  const path = mkdtempSync(join(tmpdir(), 'coracle-pki-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return (name, content) => {
    writeFileSync(join(path, name), content);
    return join(path, name);
  };
}

function opensslIntermediate(t: TestContext, root: CertificateAuthority): [string, string] {
  const file = folder(t);
  const keyPem = encodePrivateKey(systemKeys.generate());
  const request = createCertificateRequest(systemKeys.generate(), { commonName: 'unused' });
  const certificate = openssl(
    'x509',
    '-req',
    '-in',
    file('request.pem', request),
    '-force_pubkey',
    file('key.pem', encodePublicKey(parsePrivateKey(keyPem))),
    '-CA',
    file('ca.pem', root.certificatePem),
    '-CAkey',
    file('ca.key', root.keyPem),
    '-set_serial',
    '5',
    '-days',
    '20',
    '-subj',
    '/CN=intermediate',
    '-extfile',
    file('extensions', 'basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign\n'),
  );
  return [certificate, keyPem];
}
