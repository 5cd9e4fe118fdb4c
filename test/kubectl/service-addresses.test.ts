/**
 * Addresses of Services as an administrator works with them: each is an object that tells whose it is, ranges are added while the
 * cluster runs, and a range that is still used does not go.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { type EmbeddedControlPlane, startControlPlane } from '../../src/testing/index.ts';
import { kubectlReleases } from '../../src/testing/kubectl.ts';
import { needs } from '../../src/testing/needs.ts';

const newest = kubectlReleases().at(-1);
const options = needs('kubectl');
const folder = mkdtempSync(join(tmpdir(), 'coracle-addresses-'));
let plane: EmbeddedControlPlane;

before(async () => {
  plane = await startControlPlane();
  writeFileSync(join(folder, 'kubeconfig'), plane.kubeconfig);
});
after(async () => {
  await plane?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function kubectl(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(newest!.path, ['--kubeconfig', join(folder, 'kubeconfig'), ...args]);
  return stdout;
}

async function apply(manifest: object): Promise<void> {
  const file = join(folder, 'manifest.json');
  writeFileSync(file, JSON.stringify(manifest));
  await kubectl('apply', '-f', file);
}

test('each address of a Service is an object with its owner', options, async () => {
  await kubectl('create', 'service', 'clusterip', 'web', '--tcp=80');
  const ip = await kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}');
  assert.match(await kubectl('get', 'ipaddresses', ip, '--no-headers'), /services\/default\/web\s*$/);
  assert.match(await kubectl('get', 'ipaddresses'), /services\/default\/kubernetes/);
  await kubectl('delete', 'service', 'web');
  await assert.rejects(kubectl('get', 'ipaddress', ip), /ipaddresses.networking.k8s.io "[\d.]+" not found/);
});

test('a range is added, used, kept while it is used, and goes afterwards', options, async () => {
  const range = { apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', metadata: { name: 'more' } };
  await apply({ ...range, spec: { cidrs: ['10.201.0.0/24'] } });
  await kubectl('wait', '--for=condition=Ready', 'servicecidr/more', '--timeout=20s');
  await kubectl('create', 'service', 'clusterip', 'second', '--tcp=80', '--clusterip=10.201.0.7');
  await kubectl('delete', 'servicecidr', 'more', '--wait=false');
  await kubectl('wait', '--for=condition=Ready=false', 'servicecidr/more', '--timeout=20s');
  const reason = 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}';
  assert.equal(await kubectl('get', 'servicecidr', 'more', '-o', reason), 'Terminating');
  await assert.rejects(
    kubectl('create', 'service', 'clusterip', 'third', '--tcp=80', '--clusterip=10.201.0.8'),
    /failed to allocate IP 10\.201\.0\.8: the provided network does not match the current range/,
  );
  await kubectl('delete', 'service', 'second');
  await kubectl('wait', '--for=delete', 'servicecidr/more', '--timeout=40s');
});
