/** The machine's runtime gives way to the one under test while Pods run: no container notices. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { forever, RealKubelet } from '../../src/kubelet/real-kubelet.fixture.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { type Needs, needs, unless } from '../../src/testing/needs.ts';

const release = process.env.CORACLE_TEST_CONTAINERD ?? '';
const folders = (process.env.PATH ?? '').split(':');
const isUnderTest = (folder: string) => folder.endsWith(`/containerd-${release}/bin`);
const machinePath = folders.filter((folder) => !isUnderTest(folder)).join(':');

/** Containers, and a machine whose own release comes before the one under test: Debian 13's is 1.7 itself. */
function anUpgrade(): Needs {
  const containers = needs('containers');
  if (containers.skip) return containers;
  const env = { ...process.env, PATH: machinePath };
  const told = execFileSync('containerd', ['--version'], { env, encoding: 'utf8' });
  const own = / v?(\d+\.\d+\S*)/.exec(told)?.[1] ?? assert.fail(`no release in ${told}`);
  const isEarlier = new Intl.Collator('en', { numeric: true }).compare(own, release) < 0;
  return unless(isEarlier ? undefined : `the machine's own containerd is ${own}: ${release} is no upgrade of it`);
}

describe(`an upgrade of the runtime to containerd ${release}`, anUpgrade(), () => {
  const real = new RealKubelet('upgraded', machinePath);
  before(() => real.start());
  after(() => real.stop());

  it('leaves Pods alone that run, and they can be used and removed as before', async () => {
    await real.create('early', { containers: [forever('echo early')] });
    await real.phase('early', 'Running');
    const before = await real.status('early');
    const earlier = (await real.runtime.version()).runtimeVersion;
    await real.containerd.kill();
    await real.containerd.restart(process.env.PATH);
    const { runtimeVersion } = await eventually(() => real.runtime.version());
    assert.notEqual(runtimeVersion, earlier);
    assert.ok(runtimeVersion.startsWith(`${release}.`), runtimeVersion);

    await real.create('later', { containers: [forever()] });
    await real.phase('later', 'Running');
    assert.equal(await real.exec('early', 'echo in early'), 'in early\n');
    assert.equal(await real.log('early'), 'early\n');
    assert.equal(await real.exec('later', 'echo in later'), 'in later\n');
    const { containerID, restartCount } = (await real.status('early')) ?? {};
    assert.deepEqual([containerID, restartCount], [before?.containerID, 0]);
    for (const name of ['early', 'later']) await real.remove(name, 1);
    await eventually(async () => (await real.runtime.listContainers()).length === 0);
  });
});
