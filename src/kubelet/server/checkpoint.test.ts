/** Checkpoints through the kubelet's server and the CRI client, on a runtime that does as it is told: containerd 1.6 cannot make any. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { failing, startCriServer } from '../../testing/cri-server.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { connectRuntime } from '../runtime/cri/cri-runtime.ts';
import { runningPod, testView } from './node.fixture.ts';
import { processRuntime } from './process-runtime.fixture.ts';
import { createRoutes } from './routes.ts';

async function setUp(t: TestContext) {
  const cri = await startCriServer();
  const runtime = await connectRuntime({ clock: systemClock, endpoint: cri.endpoint, requestTimeoutMs: 120_000 });
  const directory = join(mkdtempSync(join(tmpdir(), 'coracle-checkpoint-')), 'checkpoints');
  t.after(async () => {
    runtime.close();
    await cri.stop();
    rmSync(join(directory, '..'), { recursive: true });
  });
  const pods = () => [runningPod('web', [{ name: 'main' }])];
  const checkpointContainer = runtime.checkpointContainer.bind(runtime);
  const view = testView({
    nodeName: 'n',
    runtime: { ...processRuntime({ pods }), checkpointContainer },
    pods,
    checkpointDirectory: directory,
  });
  const routes = createRoutes(view, { clock: new FakeClock(), log: silentLog });
  const ask = async (path: string, method = 'POST') => {
    const request = new IncomingMessage(new Socket());
    request.method = method;
    const url = new URL(`https://kubelet${path}`);
    const { status, body } = await routes.answer(request, url, new AbortController().signal);
    return [status, String(body)];
  };
  const asked = () => cri.calls.filter(({ method }) => method === 'CheckpointContainer').map(({ request }) => request);
  return { cri, directory, ask, asked };
}

it('has the runtime write an archive, and says where it is', async (t) => {
  const { cri, directory, ask, asked } = await setUp(t);
  cri.script('CheckpointContainer', () => ({}));
  const location = join(directory, 'checkpoint-web_default-main-2026-01-01T00:00:00Z.tar');
  assert.deepEqual(await ask('/checkpoint/default/web/main'), [200, JSON.stringify({ items: [location] })]);
  assert.deepEqual(asked(), [{ containerId: 'web-main', location, timeout: 120n }]);
  assert.ok(existsSync(directory));
  assert.equal(statSync(directory).mode & 0o777, 0o700);
});

it('gives the runtime longer where that is asked for, never less; the last word counts', async (t) => {
  const { cri, ask, asked } = await setUp(t);
  cri.script('CheckpointContainer', () => ({}));
  await ask('/checkpoint/default/web/main?timeout=5');
  await ask('/checkpoint/default/web/main?timeout=5&timeout=600');
  assert.deepEqual(
    asked().map((request) => (request as { timeout: bigint }).timeout),
    [120n, 600n],
  );
});

it('says why there is none', async (t) => {
  const { cri, ask } = await setUp(t);
  assert.deepEqual(await ask('/checkpoint/default/none/main'), [404, 'pod does not exist']);
  assert.deepEqual(await ask('/checkpoint/default/web/none'), [404, 'container none does not exist']);
  assert.deepEqual(await ask('/checkpoint/default/web/main?timeout=x'), [
    404,
    'cannot parse value of timeout parameter',
  ]);
  assert.deepEqual(await ask('/checkpoint/default/web/main?timeout=-1'), [
    500,
    'checkpointing of default/web/main failed (CheckpointContainer requires the timeout value to be > 0)',
  ]);
  cri.script('CheckpointContainer', failing('unimplemented', 'method CheckpointContainer not implemented'));
  assert.deepEqual(await ask('/checkpoint/default/web/main'), [
    500,
    'checkpointing of default/web/main failed (rpc error: code = Unimplemented desc = method CheckpointContainer not implemented)',
  ]);
  assert.deepEqual(await ask('/checkpoint/default/web/main', 'GET'), [405, '405: Method Not Allowed']);
});
