/** Authorization by a webhook: what it is sent, how its answers are kept, and what becomes of requests when it fails. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { path } from '../../apimachinery/field-error.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { IdentityStatistics } from '../metrics/identity-statistics.ts';
import { parseRequestInfo } from '../request-info.ts';
import { serverWebhook } from '../webhook-client/webhook-clients.ts';
import { type Answer, startWebhookServer } from '../webhook-client/webhook-server.fixture.ts';
import { compileMatchConditions } from './match-conditions.ts';
import { type WebhookAuthorizerOptions, webhookAuthorizer } from './webhook-authorizer.ts';

const alice = { name: 'alice', uid: 'u1', groups: ['dev'], extra: { team: ['red'] } };
const listing = {
  user: alice,
  info: parseRequestInfo(
    'GET',
    '/api/v1/namespaces/a/pods',
    new URLSearchParams({ fieldSelector: 'spec.nodeName=n1', labelSelector: 'app in (x,y),!old' }),
  ),
};
const review = (status: object) => ({ kind: 'SubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', status });

async function asking(answer: Answer, options: Partial<WebhookAuthorizerOptions> = {}) {
  const server = await startWebhookServer(answer);
  const clock = new FakeClock();
  const tls = { ca: Buffer.from(server.caBundle, 'base64').toString() };
  const { webhook, close } = serverWebhook({ server: `${server.url}/authorize`, tls }, { clock: systemClock });
  const statistics = new IdentityStatistics();
  const authorizer = webhookAuthorizer(webhook, {
    name: 'default',
    version: 'v1',
    timeoutMs: 3000,
    authorizedTtlMs: 300_000,
    unauthorizedTtlMs: 30_000,
    failurePolicy: 'NoOpinion',
    clock,
    random: systemRandom,
    statistics,
    ...options,
  });
  return {
    server,
    clock,
    statistics,
    ask: (attributes = listing) => authorizer.authorize(attributes),
    async [Symbol.asyncDispose]() {
      close();
      await server[Symbol.asyncDispose]();
    },
  };
}

const conditionsOf = (...expressions: string[]) => {
  const { conditions, errors } = compileMatchConditions(
    expressions.map((expression) => ({ expression })),
    path('matchConditions'),
  );
  assert.deepEqual(errors, []);
  return conditions;
};

describe('An authorization webhook', () => {
  it('is told who wants what, selectors included', async () => {
    await using asked = await asking(() => review({ allowed: true, reason: 'is red' }));
    assert.deepEqual(await asked.ask(), { decision: 'allow', reason: 'is red' });
    const { path: at, body } = asked.server.received[0]!;
    assert.match(at, /^\/authorize/);
    assert.deepEqual([body.kind, body.apiVersion], ['SubjectAccessReview', 'authorization.k8s.io/v1']);
    assert.deepEqual(body.spec, {
      resourceAttributes: {
        namespace: 'a',
        verb: 'list',
        version: 'v1',
        resource: 'pods',
        fieldSelector: { requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n1'] }] },
        labelSelector: {
          requirements: [
            { key: 'app', operator: 'In', values: ['x', 'y'] },
            { key: 'old', operator: 'DoesNotExist' },
          ],
        },
      },
      user: 'alice',
      groups: ['dev'],
      extra: { team: ['red'] },
      uid: 'u1',
    });
  });

  it('of the older version is told the groups under their older name', async () => {
    await using asked = await asking(
      () => ({ ...review({ allowed: false }), apiVersion: 'authorization.k8s.io/v1beta1' }),
      { version: 'v1beta1' },
    );
    const info = parseRequestInfo('GET', '/metrics', new URLSearchParams());
    assert.deepEqual(await asked.ask({ user: alice, info }), { decision: 'no-opinion', reason: '' });
    const { spec } = asked.server.received[0]!.body;
    assert.deepEqual([spec.group, spec.groups], [['dev'], undefined]);
    assert.deepEqual(spec.nonResourceAttributes, { path: '/metrics', verb: 'get' });
  });

  it('is not asked again while its answer holds', async () => {
    let allowed = true;
    await using asked = await asking(() => review({ allowed }));
    await asked.ask();
    await asked.clock.advance(299_999);
    allowed = false;
    assert.equal((await asked.ask()).decision, 'allow');
    await asked.clock.advance(1);
    assert.equal((await asked.ask()).decision, 'no-opinion');
    await asked.clock.advance(30_000);
    await asked.ask();
    assert.equal(asked.server.received.length, 3);
  });

  it('may deny, and cannot both deny and allow', async () => {
    await using denying = await asking(() => review({ denied: true, reason: 'no' }));
    assert.deepEqual(await denying.ask(), { decision: 'deny', reason: 'no' });
    await using torn = await asking(() => review({ denied: true, allowed: true }));
    assert.deepEqual(await torn.ask(), {
      decision: 'deny',
      reason: '',
      error: 'webhook subject access review returned both allow and deny response',
    });
  });

  it('that fails leaves the request to others, or to its policy', async () => {
    const failing = () => ({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'broken', code: 400 });
    await using open = await asking(failing);
    assert.deepEqual(await open.ask(), { decision: 'no-opinion', reason: '', error: 'broken' });
    assert.match(open.statistics.families().join(''), /fail_open_total\{name="default",result="error"\} 1/);
    await using closed = await asking(failing, { failurePolicy: 'Deny' });
    assert.deepEqual(await closed.ask(), { decision: 'deny', reason: '', error: 'broken' });
  });

  it('that answers nonsense has failed', async () => {
    for (const nonsense of [{}, { kind: 'Pod', apiVersion: 'v1' }, review({ allowed: 'yes' }), review([])]) {
      await using asked = await asking(() => nonsense);
      const { decision, error } = await asked.ask();
      assert.equal(decision, 'no-opinion');
      assert.match(error!, /webhook/);
    }
  });

  it('is asked again when it could not answer, a few times', async () => {
    let calls = 0;
    await using asked = await asking(() => {
      calls++;
      return {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'InternalError',
        message: 'oops',
        code: 500,
      };
    });
    const answer = Promise.resolve(asked.ask());
    let settled = false;
    void answer.finally(() => {
      settled = true;
    });
    while (!settled) await asked.clock.advance(100);
    assert.equal((await answer).error, 'oops');
    assert.equal(calls, 5);
  });
});

describe('Conditions of an authorization webhook', () => {
  it('spare the call when one is false', async () => {
    const conditions = conditionsOf('has(request.resourceAttributes)', "request.resourceAttributes.namespace == 'b'");
    await using asked = await asking(() => review({ allowed: true }), { conditions });
    assert.deepEqual(await asked.ask(), { decision: 'no-opinion', reason: '' });
    assert.equal(asked.server.received.length, 0);
    assert.match(asked.statistics.families().join(''), /exclusions_total\{name="default",type="Webhook"\} 1/);
  });

  it('see everything that is asked', async () => {
    const conditions = conditionsOf(
      "request.user == 'alice' && request.uid == 'u1' && 'dev' in request.groups && request.extra['team'] == ['red']",
      "request.resourceAttributes.fieldSelector.requirements.exists(r, r.key == 'spec.nodeName' && r.values == ['n1'])",
      "request.resourceAttributes.name == '' && !has(request.nonResourceAttributes)",
    );
    await using asked = await asking(() => review({ allowed: true }), { conditions });
    assert.equal((await asked.ask()).decision, 'allow');
  });

  it('that fail leave it to the policy', async () => {
    const conditions = conditionsOf("request.nonResourceAttributes.path == '/x'");
    await using asked = await asking(() => review({ allowed: true }), { conditions, failurePolicy: 'Deny' });
    const { decision, error } = await asked.ask();
    assert.equal(decision, 'deny');
    assert.match(
      error!,
      /^cel evaluation error: expression '.*' resulted in error: no such key: nonResourceAttributes$/,
    );
  });
});
