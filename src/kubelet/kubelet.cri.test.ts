/** What only newer runtimes can do, through the whole kubelet and the CRI client, on a runtime that does as it is told. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { events, pods } from '../api/gen/core-v1.ts';
import { systemClock } from '../base/clock.ts';
import type { CriMethods } from '../testing/cri-methods.ts';
import { type CriServer, startCriServer } from '../testing/cri-server.ts';
import { eventually } from '../testing/eventually.ts';
import { simulatedHost } from './host/simulated-host.ts';
import { kubeletHarness, testPod } from './kubelet.fixture.ts';
import { startKubelet } from './kubelet.ts';
import { connectRuntime } from './runtime/cri/cri-runtime.ts';

const node = 'node-1';

async function setUp(t: TestContext, handlers: readonly { readonly name: string; readonly userNamespaces: boolean }[]) {
  const cri = await startCriServer();
  const conditions = ['RuntimeReady', 'NetworkReady'].map((type) => ({ type, status: true }));
  const runtimeHandlers = handlers.map(({ name, userNamespaces }) => ({ name, features: { userNamespaces } }));
  cri.script('Status', () => ({ status: { conditions }, runtimeHandlers }));
  const runtime = await connectRuntime({ clock: systemClock, endpoint: cri.endpoint });
  const harness = kubeletHarness(systemClock);
  const { stop, context } = harness.context();
  const kubelet = await startKubelet(context, { nodeName: node, runtime, host: simulatedHost({}), evicts: false });
  t.after(async () => {
    stop.abort(new Error('the test is over'));
    await kubelet.done;
    runtime.close();
    await cri.stop();
  });
  await eventually(() => kubelet.isReady);
  return { cri, ...harness };
}

function requests<M extends keyof CriMethods & string>(cri: CriServer, method: M): CriMethods[M]['request'][] {
  return cri.calls.filter((call) => call.method === method).map(({ request }) => request as CriMethods[M]['request']);
}

const podOf = (name: string, hostUsers?: boolean) =>
  testPod(
    name,
    node,
    {
      containers: [{ name: 'main', image: 'app:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      volumes: [{ name: 'data', emptyDir: {} }],
      hostUsers,
    },
    { uid: `uid-${name}` },
  );

describe('a Pod with users of its own', () => {
  it('has a range of ids in its sandbox, its containers and their mounts; others have the node’s', async (t) => {
    const { cri, client } = await setUp(t, [{ name: '', userNamespaces: true }]);
    await client.create(pods, podOf('own', false));
    const created = await eventually(() => requests(cri, 'CreateContainer')[0] ?? false);
    const range = [{ hostId: 65_536, containerId: 0, length: 65_536 }];
    const own = { mode: 'POD', uids: range, gids: range };
    const [sandbox] = requests(cri, 'RunPodSandbox');
    assert.deepEqual(sandbox?.config?.linux?.securityContext?.namespaceOptions?.usernsOptions, own);
    assert.deepEqual(created.config?.linux?.securityContext?.namespaceOptions?.usernsOptions, own);
    assert.deepEqual(created.sandboxConfig?.linux?.securityContext?.namespaceOptions?.usernsOptions, own);
    const mount = created.config?.mounts.find(({ containerPath }) => containerPath === '/data');
    assert.deepEqual([mount?.uidMappings, mount?.gidMappings], [range, range]);

    await client.create(pods, podOf('other', false));
    const second = await eventually(() => requests(cri, 'RunPodSandbox')[1] ?? false);
    assert.equal(second.config?.linux?.securityContext?.namespaceOptions?.usernsOptions?.uids[0]?.hostId, 131_072);

    await client.create(pods, podOf('common'));
    const third = await eventually(() => requests(cri, 'RunPodSandbox')[2] ?? false);
    const common = { mode: 'NODE', uids: [], gids: [] };
    assert.deepEqual(third.config?.linux?.securityContext?.namespaceOptions?.usernsOptions, common);
  });

  it('does not run where the runtime cannot give it any, and says so', async (t) => {
    const { cri, client } = await setUp(t, [{ name: '', userNamespaces: false }]);
    await client.create(pods, podOf('own', false));
    const told = await eventually(
      async () => (await client.list(events)).items.find(({ reason }) => reason === 'FailedCreatePodSandBox') ?? false,
    );
    const problem = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";
    assert.equal(told.message, `Failed to create pod sandbox: ${problem}`);
    assert.deepEqual(requests(cri, 'RunPodSandbox'), []);
  });
});
