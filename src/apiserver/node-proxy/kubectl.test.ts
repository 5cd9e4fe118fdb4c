/** Real kubectl through the API server to a kubelet and back, with real sockets; containers are processes of this machine. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { nodes, type Pod } from '../../api/gen/core-v1.ts';
import { systemClock } from '../../base/clock.ts';
import { systemJournal } from '../../kubelet/server/journal.ts';
import { runningPod } from '../../kubelet/server/node.fixture.ts';
import { processRuntime } from '../../kubelet/server/process-runtime.fixture.ts';
import { type Dial, tcpDial } from '../../serving/dial.ts';
import { testedReleases } from '../../testing/kubectl.ts';
import { needs } from '../../testing/needs.ts';
import { portForward, run, startTestCluster, type TestCluster } from './cluster.fixture.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'coracle-node-proxy-test-'));
});
after(() => rm(directory, { recursive: true }));

for (const features of [[], ['ExtendWebSocketsToKubelet']]) {
  const where = features.length > 0 ? 'at the kubelet' : 'at the API server';
  describe(`kubectl, new protocols translated ${where}`, needs('kubectl'), () => {
    const pods: Pod[] = [];
    let target: TestCluster;
    before(async () => {
      const line = (second: number, stream: string, text: string) =>
        `2026-01-01T00:00:0${second}.000000000Z ${stream} F ${text}\n`;
      await writeFile(join(directory, 'web-main'), line(1, 'stdout', 'hello') + line(2, 'stderr', 'problem'));
      const runtime = processRuntime({ pods: () => pods, logPath: (id) => join(directory, id) });
      target = await startTestCluster({ runtime, pods, declaredFeatures: features });
      pods.push(await target.addPod(runningPod('web', [{ name: 'main' }])));
    });
    after(() => target.stop());

    for (const { release, path: kubectl } of testedReleases()) {
      const use = (words: readonly string[], input?: string) =>
        run(kubectl, ['--kubeconfig', target.kubeconfig, ...words], input);

      it(`${release}: logs`, async () => {
        const { code, stdout } = await use(['logs', 'web', '--tail=1', '--timestamps']);
        assert.deepEqual([code, stdout], [0, '2026-01-01T00:00:02.000000000Z problem\n']);
      });

      it(`${release}: exec with input, both outputs and an exit code`, async () => {
        const script = 'tr a-z A-Z; echo problem >&2; exit 3';
        const { code, stdout, stderr } = await use(['exec', '-i', 'web', '--', 'sh', '-c', script], 'some input');
        assert.deepEqual([code, stdout], [3, 'SOME INPUT']);
        assert.equal(stderr, 'problem\ncommand terminated with exit code 3\n');
      });

      it(`${release}: exec of a container that does not run`, async () => {
        const { code, stderr } = await use(['exec', 'web', '-c', 'none', '--', 'true']);
        assert.equal(code, 1);
        assert.match(stderr, /container none is not valid for pod web/);
      });

      it(`${release}: attach`, async () => {
        const { code, stdout } = await use(['attach', '-i', 'web'], 'said\n');
        assert.deepEqual([code, stdout], [0, 'said\n']);
      });

      it(`${release}: cp there and back`, async () => {
        const there = join(directory, `there-${release}`);
        const content = `${release} `.repeat(500_000);
        await writeFile(`${there}.source`, content);
        assert.equal((await use(['cp', `${there}.source`, `web:${there}`])).code, 0);
        assert.equal((await use(['cp', `web:${there}`, `${there}.back`])).code, 0);
        assert.equal(await readFile(`${there}.back`, 'utf8'), content);
      });

      it(`${release}: port-forward, several connections over one session`, async () => {
        const backend = createServer((request, response) => response.end(request.url)).listen(0, '127.0.0.1');
        await once(backend, 'listening');
        const words = ['--kubeconfig', target.kubeconfig, 'web', `:${(backend.address() as AddressInfo).port}`];
        const { port, stop } = await portForward(kubectl, words);
        try {
          const paths = ['/a', '/b', '/c'];
          const answers = await Promise.all(paths.map((path) => fetch(`http://127.0.0.1:${port}${path}`)));
          assert.deepEqual(await Promise.all(answers.map((answer) => answer.text())), paths);
        } finally {
          await stop();
          backend.closeAllConnections();
          backend.close();
        }
      });
    }
  });
}

describe('the logs of a node itself', needs('kubectl'), () => {
  let cluster: TestCluster;
  before(async () => {
    // The node's address leads to loopback.
    const dial: Dial = ({ port }, signal) => tcpDial({ clock: systemClock })({ host: '127.0.0.1', port }, signal);
    cluster = await startTestCluster({
      runtime: processRuntime({ pods: () => [] }),
      pods: [],
      proxy: { dial },
      nodeAddresses: ['10.9.0.1'],
      systemLogs: { directory, journal: systemJournal(systemClock, '/nowhere/journalctl') },
    });
  });
  after(() => cluster.stop());

  for (const { release, path: kubectl } of testedReleases()) {
    it(`${release}: are given, and what is wrong with a query for them`, async () => {
      await writeFile(join(directory, 'agent.log'), 'from the node\n');
      const { admin } = cluster.controlPlane;
      const name = `logging-${release}`;
      const made = await admin.create(nodes, { metadata: { name }, spec: {}, status: {} });
      await admin.updateStatus(nodes, {
        ...made,
        status: {
          addresses: [{ type: 'InternalIP', address: '10.9.0.1' }],
          daemonEndpoints: { kubeletEndpoint: { Port: cluster.kubelet.address.port } },
        },
      });
      const logs = (rest: string) =>
        run(kubectl, ['--kubeconfig', cluster.kubeconfig, 'get', '--raw', `/api/v1/nodes/${name}/proxy/logs/${rest}`]);
      for (const rest of ['agent.log', '?query=agent', '?query=/agent.log'])
        assert.deepEqual(await logs(rest), { code: 0, stdout: 'from the node\n', stderr: '' }, rest);
      const { code, stderr } = await logs('?query=agent&boot=1');
      assert.equal(code, 1);
      assert.match(stderr, /boot: Invalid value: 1: must be less than 1/);
    });
  }
});
