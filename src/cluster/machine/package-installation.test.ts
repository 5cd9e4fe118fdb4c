import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { Clock, Timer } from '../../base/clock.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { CommandError } from '../command-error.ts';
import { installPackages } from './package-installation.ts';

const names = ['containerd', 'nftables'];

/** To wait for others, a second and more, takes no time and counts as 100 s; less, which a program's last words have, is never over. */
class HastyClock implements Clock {
  #nowMs = 0;

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    if (delayMs >= 1000)
      setImmediate(() => {
        this.#nowMs += 100_000;
        callback();
      });
    return { cancel() {} };
  }

  soon(callback: () => void): void {
    setImmediate(callback);
  }
}

/** A machine whose apt-get and dpkg write down what they are asked, then do what the scripts say; `$state` is a folder of theirs. */
class ScriptedMachine {
  readonly said: string[] = [];
  readonly notes: string[] = [];
  readonly path: readonly string[];
  environment: Readonly<Record<string, string>> = {};
  readonly #clock: Clock;
  readonly #folder = mkdtempSync(join(tmpdir(), 'coracle-apt-'));
  readonly #abort = new AbortController();

  constructor(
    t: TestContext,
    scripts: { readonly apt: string; readonly dpkg?: string },
    clock: Clock = new HastyClock(),
  ) {
    this.#clock = clock;
    t.after(() => rmSync(this.#folder, { recursive: true, force: true }));
    this.path = [this.#folder, '/usr/bin', '/bin'];
    for (const [program, script = 'exit 1'] of [['apt-get', scripts.apt] as const, ['dpkg', scripts.dpkg] as const]) {
      const file = join(this.#folder, program);
      // The verb is the first word that is no option, nor the value of one.
      const head = `#!/bin/sh
state=${this.#folder}
for word in "$@"; do case $word in update | install) verb=$word ;; esac; done
echo "${program} $*" >>$state/log
`;
      writeFileSync(file, `${head}${script}\n`);
      chmodSync(file, 0o755);
    }
  }

  install(): Promise<void> {
    return installPackages(names, {
      machine: this,
      clock: this.#clock,
      say: (line) => this.said.push(line),
      note: (text) => this.notes.push(text),
      signal: this.#abort.signal,
    });
  }

  giveUp(): void {
    this.#abort.abort('everything');
  }

  async refusal(): Promise<CommandError> {
    const error = await this.install().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof CommandError, String(error));
    return error;
  }

  tell(name: string): void {
    writeFileSync(join(this.#folder, name), '');
  }

  async hears(name: string): Promise<void> {
    while (!existsSync(join(this.#folder, name))) await aTurn();
  }

  async hasNoted(): Promise<void> {
    while (this.notes.length === 0) await aTurn();
  }

  /** `update`, `install` and `dpkg`, as they came. */
  steps(): string[] {
    const log = readFileSync(join(this.#folder, 'log'), 'utf8');
    const stepOf = (line: string) =>
      line.startsWith('dpkg ') ? 'dpkg' : (/ (update|install)\b/.exec(line)?.[1] ?? '');
    return log.trim().split('\n').map(stepOf);
  }

  asked(): string {
    return readFileSync(join(this.#folder, 'log'), 'utf8');
  }
}

const aTurn = () => new Promise((turn) => setImmediate(turn));

const complains = (...lines: readonly string[]) => `${lines.map((line) => `echo "${line}" >&2`).join('; ')}; exit 100`;

describe('installing packages', () => {
  test('asks for just those, without questions, and fetches no lists that are not needed', async (t) => {
    const machine = new ScriptedMachine(t, {
      apt: 'echo "$DEBIAN_FRONTEND $NEEDRESTART_SUSPEND $LC_ALL" >>$state/log',
    });
    await machine.install();
    const [command = '', environment] = machine.asked().trim().split('\n');
    assert.match(command, / install -y --no-install-recommends .*--force-confold containerd nftables$/);
    assert.equal(environment, 'noninteractive 1 C');
    assert.deepEqual(machine.said, []);
  });

  test('fetches the lists where there are none, or old ones', async (t) => {
    const unknown = complains('E: Unable to locate package containerd');
    const machine = new ScriptedMachine(t, {
      apt: `case $verb in update) touch $state/lists ;; install) [ -e $state/lists ] || { ${unknown}; } ;; esac`,
    });
    await machine.install();
    assert.deepEqual(machine.steps(), ['install', 'update', 'install']);
  });

  test('tells how far apt is', async (t) => {
    const machine = new ScriptedMachine(t, {
      apt: 'echo "dlstatus:1:12.5:Retrieving file 1 of 2 (2s remaining)" >&3; echo "pmstatus:runc:40:Unpacking runc (amd64)" >&3',
    });
    await machine.install();
    assert.deepEqual(machine.notes, ['12 %, Retrieving file 1 of 2 (2s remaining)', '40 %, Unpacking runc (amd64)']);
  });

  test('goes the way to the mirror that the user has set', async (t) => {
    const machine = new ScriptedMachine(t, { apt: 'echo "proxy $http_proxy" >>$state/log' });
    machine.environment = { http_proxy: 'http://192.0.2.1:3128' };
    await machine.install();
    assert.match(machine.asked(), /proxy http:\/\/192\.0\.2\.1:3128/);
  });

  test('finishes an installation that was interrupted, and says so', async (t) => {
    const interrupted = complains(
      "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem. ",
    );
    const machine = new ScriptedMachine(t, {
      apt: `[ -e $state/configured ] || { ${interrupted}; }`,
      dpkg: 'touch $state/configured',
    });
    await machine.install();
    assert.deepEqual(machine.steps(), ['install', 'dpkg', 'install']);
    assert.match(machine.asked(), /^dpkg --force-confdef --force-confold --configure -a$/m);
    assert.deepEqual(machine.said, ['finishing an installation that was interrupted: dpkg --configure -a']);
  });

  test('waits for who installs something just now, and says for whom', async (t) => {
    const locked = complains('E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)');
    const unknown = complains('E: Unable to locate package containerd');
    const machine = new ScriptedMachine(t, {
      apt: `case $verb in
update) if [ -e $state/asked ]; then touch $state/lists; else touch $state/asked; ${locked}; fi ;;
install) [ -e $state/lists ] || { ${unknown}; } ;;
esac`,
    });
    await machine.install();
    assert.deepEqual(machine.steps(), ['install', 'update', 'update', 'install']);
    assert.deepEqual(machine.said, ['waiting for process 7 (apt-get), which installs something']);
  });

  test('waits no longer for the lists and once more when the patience is over', async (t) => {
    const machine = new ScriptedMachine(t, {
      apt: complains('E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (unattended-upgr)'),
    });
    await machine.refusal();
    const steps = machine.steps();
    assert.deepEqual(steps.slice(steps.indexOf('update')), ['update', 'install']);
  });

  test('neither hears nor ends a service that keeps writing where apt wrote, and is not kept by it', async (t) => {
    const held = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
    const clock = new FakeClock();
    const scripts = {
      apt: `( while [ -d $state ] && [ ! -e $state/go ]; do sleep 0.02; done
echo late >&2 && echo "pmstatus:x:50:late" >&3 && touch $state/lives ) &
exit 0`,
    };
    const machine = new ScriptedMachine(t, scripts, clock);
    const before = held();
    let installed = false;
    const installing = machine.install().finally(() => {
      installed = true;
    });
    for (; !installed; await aTurn()) await clock.advance(500);
    await installing;
    assert.equal(held(), before);
    machine.tell('go');
    await machine.hears('lives');
    for (let turn = 0; turn < 3; turn++) await aTurn();
    assert.deepEqual(machine.notes, []);
  });

  for (const { name, apt, message, advice } of [
    {
      name: 'no network: the reason is why the lists could not be fetched, not that packages are unknown',
      apt: `case $verb in
update) ${complains('E: Failed to fetch http://mirror.example/InRelease  Could not resolve mirror.example', 'E: Some index files failed to download.')} ;;
install) ${complains('E: Unable to locate package containerd', 'E: Unable to locate package nftables')} ;;
esac`,
      message:
        'apt-get could not install containerd, nftables, and not fetch package lists before: Failed to fetch http://mirror.example/InRelease  Could not resolve mirror.example',
      advice:
        /^Give this machine a way to its package mirror .*apt-get install containerd nftables\), or use --runtime simulated\.$/,
    },
    {
      name: 'packages that no list has, by their names',
      apt: `[ $verb = update ] || { ${complains('E: Unable to locate package nftables', "E: Package 'containerd' has no installation candidate")}; }`,
      message: 'apt-get knows no package nftables, containerd.',
      advice: /universe of Ubuntu/,
    },
    {
      name: 'somebody else who installs for longer than is waited',
      apt: `[ $verb = update ] || { ${complains('E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (unattended-upgr)', 'E: Unable to acquire the dpkg frontend lock')}; }`,
      message:
        'apt-get could not install containerd, nftables, for another program installs something: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (unattended-upgr)',
      advice: /^Wait until that one has ended, then try again\.$/,
    },
    {
      name: 'packages that were broken before',
      apt: `[ $verb = update ] || { ${complains("E: Unmet dependencies. Try 'apt --fix-broken install' with no packages (or specify a solution).")}; }`,
      message:
        "apt-get could not install containerd, nftables: Unmet dependencies. Try 'apt --fix-broken install' with no packages (or specify a solution).",
      advice: /apt-get --fix-broken install/,
    },
    {
      name: 'anything else in apt´s first words',
      apt: `[ $verb = update ] || { ${complains('reading', 'E: You do not have enough free space', 'E: and so on')}; }`,
      message: 'apt-get could not install containerd, nftables: You do not have enough free space',
      advice: /^Try it by hand \(apt-get install containerd nftables\), or use --runtime simulated\.$/,
    },
    {
      name: 'an apt that says nothing, by its status',
      apt: 'exit 3',
      message:
        'apt-get could not install containerd, nftables, and not fetch package lists before: it ended with status 3',
      advice: /package mirror/,
    },
  ])
    test(`refuses, and says why: ${name}`, async (t) => {
      const error = await new ScriptedMachine(t, { apt }).refusal();
      assert.equal(error.message, message);
      assert.match(error.advice, advice);
    });

  test('ends downloads when it is given up, and says nothing', async (t) => {
    const machine = new ScriptedMachine(t, {
      apt: 'echo "dlstatus:1:1:begun" >&3; trap "exit 130" INT; while :; do sleep 0.05; done',
    });
    const installing = machine.install();
    await machine.hasNoted();
    machine.giveUp();
    await assert.rejects(installing, (reason) => reason === 'everything');
    assert.deepEqual(machine.steps(), ['install']);
  });
});
