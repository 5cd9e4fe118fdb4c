/** Files and logs on a real file system. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { type networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { needs } from '../../testing/needs.ts';
import { printLog } from '../logs/container-log.ts';
import { writeAtomically } from './atomic-writer.ts';
import { LinuxLogs } from './linux-logs.ts';
import { machineAddresses } from './linux-machine.ts';
import { LinuxVolumes } from './linux-volumes.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'coracle-host-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const file = (path: string, content: string, mode = 0o644) => ({ path, content: Buffer.from(content), mode });

describe('the address of a machine', () => {
  const routes = 'Iface\tDestination\tGateway\neth1\t00000000\t0100000A\neth0\t0000A8C0\t00000000\n';
  const lo = [{ address: '127.0.0.1', family: 'IPv4', internal: true }];
  const link = { address: 'fe80::1', family: 'IPv6', internal: false };
  const of = (...addresses: [address: string, family: 'IPv4' | 'IPv6'][]) => [
    link,
    ...addresses.map(([address, family]) => ({ address, family, internal: false })),
  ];
  const asked = (interfaces: Readonly<Record<string, readonly object[]>>) =>
    machineAddresses(routes, interfaces as unknown as ReturnType<typeof networkInterfaces>);

  it('is the IPv4 address of the interface with the default route', () => {
    const interfaces = {
      lo,
      eth0: of(['192.168.0.2', 'IPv4']),
      eth1: of(['2001:db8::3', 'IPv6'], ['10.0.0.3', 'IPv4']),
    };
    assert.deepEqual(asked(interfaces), ['10.0.0.3']);
  });

  it('is another IPv4 address where that interface has none, and an IPv6 address where there is no IPv4', () => {
    const eth1 = of(['2001:db8::3', 'IPv6']);
    assert.deepEqual(asked({ lo, eth1, eth0: of(['192.168.0.2', 'IPv4']) }), ['192.168.0.2']);
    assert.deepEqual(asked({ lo, eth1 }), ['2001:db8::3']);
    assert.deepEqual(asked({ lo, eth1: [link] }), []);
  });
});

describe('the atomic writer', () => {
  const write = (files: ReturnType<typeof file>[], fsGroup?: number) =>
    writeAtomically(directory, files, { nowMs: Date.UTC(2026, 0, 1), fsGroup });

  it('shows files through one link, with their modes', async () => {
    assert.equal(await write([file('a', '1'), file('deep/b', '2', 0o400)]), true);
    assert.equal(await readFile(join(directory, 'deep/b'), 'utf8'), '2');
    assert.equal(await readlink(join(directory, 'a')), '..data/a');
    assert.match(await readlink(join(directory, '..data')), /^\.\.2026_01_01_00_00_00\./);
    assert.equal((await stat(join(directory, 'deep/b'))).mode & 0o777, 0o400);
  });

  it('lets a group that owns the volume read it, and no more', async () => {
    await write([file('token', '1', 0o600), file('map', '2', 0o644)], process.getgid!());
    const modes = await Promise.all(
      ['token', 'map'].map(async (name) => (await stat(join(directory, name))).mode & 0o777),
    );
    assert.deepEqual(modes, [0o640, 0o644]);
  });

  it('writes nothing when nothing changed, and everything when something did', async () => {
    await write([file('a', '1')]);
    const before = await readlink(join(directory, '..data'));
    assert.equal(await write([file('a', '1')]), false);
    assert.equal(await readlink(join(directory, '..data')), before);
    assert.equal(await write([file('a', '2'), file('c', '3')]), true);
    assert.notEqual(await readlink(join(directory, '..data')), before);
    assert.equal(await readFile(join(directory, 'a'), 'utf8'), '2');
  });

  it('takes away what is no longer there, old versions included', async () => {
    await write([file('a', '1'), file('b', '2')]);
    await write([file('b', '2')]);
    assert.deepEqual(
      (await readdir(directory)).filter((name) => !name.startsWith('..')),
      ['b'],
    );
    assert.equal((await readdir(directory)).filter((name) => name.startsWith('..2026')).length, 1);
  });

  it('refuses paths that lead out', async () => {
    for (const path of ['../x', '/etc/x', 'a/../../x', '..x', ''])
      await assert.rejects(write([file(path, 'x')]), /invalid path in volume/);
  });
});

it('binds a subPath of a volume, and never what a link leads to outside of it', needs('root'), async () => {
  const root = join(directory, 'root');
  const volumePath = join(directory, 'volume');
  await mkdir(volumePath);
  const volumes = new LinuxVolumes(root, systemClock);
  const pod = { metadata: { uid: 'u' }, spec: { containers: [] } };
  const use = (index: number) => ({ volume: 'data', volumePath, container: 'main', index });
  try {
    const made = await volumes.subPath(pod, 'made/here', use(0));
    assert.equal(made, join(root, 'pods/u/volume-subpaths/data/main/0'));
    await writeFile(join(made, 'file'), 'x');
    assert.equal(await readFile(join(volumePath, 'made/here/file'), 'utf8'), 'x');
    assert.equal(await volumes.subPath(pod, 'made/here', use(0)), made);
    assert.equal(await readFile(await volumes.subPath(pod, 'made/here/file', use(1)), 'utf8'), 'x');
    await symlink('made', join(volumePath, 'inside'));
    assert.deepEqual(await readdir(await volumes.subPath(pod, 'inside/here', use(2))), ['file']);
    await symlink(directory, join(volumePath, 'out'));
    await assert.rejects(volumes.subPath(pod, 'out', use(3)), /not within volume path/);
    await assert.rejects(volumes.subPath(pod, 'out/new', use(3)), /not within volume path/);
    await assert.rejects(stat(join(directory, 'new')), { code: 'ENOENT' });
    await assert.rejects(volumes.subPath(pod, '../x', use(3)), /must be a relative path inside the volume/);
  } finally {
    await volumes.unmountAll('u');
  }
  assert.equal(await readFile(join(volumePath, 'made/here/file'), 'utf8'), 'x');
  assert.deepEqual(await readdir(join(root, 'pods/u')), []);
});

it('gives what lies in a local volume to the group of its Pod', needs('root'), async () => {
  const path = join(directory, 'local');
  await mkdir(path, { mode: 0o755 });
  await writeFile(join(path, 'file'), 'x', { mode: 0o600 });
  const volumes = new LinuxVolumes(join(directory, 'root'), systemClock);
  const pod = { metadata: { uid: 'u' }, spec: { containers: [] } };
  assert.equal(await volumes.mount(pod, { kind: 'local', name: 'data', path, fsGroup: 4000 }), path);
  const [folder, file] = [await stat(path), await stat(join(path, 'file'))];
  assert.deepEqual([folder.gid, folder.mode & 0o7777, file.gid, file.mode & 0o777], [4000, 0o2775, 4000, 0o660]);
  const disk = { kind: 'block', name: 'disk', volume: 'pv-1' } as const;
  await assert.rejects(volumes.mount(pod, { ...disk, path }), /is not a block device/);
});

it(
  'holds a disk for each Pod that has it, and lets go of it with the Pod',
  needs('root', 'losetup', '/dev/loop-control'),
  async (test) => {
    const image = join(directory, 'disk.img');
    await writeFile(image, Buffer.alloc(1024 * 1024));
    const device = execFileSync('losetup', ['-f', '--show', image], { encoding: 'utf8' }).trim();
    test.after(() => execFileSync('losetup', ['-d', device]));
    const root = join(directory, 'with-disks');
    const volumes = new LinuxVolumes(root, systemClock);
    const held = join(root, 'plugins/kubernetes.io/local-volume/volumeDevices/pv-1');
    test.after(() => Promise.all(['u', 'v'].map((uid) => volumes.unmountAll(uid))));
    const locks = (name: string) => {
      const all = execFileSync('losetup', ['-a'], { encoding: 'utf8' }).split('\n');
      return all.filter((line) => line.includes(`(${join(held, name)})`)).length;
    };
    for (const uid of ['u', 'v']) {
      const pod = { metadata: { uid }, spec: { containers: [] } };
      const mount = () => volumes.mount(pod, { kind: 'block', name: 'disk', volume: 'pv-1', path: device });
      const link = await mount();
      assert.equal(await mount(), link);
      assert.equal(link, join(root, 'pods', uid, 'volumeDevices/kubernetes.io~local-volume/pv-1'));
      assert.equal(await readlink(link), device);
      assert.ok((await stat(join(held, uid))).isBlockDevice());
      assert.equal(locks(uid), 1, 'a second look holds it no second time');
    }
    await volumes.unmountAll('u');
    assert.deepEqual(await readdir(held), ['v']);
    assert.deepEqual([locks('u'), locks('v')], [0, 1]);
    await volumes.unmountAll('v');
    await assert.rejects(stat(held), { code: 'ENOENT' });
    await volumes.unmountAll('v');
  },
);

describe('logs', () => {
  const line = (n: number, stream = 'stdout', tag = 'F') =>
    `2026-01-01T00:00:${String(n).padStart(2, '0')}.000000000Z ${stream} ${tag} line ${n}\n`;
  const logs = new LinuxLogs(systemClock);
  const read = async (
    options: Parameters<typeof printLog>[1] & { tail?: number } = {},
    follow = false,
    isRunning = async () => false,
  ) => {
    let text = '';
    const records = logs.read(join(directory, '0.log'), { tail: options.tailLines, follow, isRunning });
    for await (const bytes of printLog(records, options, Date.UTC(2026, 0, 1, 0, 0, 10)))
      text += Buffer.from(bytes).toString();
    return text;
  };
  beforeEach(() => writeFile(join(directory, '0.log'), [line(1), line(2, 'stderr'), line(3)].join('')));

  it('are chosen by number, time, stream and size', async () => {
    assert.equal(await read(), 'line 1\nline 2\nline 3\n');
    assert.equal(await read({ tailLines: 1 }), 'line 3\n');
    assert.equal(await read({ tailLines: 0 }), '');
    assert.equal(await read({ tailLines: 99 }), 'line 1\nline 2\nline 3\n');
    assert.equal(await read({ sinceTime: '2026-01-01T00:00:02Z' }), 'line 2\nline 3\n');
    assert.equal(await read({ sinceSeconds: 7 }), 'line 3\n');
    assert.equal(await read({ stream: 'Stderr' }), 'line 2\n');
    assert.equal(await read({ limitBytes: 8 }), 'line 1\nl');
    assert.equal(await read({ timestamps: true, tailLines: 1 }), '2026-01-01T00:00:03.000000000Z line 3\n');
  });

  it('join the parts of a long line', async () => {
    await writeFile(
      join(directory, '0.log'),
      `${line(1, 'stdout', 'P').replace('line 1', 'long ')}${line(2).replace('line 2', 'line')}`,
    );
    assert.equal(await read({ timestamps: true }), '2026-01-01T00:00:01.000000000Z long line\n');
  });

  it('are followed until the container ends, across rotation', async () => {
    let isRunning = true;
    const path = join(directory, '0.log');
    const following = read({}, true, async () => isRunning);
    await appendFile(path, line(4));
    const reopen = () => writeFile(path, line(5));
    await logs.rotate(path, { maxBytes: 10, maxFiles: 3, nowMs: Date.UTC(2026, 0, 1), reopen });
    await appendFile(path, line(6));
    isRunning = false;
    assert.equal(await following, 'line 1\nline 2\nline 3\nline 4\nline 5\nline 6\n');
  });

  it('are rotated by size, a few kept, older ones compressed', async () => {
    const path = join(directory, '0.log');
    for (let second = 0; second < 5; second++) {
      await writeFile(path, line(second));
      await logs.rotate(path, {
        maxBytes: 10,
        maxFiles: 3,
        nowMs: Date.UTC(2026, 0, 1, 0, 0, second),
        reopen: async () => {},
      });
    }
    const names = (await readdir(directory)).sort();
    assert.deepEqual(names, ['0.log.20260101-000003.gz', '0.log.20260101-000004']);
    await writeFile(path, 'small');
    await logs.rotate(path, { maxBytes: 10, maxFiles: 3, nowMs: 0, reopen: () => assert.fail('must not rotate') });
  });
});
