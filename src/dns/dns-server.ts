/**
 * Answers DNS questions over UDP and TCP: the cluster's own names from `resolve`, everything else from the upstream servers, asked
 * in turn. A question it cannot read gets FORMERR, an upstream that is silent SERVFAIL; neither ends the server.
 */
import { createSocket, type Socket } from 'node:dgram';
import { createServer, type Server, type Socket as TcpSocket } from 'node:net';
import {
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  type Packet,
  type Question,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
  TRUNCATED_RESPONSE,
} from 'dns-packet';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { ttlSeconds, type ZoneReply } from './cluster-zone.ts';

export interface DnsServerOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly domain: string;
  readonly addresses: readonly string[];
  readonly port: number;
  /** `host` or `host:port` of the servers asked for names outside the cluster. */
  readonly upstreams: readonly string[];
  resolve(question: { readonly name: string; readonly type: Question['type'] }): ZoneReply;
}

export interface DnsServer {
  /** The port listened on: that of the options unless it was 0. */
  readonly port: number;
  close(): Promise<void>;
}

const responseCode = { formatError: 1, serverFailure: 2, noSuchName: 3, refused: 5 };
const upstreamTimeoutMs = 2000;
const largestPlainUdp = 512;
/** Aliases that lead to aliases are followed this far. */
const longestAliasChain = 8;

export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  const sockets: Socket[] = [];
  const servers: Server[] = [];
  const connections = new Set<TcpSocket>();
  let port = options.port;
  for (const address of options.addresses) {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    await listening(socket, () => socket.bind(port, address));
    port = socket.address().port;
    socket.on('error', (error) => options.log.warn('DNS socket', { error }));
    socket.on('message', (message, from) => {
      void answer(message, options).then(
        (reply) => reply && socket.send(fitUdp(message, reply), from.port, from.address),
      );
    });
    sockets.push(socket);
    const server = createServer((connection) => {
      connections.add(connection);
      connection.on('close', () => connections.delete(connection));
      serveTcp(connection, options);
    });
    await listening(server, () => server.listen(port, address));
    servers.push(server);
  }
  return {
    port,
    async close() {
      for (const connection of connections) connection.destroy();
      await Promise.all([
        ...sockets.map((socket) => new Promise<void>((done) => socket.close(done))),
        ...servers.map((server) => new Promise((done) => server.close(done))),
      ]);
    },
  };
}

function listening(emitter: Socket | Server, start: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    emitter.once('error', reject);
    emitter.once('listening', () => {
      emitter.removeListener('error', reject);
      resolve();
    });
    start();
  });
}

/** Messages over TCP carry their length in two bytes in front. */
function serveTcp(connection: TcpSocket, options: DnsServerOptions): void {
  let pending = Buffer.alloc(0);
  connection.setTimeout(10_000, () => connection.destroy());
  connection.on('error', () => connection.destroy());
  connection.on('data', (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const length = pending.readUInt16BE(0);
      const message = pending.subarray(2, 2 + length);
      pending = pending.subarray(2 + length);
      void answer(message, options).then((reply) => {
        if (!reply || connection.destroyed) return;
        const size = Buffer.alloc(2);
        size.writeUInt16BE(reply.length);
        connection.write(Buffer.concat([size, reply]));
      });
    }
  });
}

/** The reply in bytes; undefined for what deserves none. */
async function answer(message: Buffer, options: DnsServerOptions): Promise<Buffer | undefined> {
  let query: Packet;
  try {
    query = decode(message);
  } catch {
    return message.length < 2 ? undefined : failure(message, responseCode.formatError);
  }
  if (query.type !== 'query') return undefined;
  const question = query.questions?.[0];
  if (!question) return failure(message, responseCode.formatError);
  const reply = options.resolve({ name: question.name, type: question.type });
  if (reply.kind === 'foreign') return forward(message, options);
  if (
    reply.kind === 'answer' &&
    reply.answers.length === 1 &&
    reply.answers[0]?.type === 'CNAME' &&
    question.type !== 'CNAME'
  )
    return followAlias(query, question, String(reply.answers[0].data), reply, options);
  return encodeReply(query, question, reply, options.domain);
}

