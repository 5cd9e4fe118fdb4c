import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mountsBelow } from './node-teardown.ts';

const mountInfo = `22 1 8:1 / / rw - ext4 /dev/sda1 rw
40 22 0:30 / /data/node/kubelet/pods/u/volumes/secret rw - tmpfs tmpfs rw
41 22 0:31 / /data/with\\040space rw - tmpfs tmpfs rw
42 22 0:32 / /database rw - tmpfs tmpfs rw
43 40 0:33 / /data/node/kubelet/pods/u/volumes/secret/inner rw - tmpfs tmpfs rw
`;

test('mounts below a folder are found innermost first, and none that only begins alike', () => {
  assert.deepEqual(mountsBelow(['/data'], mountInfo), [
    '/data/node/kubelet/pods/u/volumes/secret/inner',
    '/data/with space',
    '/data/node/kubelet/pods/u/volumes/secret',
  ]);
});
