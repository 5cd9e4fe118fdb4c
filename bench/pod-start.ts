/**
 * A Pod's start on a real containerd, from the client's create until a watch shows it Running, against the runtime's own time: the same
 * sandbox and container made by bare CRI calls, in turn with the Pods. API server, kubelet and client are processes of their own; the Pod
 * is bound from the start, so that this is the kubelet's time and not the scheduler's.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startContainerd } from '../src/testing/containerd.ts';
import { missingParts } from '../src/testing/needs.ts';
import { busyboxImageArchive } from '../src/testing/oci-image.ts';
import { Child } from './parts/child.ts';
import { type Figure, median, print, rounded, say, spread } from './parts/figure.ts';
import { ask, openSession } from './parts/https-client.ts';
import { PodWatch } from './parts/pod-watch.ts';
import type { RuntimeTimes } from './processes/kubelet.ts';
import type { StartedServer } from './processes/server.ts';

const nodeName = 'bench-node';
const image = 'bench.test/busybox:1';
const runs = 15;
const settleMs = 400;
const podsPath = '/api/v1/namespaces/default/pods';
const base: Figure = {
  name: 'pod-start',
  what: "Pod start, create to Running, over the runtime's own time",
  unit: 'x',
  target: 1.1,
  better: 'lower',
};

const missing = missingParts('containers');
if (missing) print({ ...base, note: `not measured: ${missing}` });
else await measure();
process.exit();

async function measure(): Promise<void> {
  const containerd = await startContainerd();
  try {
    await containerd.importImage(busyboxImageArchive(image));
    await using server = new Child('server');
    const { admin, node } = await server.ask<StartedServer>({ kind: 'start', controllers: ['*'], nodeName });
    await using kubelet = new Child('kubelet');
    const { endpoint, directory, cgroupRoot } = containerd;
    await kubelet.ask({ kind: 'start', access: node, nodeName, endpoint, directory, cgroupRoot });
    const session = await openSession(admin);
    const watch = new PodWatch(session, podsPath);
    const podsMs: number[] = [];
    const insideMs: number[] = [];
    const bareMs: number[] = [];
    const beforeMs: number[] = [];
    const betweenMs: number[] = [];
    const afterMs: number[] = [];
    for (let run = -2; run < runs; run++) {
      const name = `pod-${run + 2}`;
      const beganMs = performance.now();
      const running = watch.until(name, (pod) => pod?.status?.phase === 'Running');
      await expect(ask(session, podsPath, { body: podOf(name), keepBody: true }));
      const runningMs = await running;
      const podMs = runningMs - beganMs;
      const times = await kubelet.ask<RuntimeTimes>({ kind: 'last' });
      const inside = sum(times);
      await sleep(settleMs);
      const bare = sum(await kubelet.ask<RuntimeTimes>({ kind: 'bare', name: `bare-${run + 2}` }));
      const gone = watch.until(name, (pod) => pod === undefined);
      await expect(ask(session, `${podsPath}/${name}?gracePeriodSeconds=1`, { method: 'DELETE' }));
      await gone;
      // The runtime still removes what the Pod left.
      await sleep(settleMs);
      // The first ones warm up images, caches and code.
      if (run < 0) continue;
      podsMs.push(podMs);
      insideMs.push(inside);
      bareMs.push(bare);
      beforeMs.push(times.beganAtMs - performance.timeOrigin - beganMs);
      betweenMs.push(times.endedAtMs - times.beganAtMs - inside);
      afterMs.push(performance.timeOrigin + runningMs - times.endedAtMs);
      say(`Pod ${rounded(podMs)} ms, of it in the runtime ${rounded(inside)} ms; bare calls ${rounded(bare)} ms`);
    }
    const ratios = podsMs.map((podMs, run) => podMs / bareMs[run]!);
    print({
      ...base,
      figure: median(podsMs) / median(bareMs),
      note: `Pod ${rounded(median(podsMs))} ms, bare calls ${rounded(median(bareMs))} ms`,
      details: {
        runs,
        podMs: spread(podsMs),
        bareCallsMs: spread(bareMs),
        sameCallsWithinThePodMs: spread(insideMs),
        beforeTheFirstCallMs: spread(beforeMs),
        betweenTheCallsMs: spread(betweenMs),
        afterTheLastCallMs: spread(afterMs),
        ratio: spread(ratios),
      },
    });
    await kubelet.kill('SIGTERM');
    session.destroy();
  } finally {
    await containerd.stop();
  }
}

function podOf(name: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'main',
          image,
          command: ['sh', '-c', "trap 'exit 0' TERM; while true; do sleep 0.1; done"],
          resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { memory: '64Mi' } },
        },
      ],
    },
  });
}

function sum({ sandboxMs, createMs, startMs }: RuntimeTimes): number {
  return sandboxMs + createMs + startMs;
}

async function expect(answer: ReturnType<typeof ask>): Promise<void> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`the API server answered ${status}: ${body}`);
}
