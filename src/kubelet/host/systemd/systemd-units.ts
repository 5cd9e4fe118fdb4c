/** Slices of systemd, made and ended over the message bus. */
import { DbusConnection, DbusError } from './dbus-connection.ts';
import type { DbusMessage } from './dbus-messages.ts';
import type { DbusValue } from './dbus-values.ts';

const manager = {
  destination: 'org.freedesktop.systemd1',
  path: '/org/freedesktop/systemd1',
  interface: 'org.freedesktop.systemd1.Manager',
};

const accounting = ['CPUAccounting', 'MemoryAccounting', 'TasksAccounting', 'IOAccounting'];

export class SystemdUnits {
  #connection: Promise<DbusConnection> | undefined;
  /** Jobs that have ended, as long as somebody may wait for them. */
  readonly #waiting = new Map<string, () => void>();
  readonly #ended = new Set<string>();

  /** The slice runs with these properties when this resolves. */
  async ensureSlice(name: string, properties: readonly DbusValue[]): Promise<void> {
    const connection = await this.#connect();
    const fixed: DbusValue[] = [
      ['Description', { signature: 's', value: `Pods: ${name}` }],
      ['DefaultDependencies', { signature: 'b', value: false }],
      ...accounting.map((property): DbusValue => [property, { signature: 'b', value: true }]),
    ];
    try {
      const [job] = await connection.call({
        ...manager,
        member: 'StartTransientUnit',
        signature: 'ssa(sv)a(sa(sv))',
        body: [name, 'replace', [...fixed, ...properties], []],
      });
      await this.#jobDone(String(job));
    } catch (error) {
      // Made before: by this kubelet, one before it, or implicitly for a slice below.
      if (!(error instanceof DbusError) || !/UnitExists|AlreadyExists/.test(error.code)) throw error;
      await this.setProperties(name, properties);
    }
  }

  /** Until the machine is switched off. */
  async setProperties(name: string, properties: readonly DbusValue[]): Promise<void> {
    const connection = await this.#connect();
    const isRuntime = true;
    await connection.call({
      ...manager,
      member: 'SetUnitProperties',
      signature: 'sba(sv)',
      body: [name, isRuntime, properties],
    });
  }

  /** Succeeds when there is none. */
  async stopSlice(name: string): Promise<void> {
    const connection = await this.#connect();
    try {
      const [job] = await connection.call({
        ...manager,
        member: 'StopUnit',
        signature: 'ss',
        body: [name, 'replace'],
      });
      await this.#jobDone(String(job));
    } catch (error) {
      if (!(error instanceof DbusError) || !error.code.endsWith('NoSuchUnit')) throw error;
    }
  }

  /** Its end may have been told before its name was. */
  #jobDone(job: string): Promise<void> {
    if (this.#ended.delete(job)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.set(job, resolve));
  }

  #onSignal({ member, body }: DbusMessage): void {
    if (member !== 'JobRemoved') return;
    const job = String(body[1]);
    const waiting = this.#waiting.get(job);
    if (!waiting) {
      if (this.#ended.size > rememberedJobs) this.#ended.clear();
      this.#ended.add(job);
      return;
    }
    this.#waiting.delete(job);
    waiting();
  }

  #connect(): Promise<DbusConnection> {
    this.#connection ??= this.#open().catch((error) => {
      this.#connection = undefined;
      throw error;
    });
    return this.#connection;
  }

  async #open(): Promise<DbusConnection> {
    const connection = await DbusConnection.open();
    const rule = `type='signal',interface='${manager.interface}',member='JobRemoved'`;
    await connection.subscribe(rule, (signal) => this.#onSignal(signal));
    await connection.call({ ...manager, member: 'Subscribe' });
    void connection.closed.then(() => {
      this.#connection = undefined;
      for (const resolve of this.#waiting.values()) resolve();
      this.#waiting.clear();
    });
    return connection;
  }
}

const rememberedJobs = 1000;
