/** Each scenario is played, and must show what the documents say: 40 s of grace, a look every 5 s, 300 s of toleration, 0.1 nodes a second. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { declaredScenario, runScenario, type ScenarioReport, type TimelineEntry } from 'coracle/sim';
import allZonesLost from './all-zones-lost.ts';
import drain from './drain.ts';
import flakyRollout from './flaky-rollout.ts';
import zoneLost from './zone-lost.ts';

const find = ({ timeline }: ScenarioReport, object: RegExp, what: RegExp): readonly TimelineEntry[] =>
  timeline.filter((entry) => object.test(entry.object) && what.test(entry.what));

function first(report: ScenarioReport, object: RegExp, what: RegExp): number {
  const [entry] = find(report, object, what);
  assert.ok(entry, `nothing of ${object} is ${what}`);
  return entry.atSeconds;
}

const isWithin = (value: number, from: number, to: number, what: string) =>
  assert.ok(value >= from && value <= to, `${what}: ${value} s, not between ${from} and ${to}`);

/** Lease every 10 s, 40 s of grace, a look every 5 s, and the time of some messages. */
const noticedAfter = [30, 51] as const;
const unreachable = /^tainted node\.kubernetes\.io\/unreachable:NoExecute/;

describe('a node is lost', async () => {
  const report = await runScenario(declaredScenario(readFileSync(new URL('node-lost.yaml', import.meta.url), 'utf8')));
  const lostAt = first(report, /^scenario/, /powerOff/);
  const unknownAt = first(report, /^node\/node-1/, /Ready is Unknown/);

  it('counts as unreachable when 40 s have passed without a heartbeat, within 5 s', () => {
    isWithin(unknownAt - lostAt, ...noticedAfter, 'unreachable');
    isWithin(first(report, /^node\/node-1/, unreachable) - unknownAt, 0, 11, 'tainted');
    assert.ok(find(report, /^pod/, /no longer Ready/)[0]!.atSeconds - unknownAt < 5, 'its Pods are not ready at once');
  });

  it('keeps its Pods for 300 s more, and then they are replaced elsewhere', () => {
    const tainted = first(report, /^node\/node-1/, unreachable);
    const terminating = find(report, /^pod/, /^terminating/);
    assert.equal(terminating.length, 2);
    for (const { atSeconds } of terminating) isWithin(atSeconds - tainted, 300, 301, 'evicted');
    for (const { what, atSeconds } of find(report, /^pod/, /^bound/)) {
      assert.match(what, /node-[02]/);
      isWithin(atSeconds - tainted, 300, 302, 'replaced');
    }
  });

  it('leaves the old Pods Terminating until its kubelet can say that they have ended', () => {
    const backAt = first(report, /^scenario/, /powerOn/);
    const gone = find(report, /^pod/, /^gone/);
    assert.equal(gone.length, 2);
    for (const { atSeconds } of gone) isWithin(atSeconds - backAt, 0, 2, 'gone');
    isWithin(first(report, /^node\/node-1/, /no longer tainted .*NoExecute/) - backAt, 0, 6, 'untainted');
  });

  it('is told the same way every time', async () => {
    const again = await runScenario(declaredScenario(readFileSync(new URL('node-lost.yaml', import.meta.url), 'utf8')));
    assert.equal(again.digest, report.digest);
    assert.deepEqual(again.timeline, report.timeline);
  });
});

