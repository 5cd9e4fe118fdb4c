/** The real kubectl: the newest that this machine has, or every one. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { kubectlReleases } from '../../src/testing/kubectl.ts';
import { needs } from '../../src/testing/needs.ts';
import { startCluster } from './cluster.ts';

const kubectl = kubectlReleases().at(-1)?.path;
const options = needs('kubectl');

const { kubeconfig, url, namespace: makeNamespace } = await startCluster();
const folder = mkdtempSync(join(tmpdir(), 'coracle-kubectl-'));
after(() => rmSync(folder, { recursive: true }));
const env = { HOME: folder, PATH: process.env.PATH, KUBECONFIG: kubeconfig };

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(words: readonly string[], input = '', program = kubectl!): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(program, words, { env, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}

async function succeed(words: readonly string[], input?: string, program?: string): Promise<string> {
  const { code, stdout, stderr } = await run(words, input, program);
  assert.equal(code, 0, `kubectl ${words.join(' ')}\n${stdout}${stderr}`);
  return stripVTControlCharacters(stdout);
}

test(
  '[sig-cli] Kubectl client Kubectl api-versions should check if v1 is in available api versions [Conformance]',
  options,
  async () => {
    const versions = (await succeed(['api-versions'])).trim().split('\n');
    assert.ok(versions.includes('v1'));
    assert.ok(versions.includes('apps/v1'));
  },
);

test(
  '[sig-cli] Kubectl client Kubectl cluster-info should check if Kubernetes control plane services is included in cluster-info [Conformance]',
  options,
  async () => {
    assert.ok((await succeed(['cluster-info'])).includes(`Kubernetes control plane is running at ${url}`));
  },
);

test(
  '[sig-cli] Kubectl client Kubectl version should check is all data is printed [Conformance]',
  options,
  async () => {
    for (const { path } of kubectlReleases()) {
      const printed = await succeed(['version'], '', path);
      for (const side of ['Client Version', 'Server Version']) {
        // Before 1.28 everything was printed, later the version alone.
        const long = new RegExp(
          `^${side}: version\\.Info\\{Major:"\\d", Minor:"\\d+\\+?", GitVersion:"v\\d\\.\\d+\\.[\\w.+-]+", GitCommit:"[0-9a-f]+"`,
          'm',
        );
        const short = new RegExp(`^${side}: v\\d\\.\\d+\\.[\\w.+-]+$`, 'm');
        assert.ok(long.test(printed) || short.test(printed), printed);
      }
    }
    const { serverVersion } = JSON.parse(await succeed(['version', '-o', 'json']));
    assert.match(serverVersion.major, /^\d+$/);
    assert.match(serverVersion.minor, /^\d+\+?$/);
    assert.match(serverVersion.gitCommit, /^[0-9a-f]+$/);
  },
);

test(
  '[sig-cli] Kubectl client Kubectl diff should check if kubectl diff finds a difference for Deployments [Conformance]',
  options,
  async () => {
    const namespace = await makeNamespace();
    const deployment = (image: string) =>
      JSON.stringify({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'httpd-deployment' },
        spec: {
          replicas: 1,
          selector: { matchLabels: { app: 'httpd' } },
          template: { metadata: { labels: { app: 'httpd' } }, spec: { containers: [{ name: 'httpd', image }] } },
        },
      });
    const [live, declared] = [
      'registry.k8s.io/e2e-test-images/agnhost:2.52',
      'registry.k8s.io/e2e-test-images/busybox:1.36',
    ];
    await succeed(['-n', namespace, 'create', '-f', '-'], deployment(live!));
    const same = await run(['-n', namespace, 'diff', '-f', '-'], deployment(live!));
    assert.deepEqual(same, { code: 0, stdout: '', stderr: '' });
    const { code, stdout } = await run(['-n', namespace, 'diff', '-f', '-'], deployment(declared!));
    assert.equal(code, 1);
    assert.match(stdout, new RegExp(`^-.*image: ${live}$`, 'm'));
    assert.match(stdout, new RegExp(`^\\+.*image: ${declared}$`, 'm'));
    await succeed(['-n', namespace, 'delete', '-f', '-'], deployment(declared!));
  },
);

/** Runs `kubectl proxy` until the work is done; the first line that it prints says where it is. */
async function withProxy(words: readonly string[], work: (said: string) => Promise<void>): Promise<void> {
  const proxy: ChildProcess = spawn(kubectl!, ['proxy', ...words], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => proxy.once('exit', () => resolve()));
  try {
    const said = await new Promise<string>((resolve, reject) => {
      proxy.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString()));
      proxy.once('error', reject);
      proxy.once('exit', (code) => reject(new Error(`kubectl proxy ended with ${code}`)));
    });
    await work(said);
  } finally {
    proxy.kill();
    await ended;
  }
}

function versionsAt(where: { readonly port?: number; readonly socketPath?: string }): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const asking = request({ host: '127.0.0.1', path: '/api/', ...where }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      resolve((JSON.parse(Buffer.concat(chunks).toString()) as { readonly versions: readonly string[] }).versions);
    });
    asking.on('error', reject).end();
  });
}

test('[sig-cli] Kubectl client Proxy server should support proxy with --port 0 [Conformance]', options, async () => {
  await withProxy(['--port=0', '--disable-filter'], async (said) => {
    const port = Number(/^Starting to serve on 127\.0\.0\.1:(\d+)/m.exec(said)?.[1]);
    assert.deepEqual(await versionsAt({ port }), ['v1']);
  });
});

test('[sig-cli] Kubectl client Proxy server should support --unix-socket=/path [Conformance]', options, async () => {
  const socketPath = join(folder, 'proxy.sock');
  await withProxy([`--unix-socket=${socketPath}`], async () => {
    assert.deepEqual(await versionsAt({ socketPath }), ['v1']);
  });
});
