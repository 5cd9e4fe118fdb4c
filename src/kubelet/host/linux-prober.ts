/** Probes over the network, in upstream's words. Certificates are not verified and redirects to another host not followed. */
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { formatDuration } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import { dialReasons } from '../../base/dial-reasons.ts';
import { connectGrpc, GrpcError, grpcCodes } from '../../base/grpc/index.ts';
import { hostPort } from '../../base/host-port.ts';
import { messageCodec } from '../../base/protobuf/message-codec.ts';
import type { HttpTarget, NetworkProber, ProbeOutcome } from './host.ts';

const maxBodyBytes = 10 * 1024;
const maxRedirects = 10;

export class LinuxProber implements NetworkProber {
  readonly #clock: Clock;
  /** Each probe has a connection of its own: that it can be made is part of what is asked. */
  readonly #agents = {
    http: new HttpAgent({ keepAlive: false }),
    https: new HttpsAgent({ keepAlive: false, maxCachedSessions: 0 }),
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async http(target: HttpTarget, timeoutMs: number, signal: AbortSignal): Promise<ProbeOutcome> {
    const started = new URL(target.url);
    let url = started;
    const limit = this.#limit(timeoutMs, signal);
    try {
      for (let hops = 0; ; hops++) {
        const { status, body, location } = await get(url, target, { agents: this.#agents, signal: limit.signal });
        if (status >= 200 && status < 300) return { result: 'success', output: body };
        if (status < 300 || status >= 400)
          return { result: 'failure', output: `HTTP probe failed with statuscode: ${status}` };
        const next = location ? new URL(location, url) : undefined;
        // A redirect to elsewhere shows that the server answers; what is there is not asked.
        if (!next || next.hostname !== started.hostname)
          return { result: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
        if (hops >= maxRedirects)
          return {
            result: 'failure',
            output: `Get ${JSON.stringify(target.url)}: stopped after ${maxRedirects} redirects`,
          };
        url = next;
      }
    } catch (error) {
      const reason = limit.timedOut()
        ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        : dialError(error, started.hostname, portOf(started));
      return { result: 'failure', output: `Get ${JSON.stringify(target.url)}: ${reason}` };
    } finally {
      limit.end();
    }
  }

  async tcp(host: string, port: number, timeoutMs: number, signal: AbortSignal): Promise<ProbeOutcome> {
    const limit = this.#limit(timeoutMs, signal);
    try {
      await new Promise<void>((resolve, reject) => {
        const socket = connect({ host, port, signal: limit.signal });
        socket.once('connect', () => {
          socket.destroy();
          resolve();
        });
        socket.once('error', reject);
      });
      return { result: 'success', output: '' };
    } catch (error) {
      const reason = limit.timedOut()
        ? `dial tcp ${hostPort({ host, port })}: i/o timeout`
        : dialError(error, host, port);
      return { result: 'failure', output: reason };
    } finally {
      limit.end();
    }
  }

  async grpc(
    host: string,
    port: number,
    service: string,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ProbeOutcome> {
    const limit = this.#limit(timeoutMs, signal);
    const within = formatDuration(timeoutMs);
    try {
      const status = await grpcHealth(this.#clock, hostPort({ host, port }), service, limit.signal);
      if (status === 1) return { result: 'success', output: 'service healthy' };
      return { result: 'failure', output: `service unhealthy (responded with "${servingStatuses[status] ?? status}")` };
    } catch (error) {
      return { result: 'failure', output: grpcProblem(error, hostPort({ host, port }), within) };
    } finally {
      limit.end();
    }
  }

  #limit(timeoutMs: number, signal: AbortSignal) {
    // Not `AbortSignal.any`, which keeps book of all that derive from a signal that lives as long as the container.
    const either = new AbortController();
    const stop = () => either.abort(signal.reason);
    const timer = this.#clock.after(timeoutMs, () => either.abort());
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    return {
      signal: either.signal,
      timedOut: () => either.signal.aborted && !signal.aborted,
      end: () => {
        timer.cancel();
        signal.removeEventListener('abort', stop);
      },
    };
  }
}

const portOf = (url: URL) => Number(url.port) || (url.protocol === 'https:' ? 443 : 80);

const reasons: Readonly<Record<string, string>> = { ...dialReasons, ETIMEDOUT: 'i/o timeout' };

function dialError(error: unknown, host: string, port: number): string {
  const { code = '', message = String(error) } = error as { code?: string; message?: string };
  if (code === 'ECONNRESET')
    return message === 'socket hang up'
      ? 'EOF'
      : `read tcp ${hostPort({ host, port })}: read: connection reset by peer`;
  const reason = reasons[code];
  return reason ? `dial tcp ${hostPort({ host, port })}: ${reason}` : message;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly location: string | undefined;
}

interface GetOptions {
  readonly agents: { readonly http: HttpAgent; readonly https: HttpsAgent };
  readonly signal: AbortSignal;
}

function get(url: URL, target: HttpTarget, { agents, signal }: GetOptions): Promise<Answer> {
  const headers: Record<string, string> = {};
  for (const { name, value } of target.headers) headers[name] = value;
  const [request, agent] = url.protocol === 'https:' ? [httpsRequest, agents.https] : [httpRequest, agents.http];
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { headers, signal, agent, rejectUnauthorized: false }, (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      const done = () => {
        resolve({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks).subarray(0, maxBodyBytes).toString(),
          location: response.headers.location,
        });
        response.destroy();
      };
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        length += chunk.length;
        if (length >= maxBodyBytes) done();
      });
      response.on('end', done);
      response.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

const servingStatuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** The connection was not there in time. Until then it is tried again, so a refused one is not told apart. */
class NotConnected extends Error {
  override readonly name = 'NotConnected';
}

function grpcProblem(error: unknown, target: string, within: string): string {
  if (error instanceof NotConnected) {
    return `timeout: failed to connect service ${JSON.stringify(target)} within ${within}: context deadline exceeded`;
  }
  // What is no answer of gRPC is our own limit.
  if (!(error instanceof GrpcError) || error.code === grpcCodes.cancelled) {
    return `timeout: health rpc did not complete within ${within}`;
  }
  if (error.code === grpcCodes.unimplemented) {
    return `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${error.details}`;
  }
  return `error: health rpc probe failed: ${error.message}`;
}

const checkHealth = {
  path: '/grpc.health.v1.Health/Check',
  request: messageCodec({ service: [1, 'string'] } as const),
  response: messageCodec({ status: [1, 'int'] } as const),
};

async function grpcHealth(clock: Clock, target: string, service: string, signal: AbortSignal): Promise<number> {
  const connection = await connectGrpc({ clock, target });
  try {
    await connection.ready(signal).catch(() => {
      throw new NotConnected();
    });
    return (await connection.unary(checkHealth, { service }, { signal })).status;
  } finally {
    connection.close();
  }
}
