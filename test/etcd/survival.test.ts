/** Three API servers on three members of etcd: any one of the six is killed, and the cluster goes on with all that it has acknowledged. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigMap, configMaps } from '../../src/api/gen/core-v1.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Client } from '../../src/client/index.ts';
import { informerSet } from '../../src/reconcile/informer-set.ts';
import { laterEtcd, startEtcd } from '../../src/storage/etcd/process.fixture.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { needs } from '../../src/testing/needs.ts';
import { startServers } from './servers.fixture.ts';

const namespace = 'default';
const selection = { namespace, labelSelector: 'survival' };

test('each member and each server is killed under load: nothing acknowledged is lost, and informers miss nothing', {
  ...needs('etcd', laterEtcd),
}, async (t) => {
  // Of both kinds: a watch goes from one to the other.
  const binary = ['etcd', laterEtcd, laterEtcd];
  const etcd = await startEtcd({ members: 3, binary });
  t.after(() => etcd.stop());
  const servers = await startServers({ count: 3, endpoints: etcd.endpoints });
  t.after(() => servers.stop());
  const stopping = new AbortController();
  const { signal } = stopping;
  t.after(() => stopping.abort());
  const [writing, watching] = [servers.connect(), servers.connect()];
  const { client } = writing;
  const context = { clock: systemClock, random: systemRandom, log: silentLog, signal };
  const informer = informerSet({ client: watching.client, ...context }).of(configMaps, selection);
  await informer.whenSynced();
  const acknowledged = new Set<string>();
  const done = new AbortController();
  const writers = [0, 1, 2, 3].map((writer) => writeUntil(done.signal, client, { writer, acknowledged }));
  for (const part of [...etcd.members, ...servers.all]) {
    await untilMore(acknowledged, 10);
    await part.signal('SIGKILL');
    await untilMore(acknowledged, 20);
    await part.start();
  }
  done.abort();
  await Promise.all(writers);
  for (const server of servers.all) {
    const { items } = await server.client.list(configMaps, selection);
    const names = new Set(items.map(({ metadata }) => metadata.name ?? ''));
    assert.deepEqual(
      [...acknowledged].filter((name) => !names.has(name)),
      [],
    );
    await eventually(() => assert.deepEqual(versions(informer.list()), versions(items)));
  }
});

interface Writer {
  readonly writer: number;
  readonly acknowledged: Set<string>;
}

/** An attempt that failed may have been carried out all the same: its name is not used again. */
async function writeUntil(signal: AbortSignal, client: Client, { writer, acknowledged }: Writer): Promise<void> {
  for (let i = 0; !signal.aborted; i++) {
    const name = `w${writer}-${i}`;
    const metadata = { name, namespace, labels: { survival: '' } };
    await client.create(configMaps, { metadata }).then(
      () => acknowledged.add(name),
      () => pause(),
    );
  }
}

function versions(objects: readonly ConfigMap[]): readonly string[] {
  return objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).sort();
}

function untilMore(acknowledged: ReadonlySet<string>, count: number): Promise<void> {
  const wanted = acknowledged.size + count;
  return eventually(() => assert.ok(acknowledged.size >= wanted, 'no write is acknowledged any more'));
}

function pause(): Promise<void> {
  return new Promise((resolve) => systemClock.after(20, resolve));
}
