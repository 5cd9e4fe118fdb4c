/**
 * Reading from an identity provider, who is a stranger: everything is bounded, the time, the size of the answer, the redirects, and no
 * answer is taken that did not come over TLS from whom it should.
 */
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { quote } from '../../../apimachinery/go-text.ts';
import { messageOf } from '../../../apimachinery/status.ts';
import type { Clock } from '../../../base/clock.ts';
import { connectionFailure } from '../../../serving/dial.ts';
import { systemAuthorities } from '../../webhook-client/connection-pool.ts';

export interface HttpsGetOptions {
  readonly clock: Clock;
  /** PEM of who may vouch for the server; absent: those of the system. */
  readonly ca?: string | undefined;
  readonly authorization?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface HttpsAnswer {
  readonly status: number;
  /** As in `200 OK`. */
  readonly statusText: string;
  readonly contentType: string;
  readonly cacheControl: string;
  readonly text: string;
}

const timeoutMs = 30_000;
const mostRedirects = 10;
const longestAnswerBytes = 1 << 20;

/** Rejects when there is no answer; an answer of any status is one. */
export async function httpsGet(url: string, options: HttpsGetOptions): Promise<HttpsAnswer> {
  const limit = new AbortController();
  const timer = options.clock.after(timeoutMs, () => limit.abort(new Error('context deadline exceeded')));
  const onGone = () => limit.abort(new Error('context canceled'));
  if (options.signal?.aborted) onGone();
  options.signal?.addEventListener('abort', onGone, { once: true });
  try {
    return await follow(url, options, limit.signal);
  } catch (error) {
    const reason = limit.signal.aborted ? messageOf(limit.signal.reason) : messageOf(error);
    throw new Error(`Get ${quote(url)}: ${reason}`, { cause: error });
  } finally {
    timer.cancel();
    options.signal?.removeEventListener('abort', onGone);
  }
}

async function follow(start: string, options: HttpsGetOptions, signal: AbortSignal): Promise<HttpsAnswer> {
  let url = new URL(start);
  let { authorization } = options;
  for (let redirects = 0; ; redirects++) {
    if (url.protocol !== 'https:') throw new Error(`${quote(url.protocol.slice(0, -1))} is not https`);
    const answer = await exchange(url, { ...options, authorization }, signal);
    const { statusCode = 0, headers } = answer;
    const { location } = headers;
    if (![301, 302, 303, 307, 308].includes(statusCode) || location === undefined)
      return { ...head(answer), text: await readText(answer) };
    answer.destroy();
    if (redirects + 1 >= mostRedirects) throw new Error(`stopped after ${mostRedirects} redirects`);
    const next = URL.parse(location, url.href);
    if (!next) throw new Error(`failed to parse Location header ${quote(location)}`);
    // A token is for whom it was given, not for whom he names.
    if (next.host !== url.host) authorization = undefined;
    url = next;
  }
}

function head({ statusCode = 0, statusMessage = '', headers }: IncomingMessage): Omit<HttpsAnswer, 'text'> {
  return {
    status: statusCode,
    statusText: `${statusCode} ${statusMessage}`,
    contentType: headers['content-type'] ?? '',
    cacheControl: headers['cache-control'] ?? '',
  };
}

function exchange(url: URL, options: HttpsGetOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const { ca, authorization } = options;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      agent: false,
      signal,
      ca: ca ?? systemAuthorities(),
      minVersion: 'TLSv1.2',
      headers: {
        accept: 'application/json, */*',
        'accept-encoding': 'identity',
        'user-agent': 'kube-apiserver',
        ...(authorization === undefined ? {} : { authorization }),
      },
    });
    sent.on('response', resolve);
    sent.on('error', (error) => reject(new Error(connectionFailure(error, url.hostname), { cause: error })));
    sent.on('upgrade', (_response, socket) => {
      socket.destroy();
      reject(new Error('unexpected upgrade'));
    });
    sent.end();
  });
}

async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > longestAnswerBytes) throw new Error(`the answer is longer than ${longestAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
