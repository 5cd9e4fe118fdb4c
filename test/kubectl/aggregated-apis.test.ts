/** Real kubectl, oldest and newest, on an aggregated API: registered, described, used, and in the way of a namespace's end when it is away. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { apiServices } from '../../src/api/gen/apiregistration-v1.ts';
import { configMaps, namespaces } from '../../src/api/gen/core-v1.ts';
import { findCondition, isConditionTrue } from '../../src/apimachinery/conditions.ts';
import {
  type AggregatedServer,
  startAggregatedServer,
} from '../../src/apiserver/aggregation/aggregated-server.fixture.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { kubectlReleases } from '../../src/testing/kubectl.ts';
import { needs } from '../../src/testing/needs.ts';
import { startCluster, when } from '../conformance/cluster.ts';

const releases = kubectlReleases();
const cluster = await startCluster();
const { client } = cluster;
const group = 'sayings.example.com';
const name = `v1.${group}`;
const folder = mkdtempSync(join(tmpdir(), 'coracle-aggregated-'));
let server: AggregatedServer;

const manifest = (port: number, caBundle: string) => `
apiVersion: v1
kind: Namespace
metadata: { name: apis }
---
apiVersion: v1
kind: Service
metadata: { name: fortunes, namespace: apis }
spec: { type: ExternalName, externalName: localhost }
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: { name: ${name} }
spec:
  group: ${group}
  version: v1
  groupPriorityMinimum: 2000
  versionPriority: 20
  service: { namespace: apis, name: fortunes, port: ${port} }
  caBundle: ${caBundle}
`;

const fortuneText = `
apiVersion: ${group}/v1
kind: Fortune
metadata: { name: one, namespace: apis }
spec: { text: Beware of bugs. }
`;

function kubectl(program: string, args: readonly string[], input = ''): Promise<{ stdout: string; stderr: string }> {
  const full = ['--kubeconfig', cluster.kubeconfig, '--cache-dir', mkdtempSync(join(folder, 'cache-')), ...args];
  return new Promise((resolve, reject) => {
    const child = execFile(program, full, { maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`kubectl ${args.join(' ')}: ${stderr}`, { cause: error }));
      else resolve({ stdout, stderr });
    });
    child.stdin?.end(input);
  });
}

before(async () => {
  const trust = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
  const found = await when(client, configMaps, trust, (map) => map?.data !== undefined);
  const proxyAuthority = found?.data?.['requestheader-client-ca-file'] ?? '';
  server = await startAggregatedServer({ group, proxyAuthority });
});
after(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

describe('kubectl on an aggregated API', needs('kubectl'), () => {
  for (const { release, path } of [releases[0], releases.at(-1)].filter((one) => one !== undefined)) {
    describe(`kubectl ${release}`, () => {
      const run = async (...args: string[]) => (await kubectl(path, args)).stdout;

      it('registers it and shows that it is available', async () => {
        await kubectl(path, ['apply', '-f', '-'], manifest(server.port, server.caBundle));
        await run('wait', '--for=condition=Available', 'apiservice', name, '--timeout=20s');
        const lines = (await run('get', 'apiservices')).split('\n');
        assert.match(lines[0] ?? '', /^NAME +SERVICE +AVAILABLE +AGE$/);
        assert.ok(lines.some((line) => /^v1\.sayings\.example\.com +apis\/fortunes +True +\d+s$/.test(line)));
        assert.ok(lines.some((line) => /^v1\.apps +Local +True +\d+s$/.test(line)));
      });

      it('finds its resources', async () => {
        await eventually(
          () => run('api-resources', `--api-group=${group}`),
          /^.*\nfortunes +ft +sayings\.example\.com\/v1 +true +Fortune\n/,
        );
        assert.ok((await run('api-versions')).split('\n').includes(`${group}/v1`));
      });

      it('explains them', async () => {
        await eventually(() => run('explain', 'fortunes.spec.text'), /What it says\./);
        assert.match(await run('explain', 'fortunes'), /Fortune is a saying/);
        assert.match(await run('explain', 'pods.spec.containers'), /The containers of the Pod/);
      });

      it('makes, reads and deletes objects', async () => {
        assert.match((await kubectl(path, ['create', '-f', '-'], fortuneText)).stdout, /fortune\.sayings.* created/);
        assert.equal(await run('get', 'ft', '-n', 'apis', 'one', '-o', 'jsonpath={.spec.text}'), 'Beware of bugs.');
        assert.match(await run('get', 'fortunes', '-A', '-o', 'name'), /^fortune\.sayings\.example\.com\/one$/m);
        assert.match(await run('delete', 'fortune', '-n', 'apis', 'one'), /"one" deleted/);
      });
    });
  }

  it('is described beside the rest, under other names where names collide', async () => {
    const program = releases.at(-1)!.path;
    const { stdout } = await kubectl(program, ['get', '--raw', '/openapi/v2']);
    assert.match(stdout, /"io\.k8s\.apimachinery\.pkg\.apis\.meta\.v1\.ObjectMeta_v2":\{[^}]*metadata of fortunes/);
    assert.ok(!stdout.includes('com.example.Unused'));
  });

  it('has namespaces wait for an API that is away, and says so', async () => {
    const made = await client.create(namespaces, { metadata: { generateName: 'ending-' }, spec: {} });
    const ref = { name: made.metadata.name! };
    await client.patch(apiServices, { name }, { type: 'merge', body: { spec: { service: { port: 1 } } } });
    await when(client, apiServices, { name }, (found) => !isConditionTrue(found?.status?.conditions, 'Available'));
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    await eventually(async () => JSON.stringify(await client.raw({ method: 'GET', path: '/apis', accept })), /"Stale"/);
    await client.delete(namespaces, ref);
    const waiting = await when(client, namespaces, ref, (found) =>
      isConditionTrue(found?.status?.conditions, 'NamespaceDeletionDiscoveryFailure'),
    );
    const condition = findCondition(waiting?.status?.conditions, 'NamespaceDeletionDiscoveryFailure');
    assert.equal(condition?.reason, 'DiscoveryFailed');
    assert.match(condition?.message ?? '', /sayings\.example\.com\/v1/);
    await client.delete(apiServices, { name });
    await when(client, namespaces, ref, (found) => found === undefined);
  });
});
