/** The kubelet as a process of its own, before there is a Node. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { silentLog } from '../../../base/log.ts';
import { systemRandom } from '../../../base/random.ts';
import { kubeletFlags } from '../../../kubelet/options.ts';
import { parseFlags } from '../../../serving/flags.ts';
import { type CriServerOptions, startCriServer } from '../../../testing/cri-server.ts';
import { CommandError } from '../../command-error.ts';
import { thisMachine } from '../../machine/machine.ts';
import { GivenFlags } from '../flags/given-flags.ts';
import { kubeletConfiguration } from './configuration.ts';
import { kubelet, refuseSwap } from './kubelet.ts';

/** An API server that notes what it is asked and has nothing. */
async function apiServer(t: TestContext) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const folder = mkdtempSync(join(tmpdir(), 'coracle-kubelet-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const kubeconfig = join(folder, 'kubeconfig');
  const cluster = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(kubeconfig, JSON.stringify(content));
  return { requests, kubeconfig };
}

async function runtime(t: TestContext, options: CriServerOptions) {
  const server = await startCriServer(options);
  t.after(() => server.stop());
  return server.endpoint;
}

const run = (flags: readonly string[]) =>
  kubelet.run(new GivenFlags(parseFlags(kubeletFlags, ['--fail-swap-on=false', ...flags])), {
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    machine: thisMachine(),
    signal: new AbortController().signal,
    started: () => {},
  });

const refusalOf = (endpoint: string) => (error: unknown) =>
  error instanceof CommandError &&
  error.message.startsWith(`container runtime at ${endpoint} speaks neither CRI v1 nor v1alpha2: `);

it('does not start on a machine with swap, unless it is told to', () => {
  const heading = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';
  const inUse = `${heading}/swapfile                               file\t\t2097148\t\t0\t\t-2\n`;
  const settings = (words: readonly string[]) => kubeletConfiguration(new GivenFlags(parseFlags(kubeletFlags, words)));
  refuseSwap(settings([]), heading);
  refuseSwap(settings(['--fail-swap-on=false']), inUse);
  assert.throws(
    () => refuseSwap(settings([]), inUse),
    /^CommandError: running with swap on is not supported, please disable swap or set --fail-swap-on flag to false/,
  );
});

it('ends with an error, and without a Node, where the runtime speaks no version that it knows', async (t) => {
  const { requests, kubeconfig } = await apiServer(t);
  const endpoint = await runtime(t, { versions: [] });
  const running = run([`--kubeconfig=${kubeconfig}`, `--container-runtime-endpoint=${endpoint}`]);
  await assert.rejects(running, refusalOf(endpoint));
  assert.deepEqual(requests, []);
});

it('ends so, too, where the endpoint of images has none', async (t) => {
  const { requests, kubeconfig } = await apiServer(t);
  const endpoint = await runtime(t, { services: ['RuntimeService'] });
  const images = await runtime(t, { services: ['RuntimeService'] });
  const running = run([
    `--kubeconfig=${kubeconfig}`,
    `--container-runtime-endpoint=${endpoint}`,
    `--image-service-endpoint=${images}`,
  ]);
  await assert.rejects(running, refusalOf(images));
  assert.deepEqual(requests, []);
});
