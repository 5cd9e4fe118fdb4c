import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { CommandError } from '../command-error.ts';
import { checkContainersAllowed } from './container-rights.ts';

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'coracle-rights-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** What `/sys/fs/cgroup` looks like: folders, or a list of controllers. */
function cgroups(t: TestContext, { v1 = [], v2 }: { readonly v1?: readonly string[]; readonly v2?: string }): string {
  const mount = folder(t);
  for (const name of v1) mkdirSync(join(mount, name));
  if (v2 !== undefined) writeFileSync(join(mount, 'cgroup.controllers'), `${v2}\n`);
  return mount;
}

/** On a machine whose `unshare` does what the script says. */
function check(
  t: TestContext,
  mount: string,
  { script = 'exit 0', interpreter = '/bin/sh' } = {},
): CommandError | undefined {
  const path = folder(t);
  writeFileSync(join(path, 'unshare'), `#!${interpreter}\n${script}\n`);
  chmodSync(join(path, 'unshare'), 0o755);
  try {
    checkContainersAllowed({ path: [path], isRoot: true }, mount);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof CommandError, String(error));
    return error;
  }
}

describe('whether containers may run', () => {
  for (const machine of [
    { name: 'version 2', v2: 'cpuset cpu io memory hugetlb pids' },
    { name: 'version 1', v1: ['cpu', 'cpuacct', 'memory', 'pids', 'unified'] },
    { name: 'version 1 with controllers together', v1: ['cpu,cpuacct', 'memory', 'pids'] },
  ])
    test(`they may with cgroups of ${machine.name}, and nothing is left of the attempt`, (t) => {
      const mount = cgroups(t, machine);
      const before = readdirSync(mount, { recursive: true });
      assert.equal(check(t, mount), undefined);
      assert.deepEqual(readdirSync(mount, { recursive: true }), before);
    });

  test('not without cgroups', (t) => {
    const error = check(t, cgroups(t, {}));
    assert.match(error?.message ?? '', /^this machine has no cgroups at \S+, and containers need them\.$/);
    assert.match(error?.advice ?? '', /^Mount them \(mount -t cgroup2 none .*--runtime simulated\.$/);
  });

  test('not without those of memory, as small machines boot', (t) => {
    const error = check(t, cgroups(t, { v2: 'cpuset cpu io pids' }));
    assert.equal(error?.message, "this machine's cgroups lack memory, and containers need that.");
    assert.match(error.advice, /boot with cgroup_enable=memory/);
  });

  test('not where no cgroup can be made', (t) => {
    const mount = cgroups(t, { v1: ['cpu', 'memory'] });
    // As good as a folder that cannot be written, for root too.
    writeFileSync(join(mount, 'pids'), '');
    const error = check(t, mount);
    assert.match(error?.message ?? '', /^no cgroups can be made in \S+\/pids \(ENOTDIR\), and containers need them\.$/);
  });

  test('not where root may make no namespaces', (t) => {
    const script = 'echo "unshare: unshare failed: Operation not permitted" >&2; exit 1';
    const error = check(t, cgroups(t, { v2: 'cpu memory pids' }), { script });
    assert.equal(
      error?.message,
      'root may not make namespaces here, and containers need them: unshare failed: Operation not permitted.',
    );
    assert.match(error.advice, /docker run --privileged/);
  });

  test('not where the attempt cannot be made', (t) => {
    const mount = cgroups(t, { v2: 'cpu memory pids' });
    const error = check(t, mount, { interpreter: '/nowhere/sh' });
    assert.match(error?.message ?? '', /^root may not make namespaces here, .*: spawnSync \S+\/unshare ENOENT\.$/);
  });
});