describe('a zone is lost', async () => {
  const report = await runScenario(zoneLost);
  const lostAt = first(report, /^scenario/, /loses its power/);
  const partlyAt = first(report, /^scenario/, /cut off/);
  const mendedAt = first(report, /^scenario/, /mended/);

  it('a zone without a single healthy node is emptied at 0.1 nodes a second', () => {
    const taints = find(report, /^node/, unreachable).filter(({ atSeconds }) => atSeconds < partlyAt);
    assert.equal(taints.length, 4);
    isWithin(taints[0]!.atSeconds - lostAt, noticedAfter[0], noticedAfter[1] + 10, 'the first node');
    for (let i = 1; i < taints.length; i++)
      isWithin(taints[i]!.atSeconds - taints[i - 1]!.atSeconds, 9.9, 10.1, 'from one node to the next');
  });

  it('a small zone of which 55 % are unhealthy is not emptied at all', () => {
    const between = (entries: readonly TimelineEntry[]) =>
      entries.filter(({ atSeconds }) => atSeconds > partlyAt && atSeconds < mendedAt);
    const unknown = between(find(report, /^node/, /Ready is Unknown/));
    assert.equal(unknown.length, 3);
    for (const { atSeconds } of unknown) isWithin(atSeconds - partlyAt, ...noticedAfter, 'unreachable');
    // Two may be told before the third makes it a disruption of the zone; their Pods have 300 s.
    const [last] = unknown.slice(-1);
    const afterwards = between(find(report, /^node/, unreachable)).filter(
      ({ atSeconds }) => atSeconds > last!.atSeconds + 1,
    );
    assert.deepEqual(afterwards, []);
  });
});

describe('all zones are lost', async () => {
  const report = await runScenario(allZonesLost);

  it('nobody is evicted', () => {
    const unknown = find(report, /^node/, /Ready is Unknown/);
    assert.equal(unknown.length, 6);
    assert.deepEqual(find(report, /^pod/, /terminating|created/), []);
    // Those noticed first may be tainted until it is seen that all are lost; their Pods have 300 s.
    const allLostAt = unknown.at(-1)!.atSeconds;
    const mendedAt = first(report, /^scenario/, /mended/);
    const tainted = find(report, /^node/, unreachable).filter(({ atSeconds }) => atSeconds < mendedAt);
    assert.ok(tainted.every(({ atSeconds }) => atSeconds < allLostAt + 1));
    const untainted = find(report, /^node/, /no longer tainted .*unreachable:NoExecute/);
    for (const { object, atSeconds } of tainted)
      assert.ok(untainted.some((entry) => entry.object === object && entry.atSeconds < atSeconds + 30));
  });

  it('and all is as before when the network is mended', () => {
    const mendedAt = first(report, /^scenario/, /mended/);
    const ready = find(report, /^node/, /Ready is True/);
    assert.equal(ready.length, 6);
    for (const { atSeconds } of ready) isWithin(atSeconds - mendedAt, 0, 20, 'ready');
    assert.match(find(report, /^deployment/, /ready/).at(-1)!.what, /^12 of 12 ready/);
  });
});

describe('a node is drained against a budget', async () => {
  const report = await runScenario(drain);

  it('no Pod goes before the one in its place is ready', () => {
    let ready = 4;
    for (const { what } of report.timeline) {
      if (what === 'Ready') ready++;
      if (what === 'terminating') assert.ok(ready-- > 3, 'three must stay');
    }
    assert.equal(find(report, /^pod/, /terminating/).length, 4);
  });

  it('and it ends with nothing left on the node', () => {
    assert.equal(find(report, /^scenario/, /nothing is left/).length, 1);
    assert.deepEqual(find(report, /^pod/, /bound to node-0/), []);
    assert.match(find(report, /^deployment/, /ready/).at(-1)!.what, /^4 of 4 ready/);
  });
});

describe('a rolling update on flaky nodes', async () => {
  const report = await runScenario(flakyRollout);

  it('never has more Pods than the surge allows', () => {
    let active = 10;
    for (const { object, what } of report.timeline) {
      if (!object.startsWith('pod/')) continue;
      if (what === 'created') active++;
      if (what === 'terminating') active--;
      assert.ok(active <= 13, `${active} pods, 25 % above ten are 13`);
    }
  });

  it('arrives', () => {
    assert.deepEqual(report.failures, []);
    const counts = find(report, /^deployment/, /updated/);
    assert.ok(counts.some(({ what }) => what === '10 of 10 ready, 10 updated'));
  });
});
