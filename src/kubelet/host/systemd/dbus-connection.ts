/**
 * A connection to the system's message bus: calls with their answers, and signals. Descriptors cannot be passed: Node.js does not give
 * them out of a socket. When the connection breaks, all that is under way fails, and `closed` resolves.
 */
import { createConnection, type Socket } from 'node:net';
import { type DbusMessage, decodeMessage, encodeMessage } from './dbus-messages.ts';
import type { DbusValue } from './dbus-values.ts';

const systemBus = '/run/dbus/system_bus_socket';

/** An error that the other side answered with. */
export class DbusError extends Error {
  /** `org.freedesktop.systemd1.UnitExists`. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'DbusError';
    this.code = code;
  }
}

export interface DbusCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string | undefined;
  readonly body?: readonly DbusValue[] | undefined;
}

interface Pending {
  readonly resolve: (body: readonly DbusValue[]) => void;
  readonly reject: (error: Error) => void;
}

export class DbusConnection {
  readonly #socket: Socket;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Set<(signal: DbusMessage) => void>();
  readonly #closed = Promise.withResolvers<void>();
  #received: Buffer = Buffer.alloc(0);
  #serial = 0;

  private constructor(socket: Socket, rest: Buffer) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the message bus closed the connection')));
    if (rest.length > 0) this.#receive(rest);
  }

  /** Rejects when there is no bus, or it does not let us in. */
  static async open(path: string = systemBus): Promise<DbusConnection> {
    const socket = createConnection({ path });
    try {
      const connection = new DbusConnection(socket, await authenticate(socket));
      await connection.call({ ...bus, member: 'Hello' });
      return connection;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  call({ body = [], ...call }: DbusCall): Promise<readonly DbusValue[]> {
    const serial = ++this.#serial;
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Error('the message bus is gone'));
      this.#pending.set(serial, { resolve, reject });
      this.#socket.write(encodeMessage({ type: 'call', serial, ...call, body }));
    });
  }

  async property(object: Omit<DbusCall, 'member' | 'signature' | 'body'>, name: string): Promise<DbusValue> {
    const [value] = await this.call({
      ...object,
      interface: 'org.freedesktop.DBus.Properties',
      member: 'Get',
      signature: 'ss',
      body: [object.interface, name],
    });
    return value!;
  }

  /** Resolves when the bus will send what matches the rule; call the result to hear no more of it. */
  async subscribe(rule: string, listener: (signal: DbusMessage) => void): Promise<() => void> {
    this.#listeners.add(listener);
    await this.call({ ...bus, member: 'AddMatch', signature: 's', body: [rule] });
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    try {
      for (let next = decodeMessage(this.#received); next; next = decodeMessage(this.#received)) {
        this.#received = this.#received.subarray(next.length);
        this.#handle(next.message);
      }
    } catch (error) {
      this.#socket.destroy(error as Error);
    }
  }

  #handle(message: DbusMessage): void {
    if (message.type === 'signal') for (const listener of this.#listeners) listener(message);
    const pending = this.#pending.get(message.replySerial ?? 0);
    if (!pending) return;
    this.#pending.delete(message.replySerial!);
    if (message.type === 'return') pending.resolve(message.body);
    else pending.reject(new DbusError(message.errorName ?? '', String(message.body[0] ?? message.errorName)));
  }

  #fail(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    this.#closed.resolve();
  }
}

const bus = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };

/** By the user that the kernel says we are; what came after the answer. */
function authenticate(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf('\r\n');
      if (end < 0) return;
      socket.off('data', onData);
      socket.off('error', reject);
      const line = received.toString('latin1', 0, end);
      if (!line.startsWith('OK ')) return reject(new Error(`the message bus refuses this user: ${line}`));
      socket.write('BEGIN\r\n');
      resolve(received.subarray(end + 2));
    };
    socket.on('data', onData);
    socket.once('error', reject);
    socket.once('connect', () => {
      const user = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
      socket.write(`\0AUTH EXTERNAL ${user}\r\n`);
    });
  });
}
