/** Phases of a shutdown, and the whole course of one under a fake clock. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import type { ShutdownSource } from '../host/host.ts';
import { testPod } from '../kubelet.fixture.ts';
import { NodeShutdown } from './node-shutdown.ts';
import { graceSecondsOf, podsByPhase, type ShutdownPhase, shutdownPhases } from './shutdown-phases.ts';

const pod = (name: string, priority?: number, terminationGracePeriodSeconds = 30): Pod =>
  testPod(
    name,
    'n',
    { containers: [{ name: 'main' }], terminationGracePeriodSeconds, ...(priority === undefined ? {} : { priority }) },
    { uid: name },
  );
const documented: readonly ShutdownPhase[] = [
  { priority: 100_000, seconds: 300 },
  { priority: 1000, seconds: 120 },
  { priority: 0, seconds: 60 },
];
const settings = {
  shutdownGracePeriodMs: 0,
  shutdownGracePeriodCriticalPodsMs: 0,
  shutdownGracePeriodByPodPriority: [],
};

describe('phases', () => {
  it('are two by the periods of the documents’ example, none by default', () => {
    assert.deepEqual(shutdownPhases(settings), []);
    assert.deepEqual(
      shutdownPhases({ ...settings, shutdownGracePeriodMs: 30_000, shutdownGracePeriodCriticalPodsMs: 10_000 }),
      [
        { priority: 0, seconds: 20 },
        { priority: 2_000_000_000, seconds: 10 },
      ],
    );
    assert.deepEqual(
      shutdownPhases({ ...settings, shutdownGracePeriodMs: 5000, shutdownGracePeriodCriticalPodsMs: 10_000 }),
      [],
    );
  });

  it('take each Pod by the highest priority that it reaches, in ascending order', () => {
    const phases = shutdownPhases({ ...settings, shutdownGracePeriodByPodPriority: documented });
    const pods = [
      pod('class-a', 100_000),
      pod('above', 2_000_000_000),
      pod('class-b', 10_000),
      pod('class-c', 1000),
      pod('unset'),
      pod('below', -10),
    ];
    const groups = podsByPhase(phases, pods).map(({ phase, pods: its }) => [
      phase.priority,
      its.map(({ metadata }) => metadata.name),
    ]);
    assert.deepEqual(groups, [
      [0, ['unset', 'below']],
      [1000, ['class-b', 'class-c']],
      [100_000, ['class-a', 'above']],
    ]);
    assert.deepEqual(
      podsByPhase(phases, [pod('only', 5000)]).map(({ phase }) => phase.seconds),
      [120],
      'a phase without Pods takes no time',
    );
  });

  it('give a Pod what it asks for, or what they have', () => {
    assert.equal(graceSecondsOf(pod('p', 0, 5), documented[2]!), 5);
    assert.equal(graceSecondsOf(pod('p', 0, 500), documented[2]!), 60);
  });
});

describe('a shutdown', () => {
  function harness(pods: readonly Pod[], { longestDelayMs = 5000, files = new Map<string, string>() } = {}) {
    const clock = new FakeClock();
    const stop = new AbortController();
    const told: string[] = [];
    const endings = new Map<string, { readonly graceSeconds: number; done(): void }>();
    let announce: (isShuttingDown: boolean) => void = () => {};
    const source: ShutdownSource = {
      longestDelayMs: async () => longestDelayMs,
      raiseLongestDelay: async (delayMs) => void told.push(`raise ${delayMs}`),
      delayShutdown: async () => {
        told.push('lock');
        return () => void told.push('release');
      },
      announcements: async (signal) =>
        (async function* () {
          while (!signal.aborted) yield await new Promise<boolean>((resolve) => (announce = resolve));
        })(),
    };
    const shutdown = new NodeShutdown({
      clock,
      log: silentLog,
      signal: stop.signal,
      phases: shutdownPhases({ ...settings, shutdownGracePeriodMs: 30_000, shutdownGracePeriodCriticalPodsMs: 10_000 }),
      source,
      state: { read: async (name) => files.get(name), write: async (name, text) => void files.set(name, text) },
      activePods: () => pods,
      end(one, graceSeconds, cause) {
        told.push(`end ${one.metadata.name} ${cause.reason}`);
        return new Promise((done) => endings.set(one.metadata.name ?? '', { graceSeconds, done }));
      },
      nodeEvent: (_type, _reason, message) => void told.push(message),
      onStatus: () => void told.push('status'),
    });
    void shutdown.run();
    return { clock, shutdown, told, files, endings, announce: (value: boolean) => announce(value) };
  }

  it('ends regular Pods, then critical ones, and lets go of the lock', async () => {
    const { announce, clock, endings, files, shutdown, told } = harness([pod('web'), pod('system', 2_000_000_000)]);
    await settle();
    assert.deepEqual(told.splice(0), ['raise 30000', 'lock']);
    assert.equal(shutdown.refusal(), undefined);
    announce(true);
    await settle();
    assert.deepEqual(told.splice(0), ['Shutdown manager detected shutdown event', 'status', 'end web Terminated']);
    assert.equal(shutdown.problem, 'node is shutting down');
    assert.deepEqual(shutdown.refusal(), {
      reason: 'NodeShutdown',
      message: 'Pod was rejected as the node is shutting down.',
    });
    assert.equal(endings.get('web')!.graceSeconds, 20);
    await clock.advance(3000);
    endings.get('web')!.done();
    await settle();
    assert.deepEqual(told.splice(0), ['end system Terminated']);
    assert.equal(endings.get('system')!.graceSeconds, 10);
    endings.get('system')!.done();
    await settle();
    assert.deepEqual(told, ['release']);
    assert.equal(shutdown.times.endedMs - shutdown.times.startedMs, 3000);
    assert.match(files.get('graceful_node_shutdown_state') ?? '', /"startTime":".*","endTime":".*"/);
  });

  it('does not wait longer for a phase than it has', async () => {
    const { announce, clock, told } = harness([pod('stuck'), pod('system', 2_000_000_000)], { longestDelayMs: 60_000 });
    await settle();
    announce(true);
    await settle();
    told.length = 0;
    await clock.advance(19_999);
    assert.deepEqual(told, []);
    await clock.advance(1);
    assert.deepEqual(told.splice(0), ['end system Terminated']);
    await clock.advance(10_000);
    assert.deepEqual(told, ['release']);
  });

  it('that is called off leaves the node ready, and the next one delayed again', async () => {
    const { announce, shutdown, told } = harness([], { longestDelayMs: 60_000 });
    await settle();
    announce(true);
    await settle();
    assert.equal(told.at(-1), 'release');
    told.length = 0;
    announce(false);
    await settle();
    assert.deepEqual(told, ['Shutdown manager detected shutdown cancellation', 'status', 'lock']);
    assert.equal(shutdown.problem, undefined);
    assert.equal(shutdown.refusal(), undefined);
  });

  it('leaves its times to the kubelet after it', async () => {
    const before = harness([]);
    await settle();
    before.announce(true);
    await settle();
    const after = harness([], { files: before.files });
    await settle();
    assert.deepEqual(after.shutdown.times, before.shutdown.times);
  });
});
