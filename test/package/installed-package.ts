/**
 * The npm package as a stranger has it: built, packed and installed in an empty folder, with the dependencies that this repository's lock file
 * names, so that npm finds them in its cache or registry. Programs run there with a Node.js of choice.
 */
import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

/** The oldest that the package allows, fetched by scripts/install-test-tools.sh. */
export const oldestNode = join(root, '.cache/tools/node-22.18/bin/node');

interface LockedPackage {
  readonly dev?: boolean;
}

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

export class InstalledPackage {
  readonly folder = mkdtempSync(join(tmpdir(), 'coracle-package-'));
  /** Paths in the tarball, and its size. */
  readonly files: readonly string[];
  readonly bytes: number;

  constructor() {
    execFileSync(process.execPath, ['scripts/build.ts'], { cwd: root, stdio: 'inherit' });
    const packed = npm(root, 'pack', './dist', '--json', '--pack-destination', this.folder);
    const [tarball] = JSON.parse(packed) as [{ filename: string; size: number; files: { path: string }[] }];
    this.files = tarball.files.map(({ path }) => path);
    this.bytes = tarball.size;
    this.#install(tarball.filename);
  }

  /** In the package as it is installed. */
  text(path: string): string {
    return readFileSync(join(this.folder, 'node_modules/coracle', path), 'utf8');
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.folder, file), text);
  }

  /** A program that does not end by itself is killed, and has no status. */
  run(command: string, words: readonly string[], environment: NodeJS.ProcessEnv = {}): SpawnSyncReturns<string> {
    return spawnSync(command, words, {
      cwd: this.folder,
      encoding: 'utf8',
      timeout: 60_000,
      env: { ...process.env, ...environment },
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #install(tarball: string): void {
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
    const { name, version, ...published } = JSON.parse(readFileSync(join(root, 'dist/package.json'), 'utf8'));
    const forTypes = ['node_modules/@types/node', 'node_modules/undici-types'];
    const locked = Object.entries(packages).filter(
      ([path, { dev }]) => path !== '' && (!dev || forTypes.includes(path)),
    );
    const manifest = { dependencies: { coracle: `file:${tarball}`, '@types/node': '*' } };
    const lock = {
      lockfileVersion: 3,
      packages: {
        '': manifest,
        'node_modules/coracle': { ...published, version, resolved: `file:${tarball}` },
        ...Object.fromEntries(locked.map(([path, { dev: _, ...entry }]) => [path, entry])),
      },
    };
    this.write('package.json', JSON.stringify({ private: true, type: 'module', ...manifest }));
    this.write('package-lock.json', JSON.stringify(lock));
    npm(this.folder, 'ci', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error');
    if (!existsSync(join(this.folder, 'node_modules/coracle'))) throw new Error('npm installed no coracle');
  }
}

/** Outside an npm script's environment, which would name this repository's folder. */
function npm(folder: string, ...words: string[]): string {
  const environment = Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle|command)/.test(name));
  return execFileSync('npm', words, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: Object.fromEntries(environment),
  });
}
