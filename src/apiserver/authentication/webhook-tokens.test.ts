/** Tokens that a webhook knows. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { serverWebhook } from '../webhook-client/webhook-clients.ts';
import { type Answer, startWebhookServer } from '../webhook-client/webhook-server.fixture.ts';
import { webhookTokens } from './webhook-tokens.ts';

const review = (status: object) => ({ kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', status });
const user = { username: 'ada', uid: 'u', groups: ['g'], extra: { team: ['red'] } };

async function asking(answer: Answer) {
  const server = await startWebhookServer(answer);
  const tls = { ca: Buffer.from(server.caBundle, 'base64').toString() };
  const { webhook, close } = serverWebhook({ server: server.url, tls }, { clock: systemClock });
  const tokens = webhookTokens(webhook, {
    version: 'v1',
    apiAudiences: ['api'],
    clock: systemClock,
    random: systemRandom,
  });
  return {
    server,
    ask: (...audiences: string[]) => tokens.authenticateToken('t', audiences),
    async [Symbol.asyncDispose]() {
      close();
      await server[Symbol.asyncDispose]();
    },
  };
}

it('a webhook is told the token and whom it must be for, and tells the user', async () => {
  await using asked = await asking(() => review({ authenticated: true, user }));
  assert.deepEqual(await asked.ask('api', 'other'), {
    user: { name: 'ada', uid: 'u', groups: ['g'], extra: { team: ['red'] } },
    audiences: ['api'],
  });
  const { kind, apiVersion, spec } = asked.server.received[0]!.body;
  assert.deepEqual([kind, apiVersion], ['TokenReview', 'authentication.k8s.io/v1']);
  assert.deepEqual(spec, { token: 't', audiences: ['api', 'other'] });
});

it('a token that is for others is nobody’s here', async () => {
  await using told = await asking(() => review({ authenticated: true, user, audiences: ['vault'] }));
  assert.equal(await told.ask('api'), undefined);
  assert.deepEqual((await told.ask('vault', 'x'))?.audiences, ['vault']);
  await using silent = await asking(() => review({ authenticated: true, user }));
  assert.equal(await silent.ask('vault'), undefined);
});

it('a token that the webhook does not know is left to others, unless it says why', async () => {
  await using unknown = await asking(() => review({ authenticated: false }));
  assert.equal(await unknown.ask('api'), undefined);
  await using explained = await asking(() => review({ error: 'revoked' }));
  await assert.rejects(explained.ask('api'), { message: 'revoked' });
});

it('nonsense is no answer', async () => {
  const nonsense = [
    {},
    { kind: 'Pod', apiVersion: 'v1' },
    review({ authenticated: 'true' }),
    review({ authenticated: true, user: { username: 7 } }),
    review({ authenticated: true, user: { username: 'x', groups: 'admins' } }),
    review({ authenticated: true, user: { username: 'x', extra: { a: [1] } } }),
  ];
  for (const answer of nonsense) {
    await using asked = await asking(() => answer);
    await assert.rejects(asked.ask('api'), /webhook/);
  }
});
