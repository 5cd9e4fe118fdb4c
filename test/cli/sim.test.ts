/** `coracle sim run` as README shows it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { coracle } from './coracle.fixture.ts';

const root = resolve(import.meta.dirname, '../..');
const command = readFileSync(join(root, 'README.md'), 'utf8')
  .split('\n')
  .find((line) => line.startsWith('./coracle sim run '));

describe('coracle sim run', () => {
  it('does what README says', () => {
    const [, ...words] = command?.split('#')[0]?.trim().split(/\s+/) ?? [];
    assert.deepEqual(words.slice(0, 2), ['sim', 'run']);
    const { status, stdout, stderr } = coracle(
      words.map((word) => (word.startsWith('examples/') ? join(root, word) : word)),
    );
    assert.equal(status, 0, stderr);
    assert.match(stdout, /node\/node-1 +Ready is Unknown \(NodeStatusUnknown\)/);
    assert.match(stdout, /840 virtual seconds, \d+ writes, seed 1, history [0-9a-f]{64}\n$/);
  });

  it('tells the same as JSON', () => {
    const file = join(root, 'examples/scenarios/drain.ts');
    const { status, stdout, stderr } = coracle(['sim', 'run', file, '-o', 'json', '--seed', '5']);
    assert.equal(status, 0, stderr);
    const report = JSON.parse(stdout);
    assert.equal(report.seed, 5);
    assert.deepEqual(Object.keys(report.timeline[0]), ['atSeconds', 'object', 'what']);
  });

  it('says what is wrong with a file', () => {
    const missing = coracle(['sim', 'run', '/none.yaml']);
    assert.equal(missing.status, 1);
    assert.match(missing.stderr, /none\.yaml cannot be read/);
    const foreign = coracle(['sim', 'run', join(root, 'examples/scenarios/workload.ts')]);
    assert.match(foreign.stderr, /has no scenario as its default export/);
  });
});
