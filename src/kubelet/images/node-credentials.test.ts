/** Which files give the node's own credentials, and for how long what they said counts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { NodeCredentials } from './node-credentials.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const json = (auths: object) => JSON.stringify({ auths });

function setUp(files: Record<string, string>) {
  const clock = new FakeClock();
  const read: string[] = [];
  const credentials = new NodeCredentials({
    clock,
    log: silentLog,
    files: {
      configJson: ['/kubelet/config.json', '/home/.docker/config.json'],
      dockercfg: ['/kubelet/.dockercfg', '/home/.dockercfg'],
      read: async (path) => {
        read.push(path);
        return files[path];
      },
    },
  });
  const lookup = async (image: string) =>
    (await credentials.lookup(image)).map(({ credentials: { username, password }, source }) => {
      assert.equal(source, undefined);
      return `${username}:${password}`;
    });
  return { clock, read, lookup };
}

describe('credentials of the node itself', () => {
  it('are those of the first file that can be read, in the newer form before the older', async () => {
    const files: Record<string, string> = {
      '/kubelet/config.json': '{"auths":',
      '/home/.docker/config.json': json({ 'https://registry.test/v1/': { auth: base64('robot:a:b') } }),
      '/kubelet/.dockercfg': JSON.stringify({ 'other.test': { username: 'u', password: 'p' } }),
    };
    assert.deepEqual(await setUp(files).lookup('registry.test/app:1'), ['robot:a:b']);
    assert.deepEqual(await setUp(files).lookup('other.test/app'), []);
    delete files['/home/.docker/config.json'];
    const old = setUp(files);
    assert.deepEqual(await old.lookup('other.test/app'), ['u:p']);
    assert.deepEqual(old.read, ['/kubelet/config.json', '/home/.docker/config.json', '/kubelet/.dockercfg']);
  });

  it('of a file with an entry that makes no sense are none at all', async () => {
    const wrong = { 'a.test': { username: 'u', password: 'p' }, 'b.test': { auth: base64('no colon') } };
    const { lookup } = setUp({ '/kubelet/config.json': json(wrong) });
    assert.deepEqual(await lookup('a.test/app'), []);
  });

  it('follow what `auth` says where a name stands beside it', async () => {
    const both = { 'a.test': { username: 'old', password: 'old', auth: base64('new:one') } };
    assert.deepEqual(await setUp({ '/kubelet/config.json': json(both) }).lookup('a.test/app'), ['new:one']);
  });

  it('are read anew after five minutes', async () => {
    const files = { '/kubelet/config.json': json({ 'a.test': { username: 'u', password: '1' } }) };
    const { clock, lookup } = setUp(files);
    assert.deepEqual(await lookup('a.test/app'), ['u:1']);
    files['/kubelet/config.json'] = json({ 'a.test': { username: 'u', password: '2' } });
    await clock.advance(299_000);
    assert.deepEqual(await lookup('a.test/app'), ['u:1']);
    await clock.advance(1000);
    assert.deepEqual(await lookup('a.test/app'), ['u:2']);
  });
});
