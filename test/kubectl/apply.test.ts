/** Server-side apply as users meet it: the real kubectl, in every release found, against an embedded control plane. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type EmbeddedControlPlane, startControlPlane } from '../../src/testing/index.ts';
import { testedReleases } from '../../src/testing/kubectl.ts';
import { needs } from '../../src/testing/needs.ts';

const releases = testedReleases();

interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe('kubectl apply --server-side', needs('kubectl'), () => {
  let cluster: EmbeddedControlPlane;
  const folder = mkdtempSync(join(tmpdir(), 'coracle-apply-'));
  const kubeconfig = join(folder, 'kubeconfig');
  before(async () => {
    cluster = await startControlPlane();
    writeFileSync(kubeconfig, cluster.kubeconfig);
  });
  after(async () => {
    await cluster.stop();
    rmSync(folder, { recursive: true });
  });

  for (const { release, path } of releases) {
    describe(release, () => {
      const name = `web-${release.replace('.', '-')}`;
      const run = (...words: string[]): Promise<Answer> =>
        new Promise((resolve) => {
          const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder };
          execFile(path, words, { env }, (error, stdout, stderr) => {
            resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
          });
        });
      const succeed = async (...words: string[]): Promise<string> => {
        const { code, stdout, stderr } = await run(...words);
        assert.equal(code, 0, stderr);
        return stdout;
      };
      const manifest = (replicas: number, more = '') => {
        const file = join(folder, `${name}-${replicas}.yaml`);
        writeFileSync(
          file,
          `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      containers:
        - name: c
          image: nginx
          ports: [{containerPort: 80}]
${more}`,
        );
        return file;
      };

      test('creates, then changes nothing', async () => {
        const file = manifest(1);
        assert.match(await succeed('apply', '--server-side', '-f', file), /serverside-applied/);
        const version = () => succeed('get', 'deployment', name, '-o', 'jsonpath={.metadata.generation}');
        const first = await version();
        await succeed('apply', '--server-side', '-f', file);
        assert.equal(await version(), first);
      });

      test('managed fields are hidden unless asked for', async () => {
        assert.doesNotMatch(await succeed('get', 'deployment', name, '-o', 'yaml'), /managedFields/);
        const shown = await succeed('get', 'deployment', name, '-o', 'yaml', '--show-managed-fields');
        assert.match(shown, /manager: kubectl\n\s+operation: Apply/);
        assert.match(shown, /k:\{"containerPort":80,"protocol":"TCP"\}/);
        assert.match(shown, /manager: kube-controller-manager\n\s+operation: Update\n\s+subresource: status/);
      });

      test('a diff on the server shows what an apply would do, and does nothing', async () => {
        const { code, stdout, stderr } = await run('diff', '--server-side', '-f', manifest(2));
        assert.equal(code, 1, stderr);
        assert.match(stdout, /-\s+replicas: 1\n\+\s+replicas: 2/);
        assert.equal(await succeed('get', 'deployment', name, '-o', 'jsonpath={.spec.replicas}'), '1');
      });

      test('another manager meets a conflict and may force it', async () => {
        const file = manifest(3);
        const words = ['apply', '--server-side', '--field-manager=other', '-f', file];
        const refused = await run(...words);
        assert.equal(refused.code, 1);
        assert.match(refused.stderr, /Apply failed with 1 conflict: conflict with "kubectl": \.spec\.replicas/);
        assert.match(await succeed(...words, '--force-conflicts'), /serverside-applied/);
        assert.equal(await succeed('get', 'deployment', name, '-o', 'jsonpath={.spec.replicas}'), '3');
      });

      test('an unknown field is refused', async () => {
        const { code, stderr } = await run(
          'apply',
          '--server-side',
          '--force-conflicts',
          '-f',
          manifest(4, '  foo: 1\n'),
        );
        assert.equal(code, 1);
        assert.match(stderr, /\.spec\.foo: field not declared in schema/);
      });

      test('what was applied by the client moves over', async () => {
        const file = join(folder, `${name}-map.yaml`);
        const write = (text: string) =>
          writeFileSync(file, `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: ${text}\n`);
        write('{a: "1", b: "1"}');
        await succeed('apply', '-f', file);
        write('{a: "2"}');
        await succeed('apply', '--server-side', '-f', file);
        const data = JSON.parse(await succeed('get', 'configmap', name, '-o', 'jsonpath={.data}'));
        assert.deepEqual(data, { a: '2' });
      });

      test('scaling is the scaler’s from then on', async () => {
        await succeed('scale', 'deployment', name, '--replicas=5');
        const { stderr } = await run('apply', '--server-side', '-f', manifest(6));
        assert.match(stderr, /conflict with "kubectl[^"]*" with subresource "scale" using apps\/v1: \.spec\.replicas/);
      });
    });
  }
});
