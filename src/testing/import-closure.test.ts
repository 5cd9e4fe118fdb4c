/**
 * What importing `coracle/testing` loads, and what starting a control plane loads: the time to start is mostly the time to load, so both
 * are bounded, and what an embedded control plane does not need is not loaded at all. Seen from a process of its own.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { before, describe, it } from 'node:test';

interface Loaded {
  /** File URLs in the order of loading. */
  readonly byImport: readonly string[];
  readonly byStart: readonly string[];
  /** Node.js' own modules, as far as it tells. */
  readonly builtin: readonly string[];
}

/** Each module costs every start a fifth of a millisecond. The last that came is `base/fnv.ts`, so that one hash stands once. */
const mostByImport = 10;
const mostByStart = 352;

const program = `
import { registerHooks } from 'node:module';
let files = [];
registerHooks({ load(url, context, next) { if (url.startsWith('file:')) files.push(url); return next(url, context); } });
const { startControlPlane } = await import(process.argv[1]);
const byImport = files;
files = [];
const cluster = await startControlPlane();
await cluster.stop();
console.log(JSON.stringify({ byImport, byStart: files, builtin: process.moduleLoadList ?? [] }));
process.exit();
`;

describe('the import closure of coracle/testing', () => {
  let loaded: Loaded;

  before(() => {
    const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
    const output = execFileSync(process.execPath, [...flags, new URL('index.ts', import.meta.url).href], {
      encoding: 'utf8',
    });
    loaded = JSON.parse(output) as Loaded;
  });

  it('is next to nothing until a control plane is started', () => {
    assert.ok(loaded.byImport.length > 0);
    assert.ok(loaded.byImport.length <= mostByImport, loaded.byImport.join('\n'));
  });

  it('stays bounded when one is', () => {
    const count = loaded.byStart.length;
    assert.ok(count > 100, 'the modules of the control plane were seen');
    assert.ok(count <= mostByStart, `${count} modules are loaded, ${mostByStart} may be`);
  });

  it('has no packages', () => {
    const packages = [...loaded.byImport, ...loaded.byStart].flatMap(
      (url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [],
    );
    assert.deepEqual([...new Set(packages)], []);
  });

  it('does without the web client inside Node.js, which importing node:http as a module loads', () => {
    assert.deepEqual(
      loaded.builtin.filter((name) => name.includes('undici')),
      [],
    );
  });

  it('leaves alone the parts of other programs', () => {
    const others = /\/src\/(kubelet|proxy|dns|cli|storage\/lmdb)\//;
    assert.deepEqual(
      loaded.byStart.filter((url) => others.test(url)),
      [],
    );
  });
});
