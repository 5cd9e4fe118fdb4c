import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { forgetPodNetworks } from './cni-results.ts';

test('a cluster´s networks are forgotten with their loopbacks, and nobody else´s', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-cni-'));
  const add = (name: string, containerId: string, config: object) => {
    const encoded = Buffer.from(JSON.stringify(config)).toString('base64');
    writeFileSync(join(folder, name), JSON.stringify({ kind: 'cniCacheV1', containerId, config: encoded }));
  };
  for (const [id, root] of [
    ['one', '/data/a'],
    ['two', '/data/ab'],
  ] as const) {
    add(`coracle-${id}-eth0`, id, { name: 'coracle', plugins: [{ ipam: { dataDir: `${root}/node/addresses` } }] });
    add(`cni-loopback-${id}-lo`, id, { name: 'cni-loopback' });
  }
  writeFileSync(join(folder, 'torn'), '{');
  forgetPodNetworks('/data/a', folder);
  assert.deepEqual(readdirSync(folder).sort(), ['cni-loopback-two-lo', 'coracle-two-eth0', 'torn']);
  forgetPodNetworks('/data/a', join(folder, 'nowhere'));
  rmSync(folder, { recursive: true });
});
