/** Plugins that come, go, come again and misbehave, on real sockets. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { kubeletHarness, type LoggedLine } from '../kubelet.fixture.ts';
import { type PresentedPlugin, presentPlugin } from './plugin.fixture.ts';
import type { PluginHandler, RegisteredPlugin } from './plugin-handler.ts';
import { PluginRegistration } from './plugin-registration.ts';
import { pluginSockets } from './plugin-sockets.ts';

let folder: string;
let stop: AbortController;
let clock: FakeClock;
let plugins: PresentedPlugin[];
let done: Promise<void>;
let lines: readonly LoggedLine[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coracle-plugins-'));
  stop = new AbortController();
  clock = new FakeClock();
  plugins = [];
});

afterEach(async () => {
  stop.abort();
  await done;
  for (const plugin of plugins) plugin.close();
  rmSync(folder, { recursive: true });
});

/** Tells what it is asked, one thing after another. */
class Recorder implements PluginHandler {
  readonly #told: string[] = [];
  readonly #waiting: ((what: string) => void)[] = [];
  refusal: string | undefined;

  validate({ supportedVersions }: RegisteredPlugin): void {
    if (supportedVersions.length === 0) throw new Error('no versions');
  }

  async register({ name, endpoint }: RegisteredPlugin): Promise<void> {
    this.#tell(`+${name} at ${endpoint.replace(folder, '')}`);
    if (this.refusal) throw new Error(this.refusal);
  }

  async deregister({ name }: RegisteredPlugin): Promise<void> {
    this.#tell(`-${name}`);
  }

  next(): Promise<string> {
    const first = this.#told.shift();
    return first === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(first);
  }

  #tell(what: string): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(what);
    else this.#told.push(what);
  }
}

function start(handler: PluginHandler): void {
  const harness = kubeletHarness(clock);
  const { log } = harness;
  lines = harness.lines;
  const sockets = pluginSockets(folder, log);
  done = new PluginRegistration({ clock, log, signal: stop.signal, sockets, handlers: { CSIPlugin: handler } }).run();
}

async function present(...[path, ...rest]: Parameters<typeof presentPlugin>): Promise<PresentedPlugin> {
  const plugin = await presentPlugin(join(folder, path), ...rest);
  plugins.push(plugin);
  return plugin;
}

const accepted = { pluginRegistered: true, error: '' };
const driver = { type: 'CSIPlugin', name: 'a' };

describe('a plugin', () => {
  it('is registered when its socket is there before the kubelet, when it comes later, and in a folder that comes later', async () => {
    const early = await present('early.sock', { ...driver, name: 'early', endpoint: '/other/csi.sock' });
    const handler = new Recorder();
    start(handler);
    assert.equal(await handler.next(), '+early at /other/csi.sock');
    assert.deepEqual(await early.verdict(), accepted);
    const late = await present('late.sock', { ...driver, name: 'late' });
    assert.equal(await handler.next(), '+late at /late.sock');
    assert.deepEqual(await late.verdict(), accepted);
    mkdirSync(join(folder, 'deep'));
    await present('deep/er.sock', { ...driver, name: 'deep' });
    assert.equal(await handler.next(), '+deep at /deep/er.sock');
  });

  it('is let go of when its socket goes, and registered anew when it is back', async () => {
    const handler = new Recorder();
    start(handler);
    const first = await present('a.sock', driver);
    assert.equal(await handler.next(), '+a at /a.sock');
    await first.verdict();
    first.close();
    assert.equal(await handler.next(), '-a');
    await present('a.sock', driver);
    assert.equal(await handler.next(), '+a at /a.sock');
  });

  it('of which nobody knows the type is told so', async () => {
    start(new Recorder());
    const plugin = await present('x.sock', { type: 'DRAPlugin', name: 'x' });
    assert.deepEqual(await plugin.verdict(), {
      pluginRegistered: false,
      error: `RegisterPlugin error -- no handler registered for plugin type: DRAPlugin at socket ${folder}/x.sock`,
    });
  });

  it('that is not valid is told why, and hears nothing of registration', async () => {
    const handler = new Recorder();
    start(handler);
    const plugin = await present('x.sock', { ...driver, supportedVersions: [] });
    assert.equal(
      (await plugin.verdict()).error,
      'RegisterPlugin error -- plugin validation failed with err: no versions',
    );
    await present('y.sock', { ...driver, name: 'y' });
    assert.equal(await handler.next(), '+y at /y.sock');
  });

  it('that could not be registered is asked again after half a second', async () => {
    const handler = new Recorder();
    handler.refusal = 'not now';
    start(handler);
    const plugin = await present('a.sock', driver);
    assert.deepEqual(await plugin.verdict(), {
      pluginRegistered: false,
      error: 'RegisterPlugin error -- plugin registration failed with err: not now',
    });
    handler.refusal = undefined;
    await handler.next();
    while (!lines.some(({ message }) => message === 'plugin registration failed')) await settle();
    await clock.advance(499);
    await present('b.sock', { ...driver, name: 'b' });
    assert.equal(await handler.next(), '+b at /b.sock');
    await clock.advance(1);
    assert.equal(await handler.next(), '+a at /a.sock');
    assert.deepEqual(await plugin.verdict(), accepted);
  });

  it('with a hidden name, or that is no socket, is nobody´s business', async () => {
    const handler = new Recorder();
    writeFileSync(join(folder, 'readme.txt'), '');
    await present('.hidden.sock', { ...driver, name: 'hidden' });
    start(handler);
    await present('seen.sock', { ...driver, name: 'seen' });
    assert.equal(await handler.next(), '+seen at /seen.sock');
  });
});
