/**
 * What a well-behaved client notices of others that behave badly: it asks for something small all the time, over a connection of its own,
 * while one attack after the other runs for some seconds from another process. The figure is the longest of the attacks' 99th percentiles;
 * each attack's delays stand beside those of a quiet server. Attackers are an authenticated service account, not an operator, and they
 * share the machine's processors with the server: part of the delay is theirs.
 *
 *     node bench/hostile-clients.ts [ATTACK...]
 */
import { join } from 'node:path';
import { Child } from './parts/child.ts';
import { print, quantile, rounded, say } from './parts/figure.ts';
import { ask, closeSession, openSession } from './parts/https-client.ts';
import { createDefaultAccount } from './parts/objects.ts';
import { temporaryFolder } from './parts/temporary.ts';
import { type AttackName, attackNames, type Struck } from './processes/attackers.ts';
import type { Probed } from './processes/readers.ts';
import type { StartedServer } from './processes/server.ts';

const pods = 3000;
const attackMs = 4000;
const small = '/api/v1/namespaces/default';
const asked = process.argv.slice(2);
const chosen = asked.length === 0 ? attackNames : attackNames.filter((name) => asked.includes(name));

await using server = new Child('server');
const { admin } = await server.ask<StartedServer>({
  kind: 'start',
  directory: join(temporaryFolder(), 'store'),
  controllers: [],
});
const token = await attackerToken();
await fill();
await using prober = new Child('readers');
await prober.ask({ kind: 'open', access: admin });
const quiet = await probed(() => pause(attackMs));
say(`quiet: ${JSON.stringify(quiet)}`);
const results: Record<string, unknown> = {};
let worst = { name: '', p99Ms: 0 };
for (const name of chosen) await strike(name);
print({
  name: 'hostile-clients',
  what: 'a small GET of a well-behaved client under the worst of the attacks, 99th percentile',
  figure: worst.p99Ms,
  unit: 'ms',
  better: 'lower',
  note: `worst: ${worst.name}; quiet ${quiet.p99Ms} ms`,
  details: { quiet, ...results },
});

async function strike(name: AttackName): Promise<void> {
  await using attackers = new Child('attackers');
  await attackers.ask({ kind: 'open', access: { ...admin, certificate: '', key: '' }, token });
  await attackers.ask({ kind: 'attack', name });
  // What is measured is the attack under way, not its beginning.
  await pause(500);
  const delays = await probed(() => pause(attackMs));
  const { strikes, answers } = await attackers.ask<Struck>({ kind: 'stop' });
  const timesQuiet = rounded(delays.p99Ms / quiet.p99Ms);
  results[name] = { ...delays, timesQuiet, strikes, answers };
  say(`${name}: ${JSON.stringify(results[name])}`);
  if (delays.p99Ms > worst.p99Ms) worst = { name, p99Ms: delays.p99Ms };
  await settled();
}

/** What an attack has left behind must not be counted against the next. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 60; turn++) {
    const { p99Ms } = await probed(() => pause(500));
    if (p99Ms <= 3 * quiet.p99Ms) return;
  }
}

async function probed(meanwhile: () => Promise<unknown>) {
  await prober.ask({ kind: 'probe', path: small });
  await meanwhile();
  const { latenciesMs } = await prober.ask<Probed>({ kind: 'stop' });
  return {
    medianMs: rounded(quantile(latenciesMs, 0.5)),
    p99Ms: rounded(quantile(latenciesMs, 0.99)),
    longestMs: rounded(quantile(latenciesMs, 1)),
  };
}

/** Of a service account that may do everything, so that each attack goes as deep as it can. */
async function attackerToken(): Promise<string> {
  await createDefaultAccount(admin);
  const session = await openSession(admin);
  const account = { metadata: { name: 'attacker' } };
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await ask(session, accounts, { body: JSON.stringify(account) });
  const binding = {
    metadata: { name: 'attacker' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'attacker', namespace: 'default' }],
  };
  await ask(session, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', { body: JSON.stringify(binding) });
  const { body } = await ask(session, `${accounts}/attacker/token`, { body: '{"spec":{}}', keepBody: true });
  await closeSession(session);
  return (JSON.parse(body) as { status: { token: string } }).status.token;
}

async function fill(): Promise<void> {
  await using load = new Child('creators');
  await load.ask({ kind: 'open', access: admin, clients: 32 });
  await load.ask({ kind: 'create', resource: 'pods', prefix: 'pod', count: pods });
  await load.ask({ kind: 'close' });
  say(`${pods} Pods are there`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
