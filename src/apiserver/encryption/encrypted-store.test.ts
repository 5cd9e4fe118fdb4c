import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../base/random.ts';
import { memoryStore } from '../../storage/memory/memory-store.ts';
import { describeStore } from '../../storage/store.contract.ts';
import type { Entry, Store, StoreEvent } from '../../storage/store.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { EncryptedStore } from './encrypted-store.ts';
import { Encryption } from './encryption.ts';
import { type CipherName, identityProvider, keyedProvider, type Provider } from './provider.ts';

const random = seededRandom(1);
const secret = (fill: number) => new Uint8Array(32).fill(fill);
const provider = (name: CipherName, ...keys: number[]) =>
  keyedProvider(
    name,
    keys.map((key) => ({ name: `key${key}`, secret: secret(key) })),
    random,
  );

/** Answers a turn later, as one that has to ask a service. */
function slow(inner: Provider): Provider {
  return {
    prefix: inner.prefix,
    writer: inner.writer,
    encrypt: async (plain, place) => inner.encrypt(plain, place),
    decrypt: async (stored, place) => inner.decrypt(stored, place),
  };
}

/** The bytes of a store as text, for the contract. */
function textStore(store: Store<Uint8Array>): Store<string> {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
  const entry = (found: Entry<Uint8Array>): Entry<string> => ({ ...found, value: text(found.value) });
  const event = (change: StoreEvent<Uint8Array>): StoreEvent<string> => ({
    ...change,
    value: change.value && text(change.value),
    previous: change.previous && entry(change.previous),
  });
  const committed = (result: Awaited<ReturnType<Store<Uint8Array>['put']>>) =>
    result.ok
      ? { ...result, previous: result.previous && entry(result.previous) }
      : { ...result, current: result.current && entry(result.current) };
  return {
    get revision() {
      return store.revision;
    },
    get compactedRevision() {
      return store.compactedRevision;
    },
    get: async (key, options) => {
      const found = await store.get(key, options);
      return found && entry(found);
    },
    range: async (options) => {
      const result = await store.range(options);
      return { ...result, entries: result.entries.map(entry) };
    },
    put: async (key, value, options) => committed(await store.put(key, Buffer.from(value), options)),
    remove: async (key, options) => committed(await store.remove(key, options)),
    watch: (options, watcher) =>
      store.watch(options, {
        onEvents: (events) => watcher.onEvents(events.map(event)),
        onProgress: (revision) => watcher.onProgress?.(revision),
        onError: (error) => watcher.onError(error),
      }),
    compact: (revision) => store.compact(revision),
    size: () => store.size(),
    close: () => store.close(),
  };
}

function encrypted(providers: () => readonly Provider[], inner = memoryStore<Uint8Array>({ clock: new FakeClock() })) {
  const current = () => new Encryption([{ resource: 'secrets', providers: providers() }]).of('secrets');
  return { inner, store: new EncryptedStore(inner, { encryptionOf: current }) };
}

describeStore(
  'an encrypted store',
  async (clock) => {
    const inner = memoryStore<Uint8Array>({ clock });
    const encryption = new Encryption([{ resource: 'secrets', providers: [provider('aesgcm', 1)] }]).of('secrets');
    return textStore(new EncryptedStore(inner, { encryptionOf: () => encryption }));
  },
  { modelRuns: 30 },
);

const text = (entry: Entry<Uint8Array> | undefined) => entry && Buffer.from(entry.value).toString();

for (const name of ['aesgcm', 'aescbc', 'secretbox'] as const) {
  test(`${name}: what lies in the store tells provider and key, and nothing else`, async () => {
    const { inner, store } = encrypted(() => [provider(name, 1)]);
    await store.put('/registry/secrets/a/b', Buffer.from('open sesame'));
    const stored = Buffer.from((await inner.get('/registry/secrets/a/b'))!.value).toString('latin1');
    assert.ok(stored.startsWith(`k8s:enc:${name}:v1:key1:`));
    assert.ok(!stored.includes('sesame'));
    assert.equal(text(await store.get('/registry/secrets/a/b')), 'open sesame');
  });
}

test('a value is stale once another key or provider would write it, until it is written anew', async () => {
  const key = '/registry/secrets/a/b';
  let providers: Provider[] = [identityProvider];
  const { store, inner } = encrypted(() => providers);
  const read = async () => {
    // A second store over the same data: nothing is remembered of what was written.
    const fresh = encrypted(() => providers, inner).store;
    return [text(await fresh.get(key)), fresh.isStale(key)];
  };
  await store.put(key, Buffer.from('v'));
  assert.deepEqual(await read(), ['v', false]);
  providers = [provider('aescbc', 1), identityProvider];
  assert.deepEqual(await read(), ['v', true]);
  await store.put(key, Buffer.from('v'));
  assert.deepEqual(await read(), ['v', false]);
  providers = [provider('aescbc', 2, 1)];
  assert.deepEqual(await read(), ['v', true]);
  providers = [provider('secretbox', 1), provider('aescbc', 1)];
  assert.deepEqual(await read(), ['v', true]);
});

test('a value that was put elsewhere, changed, or is under an unknown key is not read', async () => {
  const { store, inner } = encrypted(() => [provider('aesgcm', 1)]);
  await store.put('/registry/secrets/a/b', Buffer.from('v'));
  const stored = (await inner.get('/registry/secrets/a/b'))!.value;
  await inner.put('/registry/secrets/a/c', stored);
  await assert.rejects(store.get('/registry/secrets/a/c'), {
    message: 'unable to transform key "/registry/secrets/a/c": cipher: message authentication failed',
  });
  const changed = Buffer.from(stored);
  changed[changed.length - 1]! ^= 1;
  await inner.put('/registry/secrets/a/b', changed);
  await assert.rejects(store.get('/registry/secrets/a/b'), /cipher: message authentication failed/);
  const other = encrypted(() => [provider('aesgcm', 2)], inner).store;
  await assert.rejects(
    other.get('/registry/secrets/a/c'),
    /no matching key was found for the provided AES transformer/,
  );
  const none = encrypted(() => [provider('secretbox', 1)], inner).store;
  await assert.rejects(none.range({ start: '/', end: '0' }), /no matching prefix found/);
  const open = encrypted(() => [identityProvider], inner).store;
  await assert.rejects(open.get('/registry/secrets/a/c'), /identity transformer tried to read encrypted data/);
});

test('a watch keeps its order although providers differ in speed, and ends with the value that cannot be read', async () => {
  const fast = provider('aesgcm', 1);
  const late = slow(provider('secretbox', 1));
  const inner = memoryStore<Uint8Array>({ clock: new FakeClock() });
  const written = [late, fast, fast, late, fast];
  for (const [i, by] of written.entries()) {
    const key = `/registry/secrets/a/${i}`;
    await encrypted(() => [by], inner).store.put(key, Buffer.from(String(i)));
  }
  const { store } = encrypted(() => [fast, late], inner);
  const seen: string[] = [];
  const ended = new Promise<Error>((resolve) => {
    store.watch(
      { start: '/', end: '0', afterRevision: 1 },
      {
        onEvents: (events) => seen.push(...events.map(({ value }) => Buffer.from(value!).toString())),
        onError: resolve,
      },
    );
  });
  while (seen.length < 5) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(seen, ['0', '1', '2', '3', '4']);
  await inner.put('/registry/secrets/a/x', Buffer.from('in the clear'));
  assert.match(
    (await ended).message,
    /^unable to transform key "\/registry\/secrets\/a\/x": no matching prefix found$/,
  );
});
