/** What the kubelet makes of groups that it can and cannot set; a plain folder stands for the kernel's. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, it, type TestContext } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { LinuxCgroups } from './linux-cgroups.ts';

const pod: Pod = { metadata: { name: 'p', uid: 'u' }, spec: { containers: [{ name: 'main' }] } };
const podShares = 'kubepods/besteffort/podu/cpu.shares';
const limits = (cpuShares: number) => () => ({ pods: { cpuShares }, burstable: {}, bestEffort: {} });

let mountPoint: string;
let cgroups: LinuxCgroups;

beforeEach(async (context) => {
  mountPoint = await mkdtemp(join(tmpdir(), 'cgroups-'));
  await mkdir(join(mountPoint, 'cpu'));
  (context as TestContext).after(() => rm(mountPoint, { recursive: true }));
  cgroups = new LinuxCgroups({ driver: 'cgroupfs', root: '/', perQos: true, log: silentLog, mountPoint });
});

const shares = (path: string) => readFile(join(mountPoint, 'cpu', path), 'utf8');

/** A file that cannot be written now. */
async function obstruct(path: string): Promise<() => Promise<void>> {
  const obstacle = join(mountPoint, 'cpu', path);
  await mkdir(obstacle, { recursive: true });
  return () => rm(obstacle, { recursive: true });
}

describe('cgroups of a machine', () => {
  it("stay the kubelet's when a limit cannot be set, which is set the next time", async () => {
    const clear = await obstruct('kubepods/cpu.shares');
    const all = { ...limits(1)(), burstable: { cpuShares: 2 } };
    await assert.rejects(
      cgroups.ensureNode(() => all),
      { code: 'EISDIR' },
    );
    assert.equal(await shares('kubepods/burstable/cpu.shares'), '2');
    await clear();
    assert.equal(await cgroups.ensureNode(limits(1)), true);
    assert.equal(await shares('kubepods/cpu.shares'), '1');
  });

  it('get a limit that they had before also when another could not be set in between', async () => {
    await cgroups.ensureNode(limits(1));
    await rm(join(mountPoint, 'cpu/kubepods/cpu.shares'));
    const clear = await obstruct('kubepods/cpu.shares');
    await assert.rejects(cgroups.ensureNode(limits(2)));
    await clear();
    await cgroups.ensureNode(limits(1));
    assert.equal(await shares('kubepods/cpu.shares'), '1');
  });

  it("stay the kubelet's when those of one Pod cannot be made", async () => {
    await cgroups.ensureNode(limits(1));
    const clear = await obstruct(podShares);
    await assert.rejects(cgroups.ensure(pod, { cpuShares: 2 }));
    await clear();
    await cgroups.ensure(pod, { cpuShares: 2 });
    assert.equal(await shares(podShares), '2');
  });

  it('are left to the runtime where there is no such controller', async () => {
    await rm(join(mountPoint, 'cpu'), { recursive: true });
    assert.equal(await cgroups.ensureNode(limits(1)), false);
    await mkdir(join(mountPoint, 'cpu'));
    assert.equal(await cgroups.ensureNode(limits(1)), false);
    await cgroups.ensure(pod, { cpuShares: 2 });
    await assert.rejects(shares(podShares), { code: 'ENOENT' });
  });

  it('above Pods are set for one after the other, with what is known when its turn comes', async () => {
    let wasSet = false;
    const later = () => {
      wasSet = existsSync(join(mountPoint, 'cpu/kubepods/cpu.shares'));
      return limits(2)();
    };
    await Promise.all([cgroups.ensureNode(limits(1)), cgroups.ensureNode(later)]);
    assert.ok(wasSet);
    assert.equal(await shares('kubepods/cpu.shares'), '2');
  });
});
