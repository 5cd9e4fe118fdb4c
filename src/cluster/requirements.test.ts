import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { CommandError } from './command-error.ts';
import { installRequirements, type Machine, type MissingRequirement } from './requirements.ts';

const missing: readonly MissingRequirement[] = [
  { package: 'containerd', purpose: 'the container runtime' },
  { package: 'nftables', purpose: 'carries Services' },
];

interface Apt extends Machine {
  /** What apt-get was asked for, a line each. */
  asked(): string;
}

/** A machine whose apt-get writes down what it is asked, and then does what the script says. */
function machineWithApt(t: TestContext, script: string): Apt {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-apt-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'apt-get');
  const log = join(folder, 'log');
  writeFileSync(file, `#!/bin/sh\necho "$DEBIAN_FRONTEND $*" >>${log}\n${script}\n`);
  chmodSync(file, 0o755);
  return { path: [folder, '/usr/bin', '/bin'], isRoot: true, asked: () => readFileSync(log, 'utf8') };
}

function refusal(machine: Machine): CommandError {
  try {
    installRequirements(machine, missing, () => {});
  } catch (error) {
    assert.ok(error instanceof CommandError);
    return error;
  }
  throw new assert.AssertionError({ message: 'nothing was refused' });
}

describe('installing what a node needs', () => {
  test('says what is installed and for what, and asks apt-get for just that, without questions', (t) => {
    const machine = machineWithApt(t, 'exit 0');
    const said: string[] = [];
    installRequirements(machine, missing, (line) => said.push(line));
    assert.deepEqual(said, ['installing containerd: the container runtime', 'installing nftables: carries Services']);
    assert.equal(
      machine.asked(),
      'noninteractive -qq update\nnoninteractive -qq install -y --no-install-recommends containerd nftables\n',
    );
  });

  test('goes on where the lists are old, if they do', (t) => {
    const machine = machineWithApt(t, '[ "$2" != update ]');
    installRequirements(machine, missing, () => {});
    assert.match(machine.asked(), /install/);
  });

  test('tells the last words of apt-get, those about its lists too, and what to type', (t) => {
    const machine = machineWithApt(t, 'echo "reading" >&2; echo "E: no $2" >&2; exit 100');
    const { message, advice } = refusal(machine);
    assert.equal(
      message,
      'apt-get could not install containerd, nftables: E: no install (apt-get update had failed before: E: no update)',
    );
    assert.match(advice, /^Try it by hand \(apt-get install containerd nftables\), or use --runtime simulated\.$/);
  });

  test('is left to root', (t) => {
    const machine = { ...machineWithApt(t, 'exit 0'), isRoot: false };
    assert.match(refusal(machine).message, /^missing on this machine: containerd, nftables\.$/);
  });

  test('asks nothing of apt-get when nothing is missing', (t) => {
    const machine = machineWithApt(t, 'exit 1');
    installRequirements(machine, [], () => {});
    assert.throws(() => machine.asked(), /ENOENT/);
  });
});
