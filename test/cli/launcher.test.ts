/** The launcher of a clone: what it does before there is anything but a shell, and npm. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { launcher } from './coracle.fixture.ts';

/** A clone without npm packages, on a machine with a shell and what the test puts there. */
class Clone {
  readonly #folder = mkdtempSync(join(tmpdir(), 'coracle-clone-'));
  readonly #modules = join(this.#folder, 'clone/node_modules');

  constructor(t: TestContext) {
    t.after(() => rmSync(this.#folder, { recursive: true, force: true }));
    mkdirSync(join(this.#folder, 'clone'));
    mkdirSync(join(this.#folder, 'bin'));
    copyFileSync(launcher, join(this.#folder, 'clone/coracle'));
    this.setLock('1');
    for (const program of ['cmp', 'cp', 'dirname', 'id', 'ln', 'mkdir', 'readlink', 'rm', 'sh', 'touch'])
      symlinkSync(`/usr/bin/${program}`, join(this.#folder, 'bin', program));
    this.program('node', 'exit 0');
  }

  setLock(version: string): void {
    writeFileSync(join(this.#folder, 'clone/package-lock.json'), version);
  }

  program(name: string, script: string): void {
    const file = join(this.#folder, 'bin', name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
  }

  /** An npm that installs a node which tells what it is started with. */
  npm(before = ''): void {
    const node = `printf "#!/bin/sh\\necho started \\$*\\n" >node_modules/.bin/node; /bin/chmod 755 node_modules/.bin/node`;
    this.program(
      'npm',
      `[ "$1" != config ] || { echo https://registry.example; exit 0; }
echo "npm $1"; rm -rf node_modules; mkdir -p node_modules/.bin; ${node}
${before}
touch node_modules/.package-lock.json`,
    );
  }

  run(...words: string[]) {
    const { status, stdout, stderr } = spawnSync(join(this.#folder, 'clone/coracle'), words, {
      encoding: 'utf8',
      env: { PATH: join(this.#folder, 'bin'), HOME: this.#folder },
    });
    return { status, stdout, stderr: stderr.trim().split('\n') };
  }

  get hasModules(): boolean {
    return existsSync(this.#modules);
  }
}

describe('the launcher', () => {
  it('installs the npm packages on its first start, and not on the next', (t) => {
    const clone = new Clone(t);
    clone.npm();
    const first = clone.run('up', '--detach');
    assert.deepEqual(first.stderr, ['coracle: its npm packages are not installed; installing them', 'npm ci']);
    assert.match(first.stdout, /^started .*\/src\/cli\/main\.ts up --detach$/m);
    assert.deepEqual(clone.run('status').stderr, ['']);
  });

  it('begins anew after an installation that was interrupted', (t) => {
    const clone = new Clone(t);
    clone.npm('kill -9 $$');
    assert.equal(clone.run('status').status, 1);
    clone.npm();
    assert.equal(clone.run('status').status, 0);
  });

  it('installs again when the clone has moved on to other packages', (t) => {
    const clone = new Clone(t);
    clone.npm();
    clone.run('status');
    clone.setLock('2');
    assert.match(clone.run('status').stderr[0] ?? '', /are those of another version; installing them/);
    assert.deepEqual(clone.run('status').stderr, ['']);
  });

  it('tells where npm gets packages from when that cannot be reached', (t) => {
    const clone = new Clone(t);
    clone.npm('echo no network; exit 1');
    const { status, stderr } = clone.run('up');
    assert.equal(status, 1);
    assert.equal(stderr.at(-2), 'coracle: npm could not install its packages, as told above.');
    assert.match(
      stderr.at(-1) ?? '',
      /^They come from https:\/\/registry\.example: see that this machine can reach it/,
    );
  });

  it('installs nothing with --no-install, and names the command', (t) => {
    const clone = new Clone(t);
    clone.npm();
    const { status, stderr } = clone.run('up', '--no-install');
    assert.equal(status, 1);
    assert.equal(stderr[0], 'coracle: its npm packages are not installed and --no-install was given.');
    assert.match(stderr[1] ?? '', /^Run: \(cd .*\/clone && npm ci\)$/);
    assert.ok(!clone.hasModules);
  });

  it('says what to install where there is no npm, or a Node.js that is too old for it', (t) => {
    const clone = new Clone(t);
    assert.deepEqual(clone.run('up').stderr, [
      'coracle: npm is missing.',
      'Install Node.js 18 or newer with npm (Debian 12, Ubuntu 24.04 and newer: apt-get install nodejs npm), then try again.',
    ]);
    clone.npm();
    clone.program('node', '[ "$1" != --version ] || echo v12.22.9; exit 1');
    assert.equal(clone.run('up').stderr[0], 'coracle: Node.js v12.22.9 is too old to install its npm packages.');
  });
});
