import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { chainOf } from '../../apiserver/authorization/authorization.ts';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { CommandError } from '../command-error.ts';
import type { ComponentFlags } from '../data/up-settings.ts';
import { thisMachine } from '../machine/machine.ts';
import { configureComponents } from './component-flags.ts';

const configure = (flags: ComponentFlags) =>
  configureComponents(flags, {
    clock: new FakeClock(),
    random: seededRandom(1),
    log: silentLog,
    machine: thisMachine(),
    signal: new AbortController().signal,
    started() {},
  });

test('a component without flags is left as it is', async () => {
  assert.deepEqual(await configure({}), { apiServer: undefined, controllerManager: undefined, scheduler: undefined });
});

test('flags reach their components, lists add up, and dashes may be written', async () => {
  const { apiServer, controllerManager, scheduler } = await configure({
    'kube-apiserver': ['enable-admission-plugins=AlwaysPullImages', '--enable-admission-plugins=PodNodeSelector'],
    'kube-controller-manager': ['terminated-pod-gc-threshold=7', 'controllers=*,-cronjob-controller'],
    'kube-scheduler': ['config='],
  });
  assert.deepEqual(apiServer?.options.enableAdmission, ['AlwaysPullImages', 'PodNodeSelector']);
  assert.equal(controllerManager?.podGarbageCollection?.terminatedThreshold, 7);
  assert.deepEqual(controllerManager?.controllers, ['*', '-cronjob-controller']);
  assert.deepEqual(scheduler, {});
  await apiServer?.[Symbol.asyncDispose]();
});

test('what a user asks for keeps the ways of coracle up: Node and RBAC decide, bootstrap tokens are known', async () => {
  const { apiServer } = await configure({ 'kube-apiserver': ['event-ttl=5m'] });
  assert.equal(apiServer?.options.eventTtlSeconds, 300);
  assert.deepEqual(apiServer?.options.authorizers?.(), chainOf(['Node', 'RBAC']));
  assert.equal(apiServer?.options.authentication?.bootstrapTokens, true);
  await apiServer?.[Symbol.asyncDispose]();
});

test('a policy and a log are enough to audit', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-flags-'));
  const policy = join(folder, 'policy.yaml');
  const log = join(folder, 'audit.log');
  writeFileSync(policy, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n');
  const { apiServer } = await configure({ 'kube-apiserver': [`audit-policy-file=${policy}`, `audit-log-path=${log}`] });
  assert.ok(apiServer?.options.auditor);
  await apiServer[Symbol.asyncDispose]();
  assert.ok(existsSync(log));
  rmSync(folder, { recursive: true });
});

for (const { name, flags, problem } of [
  { name: 'an unknown flag', flags: { 'kube-apiserver': ['audit-log=x'] }, problem: /unknown flag: --audit-log/ },
  {
    name: 'a word that is no flag',
    flags: { 'kube-apiserver': ['profiling'] },
    problem: /"profiling" is not NAME=VALUE/,
  },
  {
    name: 'a value of the wrong type',
    flags: { 'kube-apiserver': ['max-requests-inflight=many'] },
    problem: /--kube-apiserver-flag: invalid argument "many" for "--max-requests-inflight" flag/,
  },
  {
    name: 'an address, for it has an option of its own',
    flags: { 'kube-apiserver': ['secure-port=7443'] },
    problem: /coracle up decides --secure-port itself/,
  },
  {
    name: 'a file that is missing',
    flags: { 'kube-apiserver': ['audit-policy-file=/nowhere.yaml', 'audit-log-path=-'] },
    problem: /nowhere\.yaml/,
  },
  {
    name: 'a flag that the component reads and Coracle does not',
    flags: { 'kube-apiserver': ['tracing-config-file=/x'] },
    problem: /nothing would come of --tracing-config-file here/,
  },
  {
    name: 'a controller that nobody knows',
    flags: { 'kube-controller-manager': ['controllers=nobody'] },
    problem: /"nobody" is not in the list of known controllers/,
  },
  {
    name: 'another kubeconfig for the scheduler',
    flags: { 'kube-scheduler': ['kubeconfig=/x'] },
    problem: /coracle up decides --kubeconfig itself/,
  },
])
  test(`${name} is refused`, async () => {
    await assert.rejects(configure(flags), (error) => error instanceof CommandError && problem.test(error.message));
  });
