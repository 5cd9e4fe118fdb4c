/** The commands of docs/operations.md, run in their order as they stand there, on a cluster of the test's own. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Etcd, startEtcd } from '../../src/storage/etcd/process.fixture.ts';
import { needs } from '../../src/testing/needs.ts';
import { launcher, TestCluster } from './coracle.fixture.ts';

const document = readFileSync(resolve(import.meta.dirname, '../../docs/operations.md'), 'utf8');
const blocks = [...document.matchAll(/^```sh\n(.*?)^```$/gms)].map((match) => match[1]!.trimEnd());

describe('the commands of docs/operations.md', needs('etcd'), () => {
  let cluster: TestCluster;
  let etcd: Etcd;
  before(async () => {
    cluster = await TestCluster.create();
    etcd = await startEtcd();
    assert.equal(cluster.up('--node-name', 'first').status, 0);
    // The command as it is installed, on the test's own folder where none is named.
    mkdirSync(join(cluster.folder, 'bin'));
    const shim = join(cluster.folder, 'bin', 'coracle');
    const place = `case "$*" in *--data-dir*|*lmdb:*|*verify*) ;; *) set -- "$@" --data-dir '${cluster.data}';; esac`;
    const kind = `case "$1" in up) set -- "$@" --runtime simulated --listen ${cluster.listen};; esac`;
    writeFileSync(shim, `#!/bin/sh\n${place}\n${kind}\nexec '${launcher}' "$@"\n`);
    chmodSync(shim, 0o755);
  });
  after(async () => {
    for (const data of [`${cluster.data}-restored`, cluster.data])
      spawnSync(launcher, ['down', '--purge', '--data-dir', data]);
    cluster.remove();
    await etcd.stop();
  });

  const here = (text: string) =>
    text.replaceAll('/var/lib/coracle', cluster.data).replaceAll('https://10.0.0.1:2379', etcd.endpoints[0]!);

  /** From the last folder that a cluster was started on. */
  let current = '';
  const run = (command: string): string => {
    const { status, stdout, stderr } = spawnSync('sh', ['-c', here(command)], {
      cwd: cluster.folder,
      encoding: 'utf8',
      timeout: 60_000,
      env: {
        ...process.env,
        PATH: `${join(cluster.folder, 'bin')}:${process.env.PATH}`,
        KUBECONFIG: join(current || cluster.data, 'kubeconfig'),
      },
    });
    assert.equal(status, 0, `${command}: ${stderr}`);
    const started = /^coracle up .*--data-dir (\S+)/.exec(here(command))?.[1];
    if (started) current = started;
    return stdout;
  };

  it('there are some', () => assert.equal(blocks.length, 4));

  for (const [index, block] of blocks.entries()) {
    for (const command of block.split('\n')) {
      it(`${index + 1}: ${command}`, () => {
        // The past is asked of the cluster that runs, and that one is stopped before its store is moved.
        const suffix = current && /^coracle (history|get|diff|down)/.test(command) ? ` --data-dir ${current}` : '';
        const output = run(command + suffix);
        if (command.startsWith('coracle migrate')) assert.match(output, /\d+ objects are in \S+ as they are in /);
        if (command === 'coracle history deployment/web') assert.match(output, /spec\.replicas: 1 -> 2/);
        if (command.startsWith('coracle snapshot verify')) assert.match(output, /is whole: \d+ objects/);
      });
    }
  }
});
