/** Ranges of ids: one a Pod, never the node's own, the same after a restart. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import type { StateFolder } from './host/host.ts';
import { UserNamespaces } from './user-namespaces.ts';

function memoryState(files = new Map<string, string>()) {
  const state: StateFolder = {
    read: async (name) => files.get(name),
    write: async (name, text) => void files.set(name, text),
    names: async () => [...new Set([...files.keys()].map((name) => name.split('/')[1]!))],
    remove: async (name) => void files.delete(name),
  };
  return { files, state };
}

const settings = { idsPerPod: 65_536, maxPods: 3 };

it('gives each Pod a range of its own, above those of the node, and the same each time', async () => {
  const { files, state } = memoryState();
  const namespaces = new UserNamespaces({ state, ...settings });
  assert.deepEqual(await namespaces.of('a'), { hostId: 65_536, containerId: 0, length: 65_536 });
  assert.equal((await namespaces.of('b')).hostId, 131_072);
  assert.equal((await namespaces.of('a')).hostId, 65_536);
  await namespaces.release('b');
  assert.ok(!files.has('pods/b/userns'));
  assert.equal((await namespaces.of('c')).hostId, 131_072);
});

it('gives what the machine keeps for it, where that is enough for all Pods', async () => {
  const range = { firstId: 655_360, length: 3 * 65_536 };
  const { state } = memoryState();
  const namespaces = new UserNamespaces({ state, ...settings, range });
  const ids = [];
  for (const pod of ['a', 'b', 'c']) ids.push((await namespaces.of(pod)).hostId);
  assert.deepEqual(ids, [655_360, 720_896, 786_432]);
  await assert.rejects(namespaces.of('d'), /could not find an empty slot/);
  for (const [wrong, problem] of [
    [{ firstId: 100_000 }, 'kubelet user assigned ID 100000 is not a multiple of 65536'],
    [{ firstId: 0 }, 'kubelet user assigned ID 0 must be greater or equal to 65536'],
    [{ length: 100_000 }, 'kubelet user assigned IDs length 100000 is not a multiple of 65536'],
    [{ length: 2 * 65_536 }, 'kubelet user assigned IDs are not enough to support 3 pods'],
  ] as const)
    assert.throws(() => new UserNamespaces({ state, ...settings, range: { ...range, ...wrong } }), {
      message: `create user namespace manager: ${problem}`,
    });
});

it('is remembered in the folders of the Pods, in the form that upstream has', async () => {
  const { files, state } = memoryState();
  await new UserNamespaces({ state, ...settings }).of('a');
  const mapping = { hostId: 65_536, containerId: 0, length: 65_536 };
  assert.deepEqual(JSON.parse(files.get('pods/a/userns')!), { uidMappings: [mapping], gidMappings: [mapping] });
  const next = new UserNamespaces({ state, ...settings });
  await next.restore();
  assert.equal((await next.of('b')).hostId, 131_072);
  assert.equal((await next.of('a')).hostId, 65_536);
  await next.retain((uid) => uid === 'b');
  assert.deepEqual([...files.keys()], ['pods/b/userns']);
});

it('refuses a file that it has not written', async () => {
  const mapping = { hostId: 65_536, containerId: 0, length: 65_536 };
  const both = (one: object) => JSON.stringify({ uidMappings: [one], gidMappings: [one] });
  for (const [text, problem] of [
    ['nonsense', 'invalid user namespace mappings file'],
    [JSON.stringify({ uidMappings: [mapping, mapping], gidMappings: [] }), 'no more than one mapping allowed.'],
    [
      JSON.stringify({ uidMappings: [mapping], gidMappings: [{ ...mapping, hostId: 1 }] }),
      'GID and UID mapping should be identical',
    ],
    [both({ ...mapping, containerId: 1 }), 'UID 0 must be mapped'],
    [both({ ...mapping, length: 1 }), 'wrong user namespace length 1'],
    [both({ ...mapping, hostId: 65_537 }), 'wrong user namespace offset specified 65537'],
    [both({ ...mapping, hostId: 0 }), 'id 0 is out of range'],
  ] as const) {
    const { state } = memoryState(new Map([['pods/a/userns', text]]));
    await assert.rejects(
      new UserNamespaces({ state, ...settings }).of('a'),
      (error: Error) => error.message.startsWith('user namespace: ') && error.message.endsWith(problem),
    );
  }
});

it('never gives two Pods the same ids, whatever comes and goes at a time', async () => {
  const step = fc.record({ pod: fc.integer({ min: 0, max: 5 }), comes: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const namespaces = new UserNamespaces({ state: memoryState().state, idsPerPod: 65_536, maxPods: 6 });
      const held = new Map<number, Promise<number>>();
      for (const { pod, comes } of steps) {
        if (comes)
          held.set(
            pod,
            namespaces.of(`${pod}`).then(({ hostId }) => hostId),
          );
        else {
          await held.get(pod);
          held.delete(pod);
          await namespaces.release(`${pod}`);
        }
      }
      const ids = await Promise.all(held.values());
      assert.equal(new Set(ids).size, ids.length);
    }),
  );
});
