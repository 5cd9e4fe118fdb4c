/**
 * exec and attach: one command's stdin, stdout, stderr, error and resize streams, over whichever protocol the client speaks. The server's
 * side accepts SPDY (one stream each) and WebSocket (one channel byte before each message; v5 adds half-close); the
 * client's side speaks SPDY v4 to a kubelet or runtime. `bridge` joins the two, so that a client with the newest protocol meets a
 * runtime that only knows the old one.
 */
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { SpdyConnection, type SpdyStream } from './spdy/connection.ts';
import { acceptUpgrade, dialUpgrade, type UpgradeAnswer, type UpgradeRequest, type UpgradeTarget } from './upgrade.ts';

/** The streams of a running command as its server end sees them. */
export interface CommandStreams {
  /** Ends when the client closes its side. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** JSON objects `{Width, Height}` of the client's terminal. */
  readonly resize: AsyncIterable<Uint8Array>;
  stdout(chunk: Uint8Array): Promise<void> | void;
  stderr(chunk: Uint8Array): Promise<void> | void;
  /** The command's end as a `Status`; nothing may be written after it. */
  finish(status: unknown): Promise<void>;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

export interface CommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export const successStatus = { metadata: {}, status: 'Success' };

/** The Status of a command that ended with another exit code than 0. */
export function exitCodeStatus(exitCode: number): unknown {
  if (exitCode === 0) return successStatus;
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}

/** The Status of a command that could not be run. */
export function commandFailure(message: string): unknown {
  return {
    metadata: {},
    status: 'Failure',
    message,
    reason: 'InternalError',
    code: 500,
    details: { causes: [{ message }] },
  };
}

const spdyVersions = ['v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io'];
const webSocketVersions = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
  '',
];

export function isWebSocket(headers: Readonly<Record<string, unknown>>): boolean {
  return String(headers.upgrade ?? '').toLowerCase() === 'websocket';
}

/** The protocols a client offers, in its order. */
export function offeredProtocols(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  name: string,
): string[] {
  return [headers[name] ?? []]
    .flat()
    .flatMap((value) => value.split(','))
    .map((value) => value.trim())
    .filter((value) => value !== '');
}

/** Answers the upgrade and resolves with the streams once the client has opened them; undefined when no protocol is common (answered 403). */
export function acceptCommand(client: UpgradeRequest, options: CommandOptions): Promise<CommandStreams | undefined> {
  return isWebSocket(client.request.headers) ? acceptWebSocket(client, options) : acceptSpdy(client, options);
}

/** A push-driven source that can be read with `for await`. */
class Channel implements AsyncIterable<Uint8Array> {
  readonly #queue: Uint8Array[] = [];
  #ended = false;
  #wake: (() => void) | undefined;

