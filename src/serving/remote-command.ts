/**
 * exec and attach: one command's stdin, stdout, stderr, error and resize streams, over whichever protocol the client speaks. The server's
 * side accepts SPDY (one stream each) and WebSocket (one channel byte before each message; v5 adds half-close); the
 * client's side speaks SPDY v4 to a kubelet or runtime. `bridge` joins the two, so that a client with the newest protocol meets a
 * runtime that only knows the old one.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { internalError, messageOf } from '../apimachinery/status.ts';
import { webSocketLibrary } from '../base/lazy-module.ts';
import { SpdyConnection, type SpdyStream } from './spdy/connection.ts';
import {
  acceptUpgrade,
  dialUpgrade,
  forwardedHeaders,
  type OutgoingHeaders,
  refuseUpgrade,
  responseText,
  type UpgradeAnswer,
  type UpgradeRequest,
  type UpgradeTarget,
} from './upgrade.ts';

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

const successStatus = { metadata: {}, status: 'Success' };

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
  return internalError(message).status;
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

/**
 * Answers the upgrade and resolves with the streams once the client has opened them; undefined when no protocol is common (answered
 * 403) or the client has gone before.
 */
export function acceptCommand(client: UpgradeRequest, options: CommandOptions): Promise<CommandStreams | undefined> {
  return isWebSocket(client.request.headers) ? acceptWebSocket(client, options) : acceptSpdy(client, options);
}

/** Bytes that may wait for the command before the client is read no further. */
const pauseAbove = 1 << 20;

