import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import { needs } from '../../testing/needs.ts';
import { CommandError } from '../command-error.ts';
import { type ThisMachine, thisMachine } from '../machine/machine.ts';
import { missingRequirements } from '../machine/requirements.ts';
import type { ProgressEvent } from './progress.ts';
import { installMissing } from './step.ts';

/** Without containerd, which lies nowhere but on the PATH; its apt-get does what the script says. */
function bareMachine(t: TestContext, apt: string): ThisMachine {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-step-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'apt-get');
  writeFileSync(file, `#!/bin/sh\n${apt.replaceAll('$bin', folder)}\n`);
  chmodSync(file, 0o755);
  return { ...thisMachine(), path: [folder], isRoot: true, environment: {} };
}

async function install(machine: ThisMachine, { mayInstall = true } = {}) {
  const events: ProgressEvent[] = [];
  const surroundings = { machine, clock: new FakeClock(), report: (event: ProgressEvent) => void events.push(event) };
  const { signal } = new AbortController();
  const error = await installMissing(surroundings, { ownRuntime: false, mayInstall, signal }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error === undefined || error instanceof CommandError, String(error));
  return { error, said: events.map((event) => (event.kind === 'say' ? event.text : event.kind)) };
}

describe('installing what a node lacks', () => {
  test('says what for, and how long it took', async (t) => {
    const installing = 'echo "#!/bin/sh" >$bin/containerd; /bin/chmod 755 $bin/containerd';
    const { error, said } = await install(bareMachine(t, installing));
    assert.doesNotMatch(error?.message ?? '', /containerd/);
    assert.equal(said[0], 'begin');
    assert.equal(said[1], '  installing containerd: the container runtime');
    assert.equal(said.at(-1), 'done');
  });

  test('does nothing where that was not wanted, and names the command', async (t) => {
    const { error, said } = await install(bareMachine(t, 'exit 0'), { mayInstall: false });
    assert.match(error?.message ?? '', /^missing on this machine: containerd.*, and --no-install was given\.$/);
    assert.match(error?.advice ?? '', /^Install them \(apt-get install containerd.*\), or use --runtime simulated\.$/);
    assert.deepEqual(said, []);
  });

  test('is left to root', async (t) => {
    const { error } = await install({ ...bareMachine(t, 'exit 0'), isRoot: false });
    assert.match(error?.advice ?? '', /^Install them as root \(apt-get install containerd/);
  });

  // CNI plugins are looked for in their own folders alone.
  test('asks nothing of apt-get when nothing is missing', needs('/usr/lib/cni/bridge'), async (t) => {
    const machine = bareMachine(t, 'echo asked >$bin/asked');
    const [folder = ''] = machine.path;
    for (const { program } of missingRequirements({ ...machine, path: [] }, false))
      copyFileSync(join(folder, 'apt-get'), join(folder, program));
    assert.deepEqual(await install(machine), { error: undefined, said: [] });
    assert.ok(!existsSync(join(folder, 'asked')));
  });

  test('does not believe that a program is there because its package is', async (t) => {
    const { error } = await install(bareMachine(t, 'exit 0'));
    assert.equal(
      error?.message,
      'the package containerd is installed, but its program containerd is not on this machine.',
    );
    assert.equal(error.advice, 'Install it anew: apt-get install --reinstall containerd');
  });
});
