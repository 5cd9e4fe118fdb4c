/** kubectl through the API server and the kubelet's server to real containers: what only a real runtime can prove. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import type { Pod } from '../../api/gen/core-v1.ts';
import { seededRandom } from '../../base/random.ts';
import { type RealRuntime, startRealRuntime } from '../../kubelet/server/containerd-pod.fixture.ts';
import { testedReleases } from '../../testing/kubectl.ts';
import { needs } from '../../testing/needs.ts';
import { call, portForward, run, startTestCluster, type TestCluster } from './cluster.fixture.ts';

const page = '<a href="/rewriteme">test</a>';
const serve = `mkdir /www; echo '${page}' > /www/index.html; httpd -p 8080 -h /www; echo started; sleep 1000`;

for (const atKubelet of [false, true]) {
  const where = atKubelet ? 'at the kubelet' : 'at the API server';
  const declaredFeatures = atKubelet ? ['ExtendWebSocketsToKubelet'] : [];
  describe(
    `sessions with real containers, new protocols translated ${where}`,
    needs('containers', 'kubectl', '/usr/bin/script'),
    () => {
      let real: RealRuntime;
      let cluster: TestCluster;
      before(async () => {
        real = await startRealRuntime();
        const pods: Pod[] = [];
        cluster = await startTestCluster({ runtime: real.runtime, pods, declaredFeatures });
        const pod = await real.startPod('web', [
          { name: 'main', command: ['sh', '-c', serve] },
          {
            name: 'reader',
            stdin: true,
            command: ['sh', '-c', 'while read line; do echo "got $line"; done; sleep 1000'],
          },
        ]);
        const made = await cluster.addPod(pod as Pod);
        // The runtime knows the Pod by the uid that it was started with.
        pods.push({ ...made, metadata: { ...made.metadata, uid: pod.metadata.uid } });
      });
      after(async () => {
        try {
          await cluster?.stop();
        } finally {
          await real?.stop();
        }
      });

      const content = Buffer.from(seededRandom(7).bytes(4 << 20));
      const digest = createHash('md5').update(content).digest('hex');

      // Older ones speak SPDY alone, which goes the same way whoever translates.
      const clients = testedReleases().filter(({ release }) => !atKubelet || Number(release.split('.')[1]) > 30);
      for (const { release, path: kubectl } of clients) {
        const use = (words: readonly string[], input?: string) =>
          run(kubectl, ['--kubeconfig', cluster.kubeconfig, ...words], input);

        it(`${release}: exec with input, both outputs and an exit code`, async () => {
          const words = ['exec', '-i', 'web', '-c', 'main', '--', 'sh', '-c', 'tr a-z A-Z; echo problem >&2; exit 3'];
          const { code, stdout, stderr } = await use(words, 'some input');
          assert.deepEqual([code, stdout], [3, 'SOME INPUT']);
          assert.equal(stderr, 'problem\ncommand terminated with exit code 3\n');
        });

        it(`${release}: a shell on a terminal that knows its size`, async () => {
          const shell = `stty rows 33 cols 77; ${kubectl} --kubeconfig ${cluster.kubeconfig} exec -it web -c main -- sh`;
          const { code, output } = await onTerminal(shell, [
            ['/ #', 'tty\n'],
            ['/dev/pts/', 'stty size\n'],
            ['33 77', 'echo $((40+2))\n'],
            ['\n42', 'exit 7\n'],
          ]);
          assert.equal(code, 7, output);
        });

        it(`${release}: cp of some megabytes there and back`, async () => {
          const file = join(cluster.directory, `content-${release}`);
          await writeFile(file, content);
          assert.equal((await use(['cp', file, `web:/tmp/${release}`, '-c', 'main'])).code, 0);
          const sum = await use(['exec', 'web', '-c', 'main', '--', 'md5sum', `/tmp/${release}`]);
          assert.equal(sum.stdout, `${digest}  /tmp/${release}\n`);
          assert.equal((await use(['cp', `web:/tmp/${release}`, `${file}.back`, '-c', 'main'])).code, 0);
          assert.ok(content.equals(await readFile(`${file}.back`)));
        });

        it(`${release}: attach`, async () => {
          const child = spawn(kubectl, ['--kubeconfig', cluster.kubeconfig, 'attach', '-i', 'web', '-c', 'reader']);
          const { seen, ended } = watch(child);
          child.stdin.write(`${release}\n`);
          await seen(`got ${release}\n`);
          child.kill('SIGINT');
          await ended;
        });

        it(`${release}: a followed log`, async () => {
          const words = ['--kubeconfig', cluster.kubeconfig, 'logs', '-f', '--tail=1', 'web', '-c', 'reader'];
          const child = spawn(kubectl, words);
          const { seen, ended } = watch(child);
          await seen('got ');
          const input = spawn(kubectl, ['--kubeconfig', cluster.kubeconfig, 'attach', '-i', 'web', '-c', 'reader']);
          input.stdin.write(`later ${release}\n`);
          await seen(`got later ${release}\n`);
          input.kill('SIGINT');
          child.kill('SIGINT');
          await ended;
        });

        it(`${release}: port-forward, and its end when nobody listens`, async () => {
          const { port, stop } = await portForward(kubectl, ['--kubeconfig', cluster.kubeconfig, 'web', ':8080']);
          const answers = await Promise.all([1, 2, 3].map(() => fetch(`http://127.0.0.1:${port}/`)));
          for (const answer of answers) assert.equal(await answer.text(), `${page}\n`);
          await stop();
          const nowhere = await portForward(kubectl, ['--kubeconfig', cluster.kubeconfig, 'web', ':81']);
          await assert.rejects(fetch(`http://127.0.0.1:${nowhere.port}/`));
          await nowhere.ended;
          assert.match(nowhere.output(), /error forwarding port 81 to pod .*connection refused/);
        });
      }

      it('passes an old WebSocket protocol on to the runtime as it is', async () => {
        const { pki, apiServer } = cluster.controlPlane;
        const { certificatePem, keyPem } = pki.client('admin', 'kubernetes-admin', ['system:masters']);
        const path = '/api/v1/namespaces/default/pods/web/exec?container=main&command=echo&command=hi&stdout=true';
        const socket = new WebSocket(`wss://127.0.0.1:${apiServer.port}${path}`, ['v4.channel.k8s.io'], {
          ca: pki.authority.certificatePem,
          cert: certificatePem,
          key: keyPem,
        });
        const heard: Record<number, string> = {};
        socket.on('message', (data: Buffer) => {
          heard[data[0]!] = (heard[data[0]!] ?? '') + data.subarray(1).toString();
        });
        await new Promise((resolve, reject) => socket.on('close', resolve).on('error', reject));
        assert.equal(heard[1], 'hi\n');
        assert.equal(JSON.parse(heard[3] ?? '').status, 'Success');
      });

      it('gives a log over a WebSocket', async () => {
        const { pki, apiServer } = cluster.controlPlane;
        const { certificatePem: cert, keyPem: key } = pki.client('admin', 'kubernetes-admin', ['system:masters']);
        const url = `wss://127.0.0.1:${apiServer.port}/api/v1/namespaces/default/pods/web/log?container=main`;
        const socket = new WebSocket(url, ['binary.k8s.io'], { ca: pki.authority.certificatePem, cert, key });
        let heard = '';
        socket.on('message', (data: Buffer) => {
          heard += data.toString();
        });
        await new Promise((resolve, reject) => socket.on('close', resolve).on('error', reject));
        assert.equal(heard, 'started\n');
      });

      it('tells why the runtime could not start a command', async () => {
        const kubectl = testedReleases()[0]!.path;
        const words = ['--kubeconfig', cluster.kubeconfig, 'exec', 'web', '-c', 'main', '--', 'no-such-program'];
        const { code, stderr } = await run(kubectl, words);
        assert.equal(code, 1);
        assert.match(
          stderr,
          /^error: Internal error occurred: error executing command in container: .*no-such-program/,
        );
      });

      it('proxies to the Pod´s own address, and leads the links of its pages there', async () => {
        const proxy = '/api/v1/namespaces/default/pods/web:8080/proxy';
        const answer = await call(cluster, `${proxy}/`);
        assert.deepEqual([answer.status, answer.text], [200, `<a href="${proxy}/rewriteme">test</a>\n`]);
        const closed = await call(cluster, '/api/v1/namespaces/default/pods/web:81/proxy/');
        assert.match(
          JSON.parse(closed.text).message,
          /^error trying to reach service: dial tcp [\d.]+:81: connect: connection refused$/,
        );
      });
    },
  );
}

/** Types each answer once the words before it have appeared. */
async function onTerminal(command: string, dialogue: readonly (readonly [shown: string, typed: string])[]) {
  const child = spawn('script', ['-qec', command, '/dev/null']);
  const { seen, ended, output } = watch(child);
  for (const [shown, typed] of dialogue) {
    await seen(shown);
    child.stdin.write(typed);
  }
  return { code: await ended, output: output() };
}

function watch(child: ReturnType<typeof spawn>) {
  let output = '';
  let waiting: (() => void)[] = [];
  const onData = (chunk: Buffer) => {
    output += chunk.toString();
    for (const check of waiting.splice(0)) check();
  };
  child.stdout?.on('data', onData);
  child.stderr?.on('data', onData);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  void ended.then(() => {
    for (const check of waiting.splice(0)) check();
  });
  const seen = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const check = () => {
        if (output.includes(text)) resolve();
        else if (child.exitCode !== null) reject(new Error(`ended without ${JSON.stringify(text)}: ${output}`));
        else waiting = [...waiting, check];
      };
      check();
    });
  return { seen, ended, output: () => output };
}