  push(chunk: Uint8Array): void {
    this.#queue.push(chunk);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    for (;;) {
      const chunk = this.#queue.shift();
      if (chunk) yield chunk;
      else if (this.#ended) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 };

function acceptWebSocket(client: UpgradeRequest, options: CommandOptions): Promise<CommandStreams | undefined> {
  const offered = offeredProtocols(client.request.headers, 'sec-websocket-protocol');
  const chosen = offered.length === 0 ? '' : offered.find((protocol) => webSocketVersions.includes(protocol));
  const base64 = offered.find((protocol) => protocol.endsWith('base64.channel.k8s.io'));
  const protocol = chosen ?? base64;
  const server = new WebSocketServer({ noServer: true, handleProtocols: () => protocol || false });
  return new Promise((resolve) => {
    if (protocol === undefined) {
      client.socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      resolve(undefined);
      return;
    }
    server.handleUpgrade(client.request, client.socket, client.head, (socket) =>
      resolve(webSocketStreams(socket, options, base64 === protocol)),
    );
  });
}

function webSocketStreams(socket: WebSocket, options: CommandOptions, base64: boolean): CommandStreams {
  const stdin = new Channel();
  const resize = new Channel();
  const gone = new AbortController();
  socket.on('message', (data: Buffer) => {
    const message = base64
      ? Buffer.concat([Buffer.from([data[0]! - 48]), Buffer.from(data.subarray(1).toString(), 'base64')])
      : data;
    const body = message.subarray(1);
    if (message[0] === channels.stdin) stdin.push(body);
    else if (message[0] === channels.resize) resize.push(body);
    else if (message[0] === channels.close && body[0] === channels.stdin) stdin.end();
  });
  const over = () => {
    stdin.end();
    resize.end();
    gone.abort();
  };
  socket.on('close', over);
  socket.on('error', over);
  const send = (channel: number, chunk: Uint8Array) =>
    new Promise<void>((resolve) => {
      const message = base64
        ? Buffer.from(String.fromCharCode(48 + channel) + Buffer.from(chunk).toString('base64'))
        : Buffer.concat([Buffer.from([channel]), chunk]);
      socket.send(message, () => resolve());
    });
  if (!options.stdin) stdin.end();
  // The client waits for a first message on each channel it will read (an empty one tells it that the channel is open).
  void send(channels.stdout, new Uint8Array(0));
  return {
    stdin,
    resize,
    stdout: (chunk) => send(channels.stdout, chunk),
    stderr: (chunk) => send(channels.stderr, chunk),
    async finish(status) {
      await send(channels.error, Buffer.from(JSON.stringify(status)));
      socket.close(1000);
    },
    signal: gone.signal,
  };
}

function acceptSpdy(client: UpgradeRequest, options: CommandOptions): Promise<CommandStreams | undefined> {
  const offered = offeredProtocols(client.request.headers, 'x-stream-protocol-version');
  const version = offered.length === 0 ? 'channel.k8s.io' : offered.find((protocol) => spdyVersions.includes(protocol));
  if (version === undefined) {
    client.socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    return Promise.resolve(undefined);
  }
  acceptUpgrade(client.socket, { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': version });
  const expected = new Set(['error']);
  if (options.stdin) expected.add('stdin');
  if (options.stdout) expected.add('stdout');
  if (options.stderr && !options.tty) expected.add('stderr');
  if (options.tty && version !== 'channel.k8s.io' && version !== 'v2.channel.k8s.io') expected.add('resize');
  const streams = new Map<string, SpdyStream>();
  const gone = new AbortController();
  return new Promise((resolve) => {
    const connection = new SpdyConnection(client.socket, client.head, {
      role: 'server',
      onStream(stream) {
        const kind = stream.headers.streamtype ?? '';
        streams.set(kind, stream);
        expected.delete(kind);
        if (expected.size === 0) resolve(spdyStreams(connection, streams, version, gone.signal));
      },
      onClose: () => gone.abort(),
    });
  });
}

async function* nothing(): AsyncIterable<Uint8Array> {}

function spdyStreams(
  connection: SpdyConnection,
  streams: ReadonlyMap<string, SpdyStream>,
  version: string,
  signal: AbortSignal,
): CommandStreams {
  return {
    stdin: streams.get('stdin')?.incoming ?? nothing(),
    resize: streams.get('resize')?.incoming ?? nothing(),
    stdout: (chunk) => streams.get('stdout')?.write(chunk),
    stderr: (chunk) => streams.get('stderr')?.write(chunk),
    async finish(status) {
      const failed = (status as { readonly status?: string }).status !== 'Success';
      // Before v4 the error stream holds plain text, and nothing on success.
      const text =
        version === 'v4.channel.k8s.io'
          ? JSON.stringify(status)
          : failed
            ? String((status as { readonly message?: string }).message)
            : '';
      if (text !== '') await streams.get('error')?.write(Buffer.from(text));
      for (const name of ['stdout', 'stderr', 'error']) streams.get(name)?.finish();
      await connection.end();
    },
    signal,
  };
}

/** The client's side: dials `target` with SPDY and runs the command that its URL names for the given streams. */
export async function bridge(streams: CommandStreams, target: UpgradeTarget, options: CommandOptions): Promise<void> {
  const headers = { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': 'v4.channel.k8s.io' };
  let answer: UpgradeAnswer;
  try {
    answer = await dialUpgrade(target, 'POST', headers, streams.signal);
  } catch (error) {
    return streams.finish(
      commandFailure(`error dialing backend: ${error instanceof Error ? error.message : String(error)}`),
    );
  }
  if (!answer.upgraded) {
    const chunks: Buffer[] = [];
    for await (const chunk of answer.response) chunks.push(chunk as Buffer);
    return streams.finish(
      commandFailure(Buffer.concat(chunks).toString().trim() || `upstream answered ${answer.response.statusCode}`),
    );
  }
  const connection = new SpdyConnection(answer.socket, answer.head, { role: 'client' });
  const onGone = () => connection.close();
  streams.signal.addEventListener('abort', onGone, { once: true });
  try {
    const error = await connection.open({ streamtype: 'error' });
    error.finish();
    const pumps: Promise<void>[] = [];
    if (options.stdin) void pump(streams.stdin, await connection.open({ streamtype: 'stdin' }));
    if (options.stdout) pumps.push(drain(await connection.open({ streamtype: 'stdout' }), streams.stdout));
    if (options.stderr && !options.tty)
      pumps.push(drain(await connection.open({ streamtype: 'stderr' }), streams.stderr));
    if (options.tty) void pump(streams.resize, await connection.open({ streamtype: 'resize' }));
    const verdict: Uint8Array[] = [];
    for await (const chunk of error.incoming) verdict.push(chunk);
    await Promise.all(pumps);
    const text = Buffer.concat(verdict).toString();
    await streams.finish(text === '' ? successStatus : parseStatus(text));
  } finally {
    streams.signal.removeEventListener('abort', onGone);
    connection.close();
  }
}

function parseStatus(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return commandFailure(text);
  }
}

async function pump(from: AsyncIterable<Uint8Array>, to: SpdyStream): Promise<void> {
  for await (const chunk of from) await to.write(chunk);
  to.finish();
}

async function drain(from: SpdyStream, to: (chunk: Uint8Array) => Promise<void> | void): Promise<void> {
  for await (const chunk of from.incoming) await to(chunk);
}

/** A WebSocket client that tunnels SPDY (port-forward's newest protocol): its messages are the bytes of a connection to `target`. */
export async function tunnelSpdy(
  client: UpgradeRequest,
  target: UpgradeTarget,
  headers: Record<string, string>,
): Promise<void> {
  const prefix = 'SPDY/3.1+';
  const offered = offeredProtocols(client.request.headers, 'sec-websocket-protocol').find((protocol) =>
    protocol.startsWith(prefix),
  );
  if (offered === undefined) {
    client.socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    return;
  }
  const answer = await dialUpgrade(target, 'POST', {
    ...headers,
    Connection: 'Upgrade',
    Upgrade: 'SPDY/3.1',
    'X-Stream-Protocol-Version': offered.slice(prefix.length),
  });
  if (!answer.upgraded) {
    answer.response.resume();
    client.socket.end('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    return;
  }
  const server = new WebSocketServer({ noServer: true, handleProtocols: () => offered });
  server.handleUpgrade(client.request, client.socket, client.head, (socket) => {
    joinWebSocket(socket, answer.socket, answer.head);
  });
}

function joinWebSocket(socket: WebSocket, upstream: Duplex, head: Buffer): void {
  const end = () => {
    socket.close();
    upstream.destroy();
  };
  socket.on('message', (data: Buffer) => {
    if (!upstream.write(data)) {
      socket.pause();
      upstream.once('drain', () => socket.resume());
    }
  });
  const send = (chunk: Buffer) =>
    socket.send(chunk, { binary: true }, () => {
      if (upstream.isPaused() && socket.bufferedAmount < 1 << 20) upstream.resume();
    });
  if (head.length > 0) send(head);
  upstream.on('data', (chunk: Buffer) => {
    send(chunk);
    if (socket.bufferedAmount > 1 << 20) upstream.pause();
  });
  for (const event of ['close', 'error']) {
    socket.on(event, end);
    upstream.on(event, end);
  }
}
