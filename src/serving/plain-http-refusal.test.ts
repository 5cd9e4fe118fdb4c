import assert from 'node:assert/strict';
import { createSecureServer } from 'node:http2';
import { createServer, request } from 'node:https';
import { type AddressInfo, connect, type Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { createCertificateAuthority, issueCertificate } from '../pki/authority.ts';
import { systemKeys } from '../pki/keys.ts';
import { refusePlainHttp } from './plain-http-refusal.ts';

const authority = createCertificateAuthority(
  { commonName: 'test' },
  { keys: systemKeys, random: systemRandom, clock: systemClock },
);
const { certificatePem: cert, keyPem: key } = issueCertificate(authority, {
  commonName: 'server',
  ipAddresses: ['127.0.0.1'],
  usages: ['server auth'],
});

/** What is read until the connection is over. */
function say(server: Server, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port } = server.address() as AddressInfo;
    let read = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => {
      read += chunk.toString();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(read));
  });
}

const connections = (server: Server) => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));

for (const [name, make] of Object.entries({
  'HTTP/1.1': () => createServer({ cert, key }),
  'HTTP/2': () => createSecureServer({ cert, key, allowHTTP1: true }),
}))
  describe(`a server of ${name} over TLS`, () => {
    const server = make();
    before(async () => {
      refusePlainHttp(server);
      server.on('request', (_: unknown, response: { end(text: string): void }) => response.end('secret'));
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    });
    after(() => new Promise((closed) => server.close(closed)));

    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS'])
      it(`tells who sends a plain ${method} what was wrong, as upstream, and hangs up`, async () => {
        const answer = await say(server, `${method} / HTTP/1.1\r\nhost: x\r\n\r\n`);
        assert.equal(answer, 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n');
        assert.equal(await connections(server), 0);
      });

    it('says nothing to what is neither', async () => {
      for (const noise of ['\0\0\0\0\0\0\0\0', 'GOT / HTTP/1.1\r\n\r\n'])
        assert.ok(!(await say(server, noise)).includes('HTTP'));
    });

    it('serves those who speak TLS', async () => {
      const { port } = server.address() as AddressInfo;
      const text = await new Promise((resolve, reject) => {
        const options = { host: '127.0.0.1', port, agent: false, ca: authority.certificatePem };
        const outgoing = request(options, (response) => response.on('data', (data) => resolve(String(data))));
        outgoing.on('error', reject);
        outgoing.end();
      });
      assert.equal(text, 'secret');
    });
  });
