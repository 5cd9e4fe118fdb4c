import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { importedNames } from '../node/images.ts';
import { chooseAddress, nameServers, nodeNameOf } from './machine.ts';

for (const { hostname, name } of [
  { hostname: 'Laptop.Local', name: 'laptop.local' },
  { hostname: 'my_machine', name: 'my-machine' },
  { hostname: '-.-', name: 'node' },
])
  test(`a machine called ${hostname} is the Node ${name}`, () => assert.equal(nodeNameOf(hostname), name));

const interfaceOf = (address: string, internal = false) => [
  { address, internal, family: 'IPv4' as const, netmask: '255.255.255.0', mac: '', cidr: null },
];
const loopback = { lo: interfaceOf('127.0.0.1', true) };

for (const { name, interfaces, chosen } of [
  {
    name: 'of the interface with the default route',
    interfaces: { ...loopback, eth0: interfaceOf('192.0.2.1'), eth1: interfaceOf('192.0.2.2') },
    chosen: '192.0.2.2',
  },
  {
    name: 'of another interface, but not a link-local one',
    interfaces: { ...loopback, usb0: interfaceOf('169.254.0.1'), eth0: interfaceOf('192.0.2.1') },
    chosen: '192.0.2.1',
  },
  {
    name: 'of the loopback interface, where there is no other',
    interfaces: { lo: [...loopback.lo, ...interfaceOf('10.255.255.1', true)] },
    chosen: '10.255.255.1',
  },
  { name: 'none, where there is none but loopback´s own', interfaces: loopback, chosen: undefined },
])
  test(`the machine´s address is ${name}`, () => assert.equal(chooseAddress(interfaces, 'eth1'), chosen));

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
