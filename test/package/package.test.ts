/** The npm package, in the hands of somebody who has nothing but it: what it contains, a test with a control plane, the command. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { needs } from '../../src/testing/needs.ts';
import { TestCluster } from '../cli/coracle.fixture.ts';
import { InstalledPackage, oldestNode, root } from './installed-package.ts';

const readme = readFileSync(join(root, 'README.md'), 'utf8');
const [, example = ''] = /## In a test\n```ts\n(.*?)```/s.exec(readme) ?? [];

/** The README's example, and what one would do next. Ends by itself when nothing is left running. */
const program = `
import { cronJobs } from 'coracle/api/batch-v1';
import { deployments } from 'coracle/api/apps-v1';
import { pods } from 'coracle/api/core-v1';
import { createClient, createHttpTransport, isInvalid, parseKubeconfig, systemClock, transportOptions } from 'coracle/client';
import { type Log, silentLog } from 'coracle/reconcile';
import { readFile } from 'node:fs/promises';
${example}
const log: Log = silentLog;
const config = parseKubeconfig(cluster.kubeconfig, '.');
const transport = createHttpTransport(await transportOptions(config, { clock: systemClock, readFile: (path) => readFile(path, 'utf8') }));
const client = createClient(transport);
const labels = { app: 'web' };
const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'web' }] } };
await client.create(deployments, {
  metadata: { name: 'web', namespace: 'default' },
  spec: { replicas: 2, selector: { matchLabels: labels }, template },
});
let left = 2;
for await (const event of client.watch(pods, { namespace: 'default' })) if (event.type === 'ADDED' && --left === 0) break;
console.log('Pods came');
await client.create(cronJobs, { metadata: { name: 'x', namespace: 'default' }, spec: { schedule: 'never', jobTemplate: { spec: { template } } } }).catch((error: unknown) => {
  if (isInvalid(error)) console.log(error.message);
});
await transport.close();
void log;
`;

/** Prints which files of the package a start loads until it is ready. */
const loading = `
import { registerHooks } from 'node:module';
const files = [];
registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) });
const { startControlPlane } = await import('coracle/testing');
const cluster = await startControlPlane();
console.log(JSON.stringify(files.filter((url) => url.startsWith('file:'))));
await cluster.stop();
`;

/** Compiled as for the oldest Node.js, which has no \`await using\`. */
const compiler = [
  '--strict',
  '--module',
  'nodenext',
  '--target',
  'es2022',
  '--lib',
  'es2023',
  '--types',
  'node',
  'program.ts',
];

describe('the npm package', () => {
  let installed: InstalledPackage;
  before(() => {
    installed = new InstalledPackage();
  });
  after(() => installed.remove());

  it('contains the program and its pages, and nothing that only this repository needs', () => {
    const expected = /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|.*\.(js|js\.map|d\.ts)|.*\/gen\/[\w-]+\.json)$/;
    const unwanted = /\.(test|fixture|contract)\.|^(src|test|facts|scripts|bench)\//;
    assert.deepEqual(
      installed.files.filter((path) => !expected.test(path) || unwanted.test(path)),
      [],
    );
    // 2.0 MB when this was last raised, all of it code and its maps (ADR 6).
    assert.ok(installed.bytes < 2_200_000, `${installed.bytes} bytes`);
  });

  it('names no folder of the machine that built it', () => {
    const naming = installed.files.filter((path) =>
      [root, `${homedir()}/`].some((folder) => installed.text(path).includes(folder)),
    );
    assert.deepEqual(naming, []);
  });

  it('has types that a strict program compiles with', () => {
    installed.write('program.ts', program);
    const { status, stdout } = installed.run(join(root, 'node_modules/.bin/tsc'), compiler);
    assert.equal(status, 0, stdout);
  });

  for (const node of [process.execPath, oldestNode])
    it(
      `gives a test its control plane, and leaves nothing running, on ${node === oldestNode ? 'the oldest Node.js it allows' : 'this Node.js'}`,
      needs(node),
      () => {
        const { status, stdout, stderr } = installed.run(node, ['program.js']);
        assert.equal(stderr, '');
        assert.match(stdout, /^Pods came\nCronJob\.batch "x" is invalid: .*spec\.schedule/);
        assert.equal(status, 0);
      },
    );

  it('starts from a dozen files', () => {
    const { stdout, stderr } = installed.run(process.execPath, ['--input-type=module', '-e', loading]);
    const files = JSON.parse(stdout || '[]') as string[];
    assert.ok(files.length > 0, stderr);
    // Where the machine is slow, what starts in the background has begun too.
    const background = files.findIndex((url) => /\/chunks\/(scheduler|background)\.js$/.test(url));
    const awaited = background < 0 ? files : files.slice(0, background);
    assert.ok(awaited.length <= 12, awaited.join('\n'));
  });

  it('can be required', () => {
    const words = ['-e', "console.log(typeof require('coracle/testing').startControlPlane)"];
    const { stdout, stderr } = installed.run(process.execPath, ['--input-type=commonjs', ...words]);
    assert.equal(stderr, '');
    assert.equal(stdout, 'function\n');
  });

  it('names the sources in stacks', () => {
    const failing = `import { startControlPlane } from 'coracle/testing'; await startControlPlane({ controllers: ['no-such'] });`;
    const { stderr } = installed.run(process.execPath, ['--enable-source-maps', '--input-type=module', '-e', failing]);
    assert.match(stderr, /node_modules\/coracle\/src\/[\w/-]+\.ts:\d+:\d+/);
  });

  it('has a command with all its verbs and components', () => {
    const help = installed.run('npx', ['--no-install', 'coracle', '--help']);
    assert.equal(help.status, 0, help.stderr);
    assert.match(help.stdout, /Usage: coracle .*kube-apiserver/s);
    const component = installed.run('npx', ['--no-install', 'coracle', 'kube-apiserver', '--help']);
    assert.equal(component.status, 0, component.stderr);
    assert.match(component.stdout, /--etcd-servers/);
  });

  it('starts and stops a cluster', async () => {
    const cluster = await TestCluster.create(join(installed.folder, 'node_modules/.bin/coracle'));
    try {
      const { status, stderr } = cluster.up('--node-name', 'first');
      assert.equal(status, 0, stderr);
      assert.match(cluster.kubectl('get', 'nodes', '--no-headers'), /^first +Ready /);
      cluster.kubectl('create', 'deployment', 'web', '--image=web');
      cluster.kubectl('wait', '--for=condition=Available', 'deployment/web', '--timeout=20s');
      assert.equal(cluster.coracle('down').status, 0);
    } finally {
      cluster.remove();
    }
  });

  it('says so where the optional store is missing', async () => {
    rmSync(join(installed.folder, 'node_modules/lmdb'), { recursive: true });
    const cluster = await TestCluster.create(join(installed.folder, 'node_modules/.bin/coracle'));
    try {
      const { status, stderr } = cluster.up();
      assert.equal(status, 1);
      assert.match(stderr, /storage is unavailable: the npm package lmdb, an optional dependency, is not installed/);
    } finally {
      cluster.remove();
    }
  });
});
