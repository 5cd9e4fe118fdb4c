/** The example of a custom resource as its reader runs it: real kubectl applies the files to a control plane of the test's own, the controller does the rest. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { configMaps } from 'coracle/api/core-v1';
import { componentContext, silentLog, systemClock, systemRandom } from 'coracle/reconcile';
import { startControlPlane } from 'coracle/testing';
import { fleets, runFleetController } from '../../examples/04-custom-resource/controller.ts';
import { kubectlReleases } from '../../src/testing/kubectl.ts';
import { needs } from '../../src/testing/needs.ts';
import { when, whenAll, whenGone } from '../conformance/cluster.ts';

const example = resolve(import.meta.dirname, '../../examples/04-custom-resource');
const newest = kubectlReleases().at(-1);

test('a fleet has the boats that it asks for', needs('kubectl'), async () => {
  await using cluster = await startControlPlane();
  const { client } = cluster;
  const folder = mkdtempSync(join(tmpdir(), 'coracle-fleet-'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
  const kubectl = async (...words: string[]): Promise<string> => {
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder };
    return (await promisify(execFile)(newest!.path, words, { env, cwd: example })).stdout;
  };
  const stop = new AbortController();
  const at = { namespace: 'default', name: 'herring' };
  const afloat = (count: number) =>
    when(client, fleets, at, (fleet) => fleet?.status?.boats === count && fleet.status.phase === 'Afloat');
  try {
    await kubectl('apply', '-f', 'fleet.yaml');
    await kubectl('wait', '--for=condition=Established', 'crd/fleets.example.com');
    const parts = { client, clock: systemClock, random: systemRandom, log: silentLog, signal: stop.signal };
    const running = runFleetController(componentContext(parts));

    await kubectl('apply', '-f', 'herring.yaml');
    await afloat(2);
    await kubectl('scale', 'fleet', 'herring', '--replicas=4');
    await afloat(4);
    assert.match(await kubectl('get', 'fleets'), /NAME +BOATS +AFLOAT +PHASE +AGE\nherring +4 +4 +Afloat/);

    await client.delete(configMaps, { namespace: 'default', name: 'herring-1' });
    const built = await when(
      client,
      configMaps,
      { namespace: 'default', name: 'herring-1' },
      (boat) => boat !== undefined,
    );
    assert.deepEqual(built?.data, { colour: 'tarred' });

    await assert.rejects(
      kubectl('scale', 'fleet', 'herring', '--replicas=11'),
      /a harbour of 10 berths cannot take 11 boats/,
    );
    await kubectl('label', 'namespace', 'default', 'harbour=small');
    const large = () => kubectl('patch', 'fleet', 'herring', '--type=merge', '-p', '{"spec":{"boats":6}}');
    await assert.rejects(large(), /a small harbour has room for five boats, not for 6/);

    await kubectl('delete', 'fleet', 'herring');
    await whenGone(client, fleets, at);
    await whenAll(client, configMaps, { labelSelector: 'example.com/fleet' }, (boats) => boats.length === 0);
    stop.abort();
    await running;
  } finally {
    stop.abort();
    rmSync(folder, { recursive: true });
  }
});
