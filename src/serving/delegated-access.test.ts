import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import type { SubjectAccessReview } from '../api/gen/authorization-v1.ts';
import { seededRandom } from '../base/random.ts';
import type { Client } from '../client/client.ts';
import { type CertifiedKey, createCertificateAuthority, issueCertificate } from '../pki/authority.ts';
import { systemKeys } from '../pki/keys.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { type Authenticate, delegatedAuthentication, type UserInfo } from './delegated-authentication.ts';
import { delegatedAuthorization } from './delegated-authorization.ts';

const now = Date.UTC(2026, 5, 1);
const sources = (clock: FakeClock) => ({ clock, random: seededRandom(1), keys: systemKeys });

/** A client that answers reviews as `answer` says, and counts them. */
function reviewer(answer: (spec: Record<string, unknown>) => unknown) {
  const asked: Record<string, unknown>[] = [];
  const client = {
    async create(_type: unknown, object: { spec: Record<string, unknown> }) {
      asked.push(object.spec);
      return { ...object, status: await answer(object.spec) };
    },
  } as unknown as Client;
  return { asked, client };
}

const withToken = (token: string) => ({ headers: { authorization: `Bearer ${token}` }, socket: {} }) as IncomingMessage;
const withNothing = { headers: {}, socket: {} } as IncomingMessage;

describe('bearer tokens', () => {
  const alice = { authenticated: true, user: { username: 'alice', groups: ['dev'], uid: '7' } };

  it('are asked of the API server once in two minutes', async () => {
    const clock = new FakeClock(now);
    const { asked, client } = reviewer(() => alice);
    const authenticate = delegatedAuthentication({ clock, tokenReviews: client });
    const expected: UserInfo = { name: 'alice', uid: '7', groups: ['dev', 'system:authenticated'] };
    assert.deepEqual(await authenticate(withToken('a')), expected);
    await clock.advance(119_000);
    await authenticate(withToken('a'));
    assert.equal(asked.length, 1);
    await clock.advance(2000);
    await authenticate(withToken('a'));
    await authenticate(withToken('b'));
    assert.deepEqual(asked, [{ token: 'a' }, { token: 'a' }, { token: 'b' }]);
  });

  it('that are not valid are refused, and never taken for anonymous', async () => {
    const clock = new FakeClock(now);
    const { client } = reviewer(() => ({ authenticated: false }));
    const authenticate = delegatedAuthentication({ clock, tokenReviews: client, anonymous: true });
    await assert.rejects(authenticate(withToken('a')), /invalid bearer token/);
    assert.equal((await authenticate(withNothing))?.name, 'system:anonymous');
  });

  it('are asked again after a failure to ask', async () => {
    const clock = new FakeClock(now);
    let fails = true;
    const { client } = reviewer(() => {
      if (fails) throw new Error('connection refused');
      return alice;
    });
    const authenticate = delegatedAuthentication({ clock, tokenReviews: client });
    await assert.rejects(authenticate(withToken('a')), /connection refused/);
    fails = false;
    assert.equal((await authenticate(withToken('a')))?.name, 'alice');
  });

  it('count nothing where nobody is to be asked', async () => {
    const authenticate = delegatedAuthentication({ clock: new FakeClock(now) });
    assert.equal(await authenticate(withToken('a')), undefined);
  });
});