/** A push-driven source that can be read with `for await`; `flow` says whether more may come. */
class Channel implements AsyncIterable<Uint8Array> {
  readonly #queue: Uint8Array[] = [];
  readonly #flow: (open: boolean) => void;
  #waitingBytes = 0;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(flow: (open: boolean) => void = () => {}) {
    this.#flow = flow;
  }

  push(chunk: Uint8Array): void {
    if (this.#ended) return;
    this.#queue.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes > pauseAbove) this.#flow(false);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    for (;;) {
      const chunk = this.#queue.shift();
      if (chunk) {
        const wasFull = this.#waitingBytes > pauseAbove;
        this.#waitingBytes -= chunk.length;
        if (wasFull && this.#waitingBytes <= pauseAbove) this.#flow(true);
        yield chunk;
      } else if (this.#ended) return;
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
  const { WebSocketServer } = webSocketLibrary();
  const server = new WebSocketServer({ noServer: true, handleProtocols: () => protocol || false });
  return new Promise((resolve) => {
    if (protocol === undefined) {
      refuseProtocol(client.socket, offered, webSocketVersions);
      resolve(undefined);
      return;
    }
    server.handleUpgrade(client.request, client.socket, client.head, (socket) =>
      resolve(webSocketStreams(socket, options, base64 === protocol)),
    );
  });
}

function webSocketStreams(socket: WebSocket, options: CommandOptions, base64: boolean): CommandStreams {
  const stdin = new Channel((open) => (open ? socket.resume() : socket.pause()));
  const resize = new Channel();
  const gone = new AbortController();
  socket.on('message', (data: Buffer) => {
    const message = base64
      ? Buffer.concat([Buffer.from([data[0]! - 48]), Buffer.from(data.subarray(1).toString(), 'base64')])
      : data;
    if (message.length === 0) return;
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
  // An empty message on the first channel that the client will read tells it that the command is there.
  const first = options.stdout ? channels.stdout : options.stderr ? channels.stderr : channels.error;
  void send(first, new Uint8Array(0));
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
    refuseProtocol(client.socket, offered, spdyVersions);
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
      onClose: () => {
        gone.abort();
        resolve(undefined);
      },
    });
  });
}

/** No protocol in common. */
function refuseProtocol(socket: Duplex, offered: readonly string[], known: readonly string[]): void {
  const list = (protocols: readonly string[]) => protocols.filter((protocol) => protocol !== '').join(' ');
  refuseUpgrade(
    socket,
    403,
    `unable to upgrade: unable to negotiate protocol: client supports [${list(offered)}], server accepts [${list(known)}]`,
    'text/plain',
  );
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

/** In v4 success is told too: a session that ends without a word was cut off, and nobody knows how its command went. */
const lostVerdict = 'error reading from error stream: unexpected EOF';

/** The client's side: dials `target` with SPDY and runs the command that its URL names for the given streams. */
export async function bridge(streams: CommandStreams, target: UpgradeTarget, options: CommandOptions): Promise<void> {
  const headers = { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': 'v4.channel.k8s.io' };
  let answer: UpgradeAnswer;
  try {
    answer = await dialUpgrade(target, 'POST', headers, streams.signal);
  } catch (error) {
    return streams.finish(commandFailure(`error dialing backend: ${messageOf(error)}`));
  }
  if (!answer.upgraded) return streams.finish(refusalStatus(await responseText(answer.response)));
  const connection = new SpdyConnection(answer.socket, answer.head, { role: 'client' });
  const onGone = () => connection.close();
  streams.signal.addEventListener('abort', onGone, { once: true });
  if (streams.signal.aborted) onGone();
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
    await streams.finish(text === '' ? commandFailure(lostVerdict) : parseStatus(text));
  } finally {
    streams.signal.removeEventListener('abort', onGone);
    connection.close();
  }
}

/** What a server that would not upgrade has said, as the command's end: its Status where it gave one. */
function refusalStatus(text: string): unknown {
  try {
    const status = JSON.parse(text) as { readonly kind?: string };
    if (status?.kind === 'Status') return status;
  } catch {
    // Plain text, as kubelets answer.
  }
  return commandFailure(`unable to upgrade connection: ${text.trim()}`);
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

const tunnelPrefix = 'SPDY/3.1+';

/** Whether a client speaks SPDY inside a WebSocket (port-forward's newest protocol). */
export function asksTunnel(headers: Readonly<Record<string, string | readonly string[] | undefined>>): boolean {
  return (
    isWebSocket(headers) &&
    offeredProtocols(headers, 'sec-websocket-protocol').some((protocol) => protocol.startsWith(tunnelPrefix))
  );
}

/** Whether a client needs a translation for servers that know only SPDY and WebSocket up to v4. */
export function asksStreamClose(headers: Readonly<Record<string, string | readonly string[] | undefined>>): boolean {
  return isWebSocket(headers) && offeredProtocols(headers, 'sec-websocket-protocol').includes('v5.channel.k8s.io');
}

/**
 * A WebSocket client that tunnels SPDY: its messages are the bytes of a connection to `target`. Resolves once both are joined, or with the
 * answer of a target that would not upgrade, the client being still unanswered; rejects when the target cannot be reached.
 */
export async function tunnelSpdy(
  client: UpgradeRequest,
  target: UpgradeTarget,
  headers: OutgoingHeaders = {},
): Promise<IncomingMessage | undefined> {
  const { 'sec-websocket-protocol': protocols, ...rest } = client.request.headers;
  const offered =
    offeredProtocols({ protocols }, 'protocols').find((protocol) => protocol.startsWith(tunnelPrefix)) ?? '';
  const passed = Object.entries(forwardedHeaders(rest)).filter(([name]) => !name.startsWith('sec-websocket-'));
  const answer = await dialUpgrade(target, 'POST', {
    ...Object.fromEntries(passed),
    ...headers,
    connection: 'Upgrade',
    upgrade: 'SPDY/3.1',
    'x-stream-protocol-version': offered.slice(tunnelPrefix.length),
  });
  if (!answer.upgraded) return answer.response;
  const { WebSocketServer } = webSocketLibrary();
  const server = new WebSocketServer({ noServer: true, handleProtocols: () => offered });
  server.handleUpgrade(client.request, client.socket, client.head, (socket) => {
    joinWebSocket(socket, answer.socket, answer.head);
  });
  return undefined;
}

/** Bytes on their way to a slow client before the other side is read no further. */
const slowClientBytes = 1 << 20;

function joinWebSocket(socket: WebSocket, upstream: Duplex, head: Buffer): void {
  socket.on('message', (data: Buffer) => {
    if (upstream.write(data)) return;
    socket.pause();
    upstream.once('drain', () => socket.resume());
  });
  const send = (chunk: Buffer) =>
    socket.send(chunk, { binary: true }, () => {
      if (upstream.isPaused() && socket.bufferedAmount < slowClientBytes) upstream.resume();
    });
  if (head.length > 0) send(head);
  upstream.on('data', (chunk: Buffer) => {
    send(chunk);
    if (socket.bufferedAmount > slowClientBytes) upstream.pause();
  });
  // What was written before either side closed still leaves.
  socket.on('close', () => upstream.end(() => upstream.destroy()));
  socket.on('error', () => upstream.destroy());
  upstream.on('end', () => socket.close());
  upstream.on('close', () => socket.close());
  upstream.on('error', () => socket.close());
}
