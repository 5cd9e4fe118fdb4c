/** What of the machine's ids is kept for the kubelet's Pods. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type RunProgram, subordinateIds } from './subordinate-ids.ts';

const users = async () => 'root:x:0:0::/root:/bin/sh\nkubelet:x:900:900::/:/bin/false\n';
/** Of a machine without `getent`. */
const told =
  (uids: string | undefined, gids = uids): RunProgram =>
  async (program, [first]) =>
    program === 'getent' ? undefined : first === '-g' ? gids : uids;
/** Of one where nothing but `getent` knows the users, which ends so. */
const looked =
  (code?: number): RunProgram =>
  async (program) => {
    if (program !== 'getent') return '0: kubelet 1 2\n';
    if (code !== undefined) throw Object.assign(new Error(`exit status ${code}`), { code });
    return 'kubelet:x:900:900::/:/bin/false\n';
  };
const noUsers = async () => '';

it('is the one range of the user of that name', async () => {
  assert.deepEqual(await subordinateIds(told('0: kubelet 65536 7208960\n'), users), {
    firstId: 65_536,
    length: 7_208_960,
  });
});

it('is nothing without that user, or without the program that knows', async () => {
  assert.equal(
    await subordinateIds(told('0: kubelet 65536 65536\n'), async () => 'kubelets:x:1:1::/:/bin/sh'),
    undefined,
  );
  assert.equal(await subordinateIds(told(undefined), users), undefined);
  assert.equal(await subordinateIds(looked(2), users), undefined);
});

it('is that of a user who is not in the file of the machine', async () => {
  assert.deepEqual(await subordinateIds(looked(), noUsers), { firstId: 1, length: 2 });
});

it('is refused where nobody can tell whether there is that user', async () => {
  await assert.rejects(subordinateIds(looked(1), users), {
    message: 'error looking up user "kubelet": exit status 1',
  });
  const unreadable = () => Promise.reject(new Error('EIO'));
  await assert.rejects(subordinateIds(told('0: kubelet 1 2\n'), unreadable), {
    message: 'error looking up user "kubelet": EIO',
  });
});

it('is refused where it cannot be one range', async () => {
  const failing: RunProgram = async (program) => {
    if (program === 'getent') return undefined;
    throw new Error('exit status 1');
  };
  for (const [run, message] of [
    [failing, 'error retrieving additional uids for user "kubelet"'],
    [told('0: kubelet 1 2\n', '0: kubelet 3 4\n'), 'mismatched subuids and subgids for user "kubelet"'],
    [told('0: a 1 2\n1: a 3 4\n'), 'error parsing line "0: a 1 2\\n1: a 3 4\\n": it must contain only one line'],
    [told('0: kubelet 1\n'), 'invalid line "0: kubelet 1\\n"'],
    [told('0: kubelet x 1\n'), 'error parsing line "0: kubelet x 1\\n"'],
  ] as const)
    await assert.rejects(subordinateIds(run, users), { message });
});