describe('client certificates', () => {
  const clock = new FakeClock(now);
  const authority = createCertificateAuthority({ commonName: 'clients' }, sources(clock));
  const server = issueCertificate(authority, { commonName: 'server', usages: ['server auth'] });
  const issue = (commonName: string, organizations: readonly string[] = []) =>
    issueCertificate(authority, { commonName, organizations, usages: ['client auth'] });

  /** What the server's end makes of a client with this certificate. */
  const present = async (authenticate: Authenticate, client?: CertifiedKey) => {
    const options = { cert: server.certificatePem, key: server.keyPem, requestCert: true, rejectUnauthorized: false };
    let outcome: Promise<UserInfo | undefined> | undefined;
    const listening = createServer(options, (incoming, response) => {
      outcome = authenticate(incoming);
      outcome.catch(() => {}).finally(() => response.end());
    });
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
    const { port } = listening.address() as AddressInfo;
    const credentials = client ? { cert: client.certificatePem, key: client.keyPem } : {};
    await new Promise<void>((resolve, reject) => {
      request({ port, host: '127.0.0.1', agent: false, rejectUnauthorized: false, ...credentials }, (response) => {
        response.resume().on('end', resolve);
      })
        .on('error', reject)
        .end();
    });
    listening.close();
    return outcome;
  };

  const authenticate = delegatedAuthentication({ clock, clientAuthorities: () => authority.certificatePem });

  it('say who it is', async () => {
    const user = await present(authenticate, issue('bob', ['dev', 'ops']));
    assert.deepEqual([user?.name, user?.groups], ['bob', ['dev', 'ops', 'system:authenticated']]);
    assert.equal(await present(authenticate), undefined);
  });

  it('of strangers, for servers, or out of date are refused', async () => {
    const other = createCertificateAuthority({ commonName: 'clients' }, sources(clock));
    const stranger = issueCertificate(other, { commonName: 'bob', usages: ['client auth'] });
    await assert.rejects(present(authenticate, stranger), /signed by unknown authority/);
    await assert.rejects(present(authenticate, server), /incompatible key usage/);
    const late = new FakeClock(now + 366 * 86_400_000);
    const later = delegatedAuthentication({ clock: late, clientAuthorities: () => authority.certificatePem });
    await assert.rejects(present(later, issue('bob')), /expired/);
  });

  it('are verified against the bundle of the moment', async () => {
    let bundle = authority.certificatePem;
    const following = delegatedAuthentication({ clock, clientAuthorities: () => bundle });
    const client = issue('bob');
    assert.equal((await present(following, client))?.name, 'bob');
    bundle = createCertificateAuthority({ commonName: 'next' }, sources(clock)).certificatePem;
    await assert.rejects(present(following, client), /unknown authority/);
  });
});

describe('delegated authorization', () => {
  const user: UserInfo = { name: 'alice', groups: ['dev'] };
  const question = {
    user,
    resource: { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'proxy', name: 'a' },
  };
  const spec: SubjectAccessReview['spec'] = {
    user: 'alice',
    groups: ['dev'],
    resourceAttributes: { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'proxy', name: 'a' },
  };

  it('remembers a yes for five minutes and a no for half a minute', async () => {
    const clock = new FakeClock(now);
    let allowed = true;
    const { asked, client } = reviewer(() => ({ allowed }));
    const authorize = delegatedAuthorization({ client, clock });
    assert.equal((await authorize(question)).allowed, true);
    allowed = false;
    await clock.advance(299_000);
    assert.equal((await authorize(question)).allowed, true);
    await clock.advance(2000);
    assert.equal((await authorize(question)).allowed, false);
    await clock.advance(29_000);
    await authorize(question);
    assert.deepEqual(asked, [spec, spec]);
    await clock.advance(2000);
    await authorize(question);
    assert.equal(asked.length, 3);
  });

  it('a denial outweighs an allowance, and a failure is no answer', async () => {
    const clock = new FakeClock(now);
    const both = delegatedAuthorization({ client: reviewer(() => ({ allowed: true, denied: true })).client, clock });
    assert.equal((await both(question)).allowed, false);
    const broken = delegatedAuthorization({ client: reviewer(() => Promise.reject(new Error('gone'))).client, clock });
    await assert.rejects(broken(question), /gone/);
  });

  it('asks nobody about paths and groups that are always allowed', async () => {
    const clock = new FakeClock(now);
    const { asked, client } = reviewer(() => ({ allowed: false, reason: 'no' }));
    const options = { client, clock, alwaysAllowPaths: ['/healthz', '/livez*'], alwaysAllowGroups: ['system:masters'] };
    const authorize = delegatedAuthorization(options);
    for (const path of ['/healthz', '/livez', '/livez/ping'])
      assert.equal((await authorize({ user, path, verb: 'get' })).allowed, true, path);
    assert.equal((await authorize({ ...question, user: { ...user, groups: ['system:masters'] } })).allowed, true);
    assert.equal(asked.length, 0);
    const refused = await authorize({ user, path: '/metrics', verb: 'get' });
    assert.deepEqual(refused, { allowed: false, reason: 'no' });
    assert.deepEqual(asked, [
      { user: 'alice', groups: ['dev'], nonResourceAttributes: { path: '/metrics', verb: 'get' } },
    ]);
  });
});
