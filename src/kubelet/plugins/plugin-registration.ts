/**
 * Keeps what is registered in step with the sockets in the plugins' folder: a socket that appears is asked what it is and handed to
 * the handler of its type, one that goes away is taken from it, one that is made anew goes through both. A plugin that cannot be
 * registered is asked again after 500 ms, then after ever longer, up to 2 minutes and 2 seconds. One task at a time per socket.
 */
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { grpcMethod } from '../grpc/codec.ts';
import { connectSocket } from '../grpc/socket-connection.ts';
import { registrationService } from './gen/plugin-registration-v1.ts';
import type { PluginHandler, PluginType, RegisteredPlugin } from './plugin-handler.ts';
import type { PluginSockets } from './plugin-sockets.ts';

export interface PluginRegistrationOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly sockets: PluginSockets;
  readonly handlers: Readonly<Partial<Record<PluginType, PluginHandler>>>;
}

interface Entry {
  /** Of the socket as it is there now; undefined once it is gone. */
  wanted: string | undefined;
  /** Of the socket as it was when it was registered. */
  registered:
    | { readonly identity: string; readonly plugin: RegisteredPlugin; readonly handler: PluginHandler }
    | undefined;
  delayMs: number;
  retry: Timer | undefined;
  work: Promise<void> | undefined;
}

const dialTimeoutMs = 10_000;
const infoTimeoutMs = 1000;
const notifyTimeoutMs = 5000;
const firstRetryMs = 500;
const longestRetryMs = 122_000;

const getInfo = grpcMethod(registrationService, 'GetInfo');
const notifyStatus = grpcMethod(registrationService, 'NotifyRegistrationStatus');

export class PluginRegistration {
  readonly #options: PluginRegistrationOptions;
  readonly #entries = new Map<string, Entry>();
  #isReading = false;
  #isStale = false;

  constructor(options: PluginRegistrationOptions) {
    this.#options = options;
  }

  /** Until the signal is aborted. */
  async run(): Promise<void> {
    const { signal, sockets } = this.#options;
    await sockets.watch(() => void this.#read(), signal);
    await this.#read();
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    for (const { retry } of this.#entries.values()) retry?.cancel();
    await Promise.all([...this.#entries.values()].map(({ work }) => work));
  }

  async #read(): Promise<void> {
    this.#isStale = true;
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#isStale && !this.#options.signal.aborted) {
      this.#isStale = false;
      const found = new Map((await this.#options.sockets.list()).map(({ path, identity }) => [path, identity]));
      for (const path of new Set([...found.keys(), ...this.#entries.keys()])) this.#want(path, found.get(path));
    }
    this.#isReading = false;
  }

  #want(path: string, identity: string | undefined): void {
    const entry = this.#entries.get(path) ?? {
      wanted: undefined,
      registered: undefined,
      delayMs: firstRetryMs,
      retry: undefined,
      work: undefined,
    };
    this.#entries.set(path, entry);
    if (entry.wanted === identity) return;
    entry.wanted = identity;
    entry.delayMs = firstRetryMs;
    this.#settle(path, entry);
  }

  #settle(path: string, entry: Entry): void {
    entry.retry?.cancel();
    entry.retry = undefined;
    entry.work ??= this.#work(path, entry).finally(() => {
      entry.work = undefined;
      if (entry.wanted !== entry.registered?.identity) {
        if (!entry.retry && !this.#options.signal.aborted) this.#settle(path, entry);
      } else if (entry.wanted === undefined) this.#entries.delete(path);
    });
  }

  async #work(path: string, entry: Entry): Promise<void> {
    const { clock, log, signal } = this.#options;
    while (entry.wanted !== entry.registered?.identity && !signal.aborted) {
      const { wanted } = entry;
      try {
        if (entry.registered) await this.#deregister(entry);
        else if (wanted !== undefined) await this.#register(path, wanted, entry);
      } catch (error) {
        if (signal.aborted) return;
        log.error('plugin registration failed', { path, error: messageOf(error) });
        if (entry.wanted !== wanted) continue;
        entry.retry = clock.after(entry.delayMs, () => this.#settle(path, entry));
        entry.delayMs = Math.min(entry.delayMs * 2, longestRetryMs);
        return;
      }
    }
  }

  async #register(path: string, identity: string, entry: Entry): Promise<void> {
    const { clock, handlers, log, signal } = this.#options;
    const connection = await connectSocket({
      clock,
      path,
      requestTimeoutMs: dialTimeoutMs,
    });
    const tell = (error: string) =>
      connection.unary(notifyStatus, { pluginRegistered: error === '', error }, { timeoutMs: notifyTimeoutMs, signal });
    const refuse = async (why: string): Promise<never> => {
      await tell(why).catch((error) => {
        throw new Error(
          `RegisterPlugin error -- failed to send error at socket ${path}, err: ${why}: ${messageOf(error)}`,
        );
      });
      throw new Error(why);
    };
    try {
      const info = await connection.unary(getInfo, {}, { timeoutMs: infoTimeoutMs, signal }).catch((error) => {
        const what = 'failed to get plugin info using RPC GetInfo';
        throw new Error(`RegisterPlugin error -- ${what} at socket ${path}, err: ${messageOf(error)}`);
      });
      const handler = handlers[info.type as PluginType];
      if (!handler) {
        const what = `no handler registered for plugin type: ${info.type} at socket ${path}`;
        return await refuse(`RegisterPlugin error -- ${what}`);
      }
      const { name, supportedVersions } = info;
      const plugin = { name, endpoint: info.endpoint || path, supportedVersions };
      try {
        handler.validate(plugin);
      } catch (error) {
        return await refuse(`RegisterPlugin error -- plugin validation failed with err: ${messageOf(error)}`);
      }
      try {
        await handler.register(plugin, signal);
      } catch (error) {
        return await refuse(`RegisterPlugin error -- plugin registration failed with err: ${messageOf(error)}`);
      }
      entry.registered = { identity, plugin, handler };
      await tell('').catch(async (error) => {
        await this.#deregister(entry);
        const what = 'failed to send registration status';
        throw new Error(`RegisterPlugin error -- ${what} at socket ${path}, err: ${messageOf(error)}`);
      });
      entry.delayMs = firstRetryMs;
      log.info('registered a plugin', { path, type: info.type, name });
    } finally {
      connection.close();
    }
  }

  async #deregister(entry: Entry): Promise<void> {
    const { plugin, handler } = entry.registered!;
    entry.registered = undefined;
    await handler.deregister(plugin);
    this.#options.log.info('a plugin is gone', { name: plugin.name });
  }
}
