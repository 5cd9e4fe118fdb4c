import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { importedNames } from './images.ts';
import { nameServers, nodeNameOf } from './machine.ts';

for (const { hostname, name } of [
  { hostname: 'Laptop.Local', name: 'laptop.local' },
  { hostname: 'my_machine', name: 'my-machine' },
  { hostname: '-.-', name: 'node' },
])
  test(`a machine called ${hostname} is the Node ${name}`, () => assert.equal(nodeNameOf(hostname), name));

test('the machine´s name servers are read without those that would ask us again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-resolv-'));
  const file = join(folder, 'resolv.conf');
  writeFileSync(
    file,
    '# nameserver 1.1.1.1\nnameserver 10.96.0.10\nnameserver  192.0.2.1\nsearch x\n nameserver fd00::1\n',
  );
  assert.deepEqual(nameServers(['10.96.0.10'], file), ['192.0.2.1', 'fd00::1']);
  assert.deepEqual(nameServers([], join(folder, 'missing')), []);
  rmSync(folder, { recursive: true });
});

test('names of imported images are read from what ctr prints', () => {
  const output = 'unpacking docker.io/library/a:1 (sha256:ab)...done\nunpacking b:2 (sha256:cd)...done\n';
  assert.deepEqual(importedNames(output), ['docker.io/library/a:1', 'b:2']);
  const later =
    'docker.io/library/a:1   \tsaved\t\nb:2 \tsaved\t\napplication/vnd.oci.image.manifest.v1+json sha256:ab\n' +
    'Importing\telapsed: 0.3 s\ttotal:   0.0 B\t(0.0 B/s)\t\n';
  assert.deepEqual(importedNames(later), ['docker.io/library/a:1', 'b:2']);
});
