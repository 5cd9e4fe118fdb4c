/** Three members of a real etcd, of which one is always ill: nothing acknowledged is lost, nothing watched is missed. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { createCertificateAuthority, issueCertificate } from '../../src/pki/authority.ts';
import { systemKeys } from '../../src/pki/keys.ts';
import { bufferCodec } from '../../src/storage/codec.ts';
import { Compactor, type EtcdStore, type EtcdStoreOptions, openEtcdStore } from '../../src/storage/etcd/index.ts';
import { type EtcdOptions, laterEtcd, startEtcd } from '../../src/storage/etcd/process.fixture.ts';
import { BackendError, CompactedError, type Entry } from '../../src/storage/store.ts';
import { recordWatch, type WatchRecord } from '../../src/storage/watch-recorder.fixture.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { needs } from '../../src/testing/needs.ts';

const everything = { start: '/', end: '0' };

async function started(t: TestContext, options: EtcdOptions, store: Partial<EtcdStoreOptions<Buffer>> = {}) {
  const etcd = await startEtcd(options);
  const { endpoints } = etcd;
  const open = (more: Partial<EtcdStoreOptions<Buffer>> = {}) =>
    openEtcdStore({ endpoints, codec: bufferCodec, clock: systemClock, ...store, ...more });
  const opened = await open();
  t.after(async () => {
    await opened.close();
    await etcd.stop();
  });
  return { etcd, store: opened, open };
}

describe('a store on three members', needs('etcd'), () => {
  const releases = [
    { name: 'old ones', binary: 'etcd', parts: [] },
    { name: 'such as tell their progress', binary: laterEtcd, parts: [laterEtcd] },
    { name: 'both kinds', binary: ['etcd', laterEtcd, laterEtcd], parts: [laterEtcd] },
  ] as const;
  for (const { name, binary, parts } of releases)
    test(
      `each is killed and comes back under writes and watches, ${name}: no acknowledged write lost, no event missed or twice`,
      needs(...parts),
      async (t) => {
        const { etcd, store, open } = await started(t, { members: 3, binary });
        const other = await open();
        t.after(() => other.close());
        const watch = recordWatch(store, { ...everything, afterRevision: 1 });
        const acknowledged = new Map<string, number>();
        const stopping = new AbortController();
        const unclear = new Set<string>();
        const write = async (writer: number) => {
          // What others keep in the same etcd takes revisions too.
          const ofStrangers = writer === 0;
          for (let i = 0; !stopping.signal.aborted; i++) {
            const key = ofStrangers ? `strangers/${i}` : `/${writer}/${i}`;
            try {
              const result = await other.put(key, Buffer.from(key), { expected: 0 });
              if (result.ok && !ofStrangers) acknowledged.set(key, result.revision);
            } catch (error) {
              assert.ok(error instanceof BackendError, String(error));
              unclear.add(key);
            }
          }
        };
        const work = [...[0, 1, 2, 3].map(write), readFromWatch(stopping.signal, { store, watch })];
        for (const member of etcd.members) {
          await untilMore(acknowledged, 30);
          await member.signal('SIGKILL');
          await untilMore(acknowledged, 30);
          await member.start();
        }
        stopping.abort();
        await Promise.all(work);
        await watch.untilProgress(await store.currentRevision());
        const { entries } = await store.range(everything);
        const kept = new Map(entries.map((entry) => [entry.key, entry.revision]));
        for (const [key, written] of acknowledged) assert.equal(kept.get(key), written, `${key} was acknowledged`);
        for (const key of kept.keys()) assert.ok(acknowledged.has(key) || unclear.has(key), `${key} was never written`);
        assertComplete(watch, entries);
      },
    );

  test('a frozen member is left for another, and its watches go on there', async (t) => {
    const { etcd, store } = await started(
      t,
      { members: 3, flags: ['--grpc-keepalive-min-time', '100ms'] },
      { requestTimeoutMs: 1000, keepaliveMs: 500 },
    );
    const watch = recordWatch(store, { ...everything, afterRevision: 1 });
    await store.put('/a', Buffer.from('1'));
    await etcd.members[0]!.signal('SIGSTOP');
    // Calls may wait in vain for the frozen one, and for another leader; whether they were carried out is not known.
    await store.put('/b', Buffer.from('2')).catch((error) => assert.ok(error instanceof BackendError));
    await eventually(() => store.put('/c', Buffer.from('3')));
    const { entries } = await eventually(() => store.range(everything));
    await watch.untilEvents(entries.length);
    await etcd.members[0]!.signal('SIGCONT');
  });

  test('without a majority writes and reads fail in time and in etcd’s words, and go on when it is back', async (t) => {
    const { etcd, store } = await started(t, { members: 3 }, { requestTimeoutMs: 1500 });
    await store.put('/a', Buffer.from('1'));
    await Promise.all([etcd.members[1]!.signal('SIGKILL'), etcd.members[2]!.signal('SIGKILL')]);
    await assert.rejects(store.put('/a', Buffer.from('2')), BackendError);
    await assert.rejects(store.get('/a'), BackendError);
    await assert.rejects(store.probe(500), BackendError);
    await Promise.all([etcd.members[1]!.start(), etcd.members[2]!.start()]);
    await eventually(() => store.probe(500));
    assert.equal((await store.put('/b', Buffer.from('3'))).ok, true);
  });
});

describe('what etcd refuses', needs('etcd'), () => {
  test('a request that is too large, in its own words', async (t) => {
    const { store } = await started(t, { flags: ['--max-request-bytes', '10000'] });
    await assert.rejects(store.put('/a', Buffer.alloc(20_000)), { message: 'etcdserver: request is too large' });
    assert.equal((await store.put('/a', Buffer.alloc(1000))).ok, true);
  });

  test('writes to a database that is full, while reads go on', async (t) => {
    const { store } = await started(t, { flags: ['--quota-backend-bytes', '1000000'] });
    const fill = async () => {
      for (let i = 0; i < 1000; i++) await store.put(`/${i}`, Buffer.alloc(100_000));
    };
    await assert.rejects(fill(), { message: 'etcdserver: mvcc: database space exceeded' });
    assert.equal((await store.get('/0'))?.value.length, 100_000);
  });

  test('clients without a certificate, where it asks for one', async (t) => {
    const sources = { clock: systemClock, random: systemRandom, keys: systemKeys };
    const authority = createCertificateAuthority({ commonName: 'etcd-ca' }, sources);
    const server = issueCertificate(authority, {
      commonName: 'etcd',
      usages: ['server auth', 'client auth'],
      ipAddresses: ['127.0.0.1'],
    });
    const { certificatePem, keyPem } = issueCertificate(authority, {
      commonName: 'kube-apiserver',
      usages: ['client auth'],
    });
    const folder = mkdtempSync(join(tmpdir(), 'coracle-etcd-tls-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const flags = [
      ...['--cert-file', file('tls.crt', server.certificatePem), '--key-file', file('tls.key', server.keyPem)],
      ...['--client-cert-auth', '--trusted-ca-file', file('ca.crt', authority.certificatePem)],
    ];
    const caPem = authority.certificatePem;
    const { open } = await started(t, { scheme: 'https', flags }, { tls: { caPem, certificatePem, keyPem } });
    const strangers = [{ caPem }, {}, { caPem, certificatePem: server.certificatePem.replace(/A/g, 'B'), keyPem }];
    for (const tls of strangers) await assert.rejects(async () => open({ tls, requestTimeoutMs: 500 }));
  });
});

describe('compaction of etcd', needs('etcd'), () => {
  test('several servers take turns: what is older than an interval is forgotten once', async (t) => {
    const { store, open } = await started(t, {});
    const other = await open();
    t.after(() => other.close());
    const clock = new FakeClock();
    const compactors = [store, other].map(
      (each) => new Compactor({ store: each, clock, log: silentLog, intervalMs: 300_000 }),
    );
    t.after(() => {
      for (const compactor of compactors) compactor.close();
    });
    const rounds: number[] = [];
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 5; i++) await store.put('/a', Buffer.from(`${round}/${i}`));
      rounds.push(store.revision);
      const before = (await store.get('compact_rev_key'))?.value.toString();
      await clock.advance(300_000);
      await eventually(async () => assert.notEqual((await store.get('compact_rev_key'))?.value.toString(), before));
    }
    await eventually(() => assert.rejects(other.get('/a', { revision: rounds[0]! - 1 }), CompactedError));
    assert.equal((await other.get('/a', { revision: rounds[3]! }))?.value.toString(), '3/4');
  });
});

/** Time and again: what the watch has told when it is as far as etcd was is what etcd had then. What nobody needs any more is compacted. */
async function readFromWatch(
  signal: AbortSignal,
  { store, watch }: { readonly store: EtcdStore<Buffer>; readonly watch: WatchRecord<Buffer> },
): Promise<void> {
  while (!signal.aborted) {
    try {
      const revision = await store.currentRevision();
      await watch.untilProgress(revision);
      assertComplete(watch, (await store.range({ ...everything, revision })).entries, revision);
      await store.compact(revision - 1);
    } catch (error) {
      assert.ok(error instanceof BackendError, String(error));
    }
  }
}

/** Nothing but creations has happened up to `revision`, and each was told once and in order. */
function assertComplete(watch: WatchRecord<Buffer>, entries: readonly Entry<Buffer>[], revision = Infinity): void {
  assert.deepEqual(
    watch.events.map((event) => event.revision).filter((each) => each <= revision),
    entries.map((entry) => entry.revision).sort((a, b) => a - b),
  );
}

async function untilMore(acknowledged: ReadonlyMap<string, number>, count: number): Promise<void> {
  const wanted = acknowledged.size + count;
  await eventually(() => assert.ok(acknowledged.size >= wanted, 'no write is acknowledged any more'));
}