function encodeReply(
  query: Packet,
  question: Question,
  reply: Exclude<ZoneReply, { readonly kind: 'foreign' }>,
  domain: string,
): Buffer {
  const answers = reply.kind === 'answer' ? [...reply.answers] : [];
  return encode({
    type: 'response',
    id: query.id ?? 0,
    flags:
      AUTHORITATIVE_ANSWER |
      RECURSION_AVAILABLE |
      ((query.flags ?? 0) & RECURSION_DESIRED) |
      (reply.kind === 'no-such-name' ? responseCode.noSuchName : 0),
    questions: [question],
    answers,
    additionals: reply.kind === 'answer' ? [...(reply.additionals ?? [])] : [],
    authorities: answers.length > 0 ? [] : [startOfAuthority(domain)],
  });
}

function startOfAuthority(domain: string) {
  const data = {
    mname: `ns.dns.${domain}`,
    rname: `hostmaster.${domain}`,
    serial: 1,
    refresh: 7200,
    retry: 1800,
    expire: 86_400,
    minimum: ttlSeconds,
  };
  return { type: 'SOA' as const, name: domain, ttl: ttlSeconds, data };
}

/** An ExternalName Service: the alias, and what the cluster, or else upstream, knows of its target. */
async function followAlias(
  query: Packet,
  question: Question,
  target: string,
  reply: Extract<ZoneReply, { readonly kind: 'answer' }>,
  options: DnsServerOptions,
): Promise<Buffer> {
  const isCircle = reply.answers.some(({ name }) => name.toLowerCase() === target.toLowerCase());
  if (isCircle || reply.answers.length >= longestAliasChain) return encodeReply(query, question, reply, options.domain);
  const inside = options.resolve({ name: target, type: question.type });
  if (inside.kind !== 'foreign') {
    const next = inside.kind === 'answer' ? inside.answers : [];
    const alias = next.length === 1 && next[0]?.type === 'CNAME' ? String(next[0].data) : undefined;
    const all = { ...reply, answers: [...reply.answers, ...next] };
    return alias === undefined
      ? encodeReply(query, question, all, options.domain)
      : followAlias(query, question, alias, all, options);
  }
  const asked = encode({
    type: 'query',
    id: query.id ?? 0,
    flags: RECURSION_DESIRED,
    questions: [{ ...question, name: target }],
  });
  const found = decode(await forward(asked, options));
  return encodeReply(
    query,
    question,
    { ...reply, answers: [...reply.answers, ...(found.answers ?? [])] },
    options.domain,
  );
}

async function forward(message: Buffer, options: DnsServerOptions): Promise<Buffer> {
  for (const upstream of options.upstreams) {
    try {
      return await askUdp(message, upstream, options.clock);
    } catch (error) {
      options.log.debug('upstream DNS server', { upstream, error });
    }
  }
  return failure(message, options.upstreams.length === 0 ? responseCode.refused : responseCode.serverFailure);
}

function askUdp(message: Buffer, upstream: string, clock: Clock): Promise<Buffer> {
  const match = /^(?:\[(.+)\]|([^:]+)|(.*))(?::(\d+))?$/.exec(upstream);
  const host = match?.[1] ?? match?.[2] ?? upstream;
  return new Promise((resolve, reject) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    const finish = (act: () => void) => {
      timer.cancel();
      socket.close();
      act();
    };
    const timer = clock.after(upstreamTimeoutMs, () => finish(() => reject(new Error('no answer'))));
    socket.once('error', (error) => finish(() => reject(error)));
    socket.on('message', (reply) => {
      if (reply.length >= 2 && reply.readUInt16BE(0) === message.readUInt16BE(0)) finish(() => resolve(reply));
    });
    socket.send(message, Number(match?.[4] ?? 53), host);
  });
}

/** A bare reply with an error code, made from the question's own header. */
function failure(message: Buffer, code: number): Buffer {
  const reply = Buffer.alloc(12);
  message.copy(reply, 0, 0, 2);
  reply.writeUInt16BE(0x8000 | RECURSION_AVAILABLE | code, 2);
  return reply;
}

/** What does not fit the asker's buffer is cut to its header with the truncation bit: it will come again by TCP. */
function fitUdp(question: Buffer, reply: Buffer): Buffer {
  if (reply.length <= largestPlainUdp) return reply;
  const offered = decode(question).additionals?.find((record) => record.type === 'OPT');
  if (offered && 'udpPayloadSize' in offered && reply.length <= offered.udpPayloadSize) return reply;
  const parsed = decode(reply);
  return encode({
    type: 'response',
    id: parsed.id ?? 0,
    flags: (parsed.flags ?? 0) | TRUNCATED_RESPONSE,
    questions: parsed.questions ?? [],
  });
}
