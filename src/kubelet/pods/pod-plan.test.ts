/** Decisions about one Pod, from what its spec asks and the runtime shows. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Pod, PodSpec } from '../../api/gen/core-v1.ts';
import { containerHash } from './container-hash.ts';
import { podPhase } from './pod-phase.ts';
import { type PlanFacts, type PodPlan, planPod } from './pod-plan.ts';
import type { RuntimeContainer, RuntimePod } from './runtime-pod.ts';

const container = (name: string, extra: Partial<Container> = {}): Container => ({ name, image: 'app:1', ...extra });
const pod = (spec: Partial<PodSpec> & Pick<PodSpec, 'containers'>, metadata: Pod['metadata'] = {}): Pod => ({
  metadata: { name: 'p', uid: 'u', ...metadata },
  spec,
});

function running(...containers: readonly Partial<RuntimeContainer>[]): RuntimePod {
  const sandbox = {
    id: 's1',
    metadata: { name: 'p', namespace: 'd', uid: 'u', attempt: 0 },
    state: 'ready' as const,
    createdAtMs: 1,
    labels: {},
    annotations: {},
    runtimeHandler: '',
    ips: ['10.0.0.2'],
    namespaces: { network: 'pod', pid: 'container', ipc: 'pod' } as const,
  };
  return {
    sandboxes: [sandbox],
    containers: containers.map((one, i) => ({
      id: `c-${one.name}`,
      name: 'main',
      attempt: 0,
      image: 'app:1',
      imageRef: '',
      imageId: '',
      state: 'running',
      createdAtMs: 100 - i,
      labels: {},
      annotations: {},
      startedAtMs: 1,
      finishedAtMs: 0,
      exitCode: 0,
      reason: '',
      message: '',
      mounts: [],
      logPath: '',
      sandboxId: 's1',
      restartCount: 0,
      hash: containerHash({ name: one.name ?? 'main', image: 'app:1' }),
      ...one,
    })),
  };
}

const healthy: PlanFacts = {
  livenessFailed: () => false,
  startupFailed: () => false,
  isStarted: () => true,
  resizeOf: () => 'none',
};
const nothing: RuntimePod = { sandboxes: [], containers: [] };
const summary = ({ endPod, createSandbox, reset, stop, start, resize }: PodPlan) => ({
  ...(endPod ? { endPod } : {}),
  ...(createSandbox ? { createSandbox } : {}),
  ...(reset.length > 0 ? { reset: reset.map(({ id }) => id) } : {}),
  ...(stop.length > 0 ? { stop: stop.map(({ message }) => message) } : {}),
  ...(resize.length > 0 ? { resize: resize.map(({ spec }) => spec.name) } : {}),
  ...(start.length > 0 ? { start: start.map(({ spec, kind }) => `${kind} ${spec.name}`) } : {}),
});

describe('planPod', () => {
  const main = container('main');
  const init = [container('one'), container('two')];
  const sidecar = container('side', { restartPolicy: 'Always' });
  const onCode = (action: 'Restart' | 'RestartAllContainers', ...values: number[]) => ({
    restartPolicy: 'Never' as const,
    restartPolicyRules: [{ action, exitCodes: { operator: 'In' as const, values } }],
  });
  const cases: {
    readonly name: string;
    readonly pod: Pod;
    readonly observed: RuntimePod;
    readonly verdicts?: Partial<PlanFacts>;
    readonly expected: object;
  }[] = [
    {
      name: 'begins with a sandbox and all containers',
      pod: pod({ containers: [main] }),
      observed: nothing,
      expected: { createSandbox: true, start: ['regular main'] },
    },
    {
      name: 'begins with the first init container',
      pod: pod({ containers: [main], initContainers: init }),
      observed: nothing,
      expected: { createSandbox: true, start: ['init one'] },
    },
    {
      name: 'leaves a running Pod alone',
      pod: pod({ containers: [main] }),
      observed: running({ name: 'main' }),
      expected: {},
    },
    {
      name: 'goes on to the next init container',
      pod: pod({ containers: [main], initContainers: init }),
      observed: running({ name: 'one', state: 'exited' }),
      expected: { start: ['init two'] },
    },
    {
      name: 'waits for an init container that runs',
      pod: pod({ containers: [main], initContainers: init }),
      observed: running({ name: 'one' }),
      expected: {},
    },
    {
      name: 'starts the others after the last init container',
      pod: pod({ containers: [main], initContainers: init }),
      observed: running({ name: 'two', state: 'exited' }, { name: 'one', state: 'exited' }),
      expected: { start: ['regular main'] },
    },
    {
      name: 'tries a failed init container again',
      pod: pod({ containers: [main], initContainers: init }),
      observed: running({ name: 'one', state: 'exited', exitCode: 1 }),
      expected: { start: ['init one'] },
    },
    {
      name: 'starts a container again whose rule says so, in a Pod that never restarts',
      pod: pod({ containers: [container('main', onCode('Restart', 42))], restartPolicy: 'Never' }),
      observed: running({ name: 'main', state: 'exited', exitCode: 42 }),
      expected: { start: ['regular main'] },
    },
    {
      name: 'does not start it after another exit code',
      pod: pod({ containers: [container('main', onCode('Restart', 42))], restartPolicy: 'Never' }),
      observed: running({ name: 'main', state: 'exited', exitCode: 1 }),
      expected: { endPod: true },
    },
    {
      name: 'starts an init container again whose rule says so',
      pod: pod({
        containers: [main],
        initContainers: [container('one', onCode('Restart', 42))],
        restartPolicy: 'Never',
      }),
      observed: running({ name: 'one', state: 'exited', exitCode: 42 }),
      expected: { start: ['init one'] },
    },
    {
      name: 'removes all containers where a rule says so, the cause last',
      pod: pod({
        containers: [container('cause', onCode('RestartAllContainers', 88)), main],
        initContainers: init,
        restartPolicy: 'Never',
      }),
      observed: running(
        { name: 'cause', state: 'exited', exitCode: 88 },
        { name: 'main' },
        { name: 'main', id: 'before', state: 'exited', exitCode: 1 },
        { name: 'one', state: 'exited' },
      ),
      expected: { reset: ['c-main', 'before', 'c-one', 'c-cause'] },
    },
    {
      name: 'goes on removing while the cause is there',
      pod: pod({ containers: [container('cause', onCode('RestartAllContainers', 88)), main] }),
      observed: running({ name: 'cause', state: 'exited', exitCode: 88 }),
      expected: { reset: ['c-cause'] },
    },
    {
      name: 'begins anew when they are gone, in the same sandbox',
      pod: pod({ containers: [container('cause', onCode('RestartAllContainers', 88)), main], initContainers: init }),
      observed: running(),
      expected: { start: ['init one'] },
    },
    {
      name: 'gives up on a failed init container that never restarts',
      pod: pod({ containers: [main], initContainers: init, restartPolicy: 'Never' }),
      observed: running({ name: 'one', state: 'exited', exitCode: 1 }),
      expected: { endPod: true },
    },
    {
      name: 'does not look at init containers again once the others run',
      pod: pod({ containers: [main], initContainers: init }),
      observed: running({ name: 'main' }),
      expected: {},
    },
    {
      name: 'waits until a sidecar has started',
      pod: pod({ containers: [main], initContainers: [sidecar] }),
      observed: running({ name: 'side' }),
      verdicts: { isStarted: () => false },
      expected: {},
    },
    {
      name: 'goes on when a sidecar has started',
      pod: pod({ containers: [main], initContainers: [sidecar] }),
      observed: running({ name: 'side' }),
      expected: { start: ['regular main'] },
    },
    {
      name: 'starts a sidecar again beside the others',
      pod: pod({ containers: [main], initContainers: [sidecar] }),
      observed: running({ name: 'main' }, { name: 'side', state: 'exited' }),
      expected: { start: ['sidecar side'] },
    },
    {
      name: 'starts an exited container again',
      pod: pod({ containers: [main] }),
      observed: running({ state: 'exited', exitCode: 0 }),
      expected: { start: ['regular main'] },
    },
    {
      name: 'does not when it succeeded and restarts on failure',
      pod: pod({ containers: [main, container('b')], restartPolicy: 'OnFailure' }),
      observed: running({ state: 'exited' }, { name: 'b' }),
      expected: {},
    },
    {
      name: 'ends a Pod with nothing left to run',
      pod: pod({ containers: [main], restartPolicy: 'Never' }),
      observed: running({ state: 'exited', exitCode: 3 }),
      expected: { endPod: true },
    },
    {
      name: 'replaces a container whose image changed',
      pod: pod({ containers: [container('main', { image: 'app:2' })] }),
      observed: running({}),
      expected: { stop: ['Container main definition changed, will be restarted'], start: ['regular main'] },
    },
    {
      name: 'replaces a container whose liveness probe failed',
      pod: pod({ containers: [main] }),
      observed: running({}),
      verdicts: { livenessFailed: () => true },
      expected: { stop: ['Container main failed liveness probe, will be restarted'], start: ['regular main'] },
    },
    {
      name: 'only stops it when it never restarts',
      pod: pod({ containers: [main, container('b')], restartPolicy: 'Never' }),
      observed: running({}, { name: 'b' }),
      verdicts: { livenessFailed: (id) => id === 'c-undefined' },
      expected: { stop: ['Container main failed liveness probe'] },
    },
    {
      name: 'starts an ephemeral container',
      pod: pod({ containers: [main], ephemeralContainers: [{ name: 'debug', image: 'app:1' }] }),
      observed: running({ name: 'main' }),
      expected: { start: ['ephemeral debug'] },
    },
    {
      name: 'never starts one again, not even in a new sandbox',
      pod: pod({ containers: [main], ephemeralContainers: [{ name: 'debug', image: 'app:1' }] }),
      observed: running({ name: 'main' }, { name: 'debug', state: 'exited', sandboxId: 'older' }),
      expected: {},
    },
    {
      name: 'starts nothing in a Pod that is being deleted',
      pod: pod({ containers: [main] }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      observed: nothing,
      expected: { endPod: true },
    },
    {
      name: 'gives a running container other resources',
      pod: pod({ containers: [main] }),
      observed: running({ name: 'main' }),
      verdicts: { resizeOf: () => 'update' },
      expected: { resize: ['main'] },
    },
    {
      name: 'starts a container anew that cannot have other resources while it runs',
      pod: pod({ containers: [main], restartPolicy: 'Never' }),
      observed: running({ name: 'main' }),
      verdicts: { resizeOf: () => 'restart' },
      expected: { stop: ['Container main resize requires restart'], start: ['regular main'] },
    },
  ];
  for (const { name, pod: of, observed, verdicts, expected } of cases) {
    it(name, () => assert.deepEqual(summary(planPod(of, observed, { ...healthy, ...verdicts })), expected));
  }

  it('makes another sandbox when the old one has ended, counting on', () => {
    const dead = running({ state: 'exited', exitCode: 137 });
    const observed = {
      ...dead,
      sandboxes: dead.sandboxes.map((sandbox) => ({ ...sandbox, state: 'notReady' as const })),
    };
    const plan = planPod(pod({ containers: [main] }), observed, healthy);
    assert.deepEqual(summary(plan), { createSandbox: true, start: ['regular main'] });
    assert.equal(plan.attempt, 1);
    assert.deepEqual(summary(planPod(pod({ containers: [main], restartPolicy: 'Never' }), observed, healthy)), {
      endPod: true,
    });
    const ruled = pod({ containers: [container('main', onCode('Restart', 137))], restartPolicy: 'Never' });
    assert.deepEqual(summary(planPod(ruled, observed, healthy)), { createSandbox: true, start: ['regular main'] });
  });
});

describe('podPhase', () => {
  const base = { ready: false, restartCount: 0, image: '', imageID: '' };
  const ended = (name: string, exitCode: number) => ({ ...base, name, state: { terminated: { exitCode } } });
  const waiting = (name: string, last?: number) => ({
    ...base,
    name,
    state: { waiting: {} },
    ...(last === undefined ? {} : { lastState: { terminated: { exitCode: last } } }),
  });
  const runs = (name: string) => ({ ...base, name, started: true, state: { running: {} } });
  const two = (restartPolicy: PodSpec['restartPolicy']) =>
    pod({ containers: [container('a'), container('b')], restartPolicy });
  const cases = [
    {
      name: 'Pending before anything has started',
      of: two('Always'),
      statuses: [waiting('a'), waiting('b')],
      phase: 'Pending',
    },
    {
      name: 'Pending while one has not started',
      of: two('Always'),
      statuses: [runs('a'), waiting('b')],
      phase: 'Pending',
    },
    { name: 'Running when one runs', of: two('Never'), statuses: [runs('a'), ended('b', 1)], phase: 'Running' },
    {
      name: 'Running while it restarts',
      of: two('Always'),
      statuses: [waiting('a', 1), waiting('b', 1)],
      phase: 'Running',
    },
    {
      name: 'Running while one restarts on failure',
      of: two('OnFailure'),
      statuses: [ended('a', 0), waiting('b', 1)],
      phase: 'Running',
    },
    {
      name: 'Succeeded when all have',
      of: two('OnFailure'),
      statuses: [ended('a', 0), ended('b', 0)],
      phase: 'Succeeded',
    },
    {
      name: 'Failed when one has, and never restarts',
      of: two('Never'),
      statuses: [ended('a', 0), ended('b', 2)],
      phase: 'Failed',
    },
    {
      name: 'Failed when it is ended for good',
      of: two('Always'),
      statuses: [ended('a', 0), ended('b', 137)],
      isTerminal: true,
      phase: 'Failed',
    },
    {
      name: 'Succeeded when it is ended for good and all went well',
      of: two('Always'),
      statuses: [ended('a', 0), ended('b', 0)],
      isTerminal: true,
      phase: 'Succeeded',
    },
  ];
  for (const { name, of, statuses, phase, isTerminal = false } of cases)
    it(`is ${name}`, () => assert.equal(podPhase(of, statuses, { isTerminal }), phase));
});
