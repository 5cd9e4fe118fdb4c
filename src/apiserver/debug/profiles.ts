/**
 * `/debug/pprof/` (`--profiling`): what a Node.js process can tell of itself, in the forms that Chrome's developer tools read, since Go's
 * tools could make nothing of it. `profile` samples the processor for `?seconds=30`; `heap` writes down all objects, during which nothing
 * else is served. Go's other profiles have no counterpart.
 */
import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import { textResponse } from '../pages.ts';
import type { ApiRequest, ApiResponse, Handler } from '../request.ts';

const defaultSeconds = 30;
const mostSeconds = 300;

export function profilePages(clock: Clock): ReadonlyMap<string, Handler> {
  const cpu = new CpuProfiler(clock);
  const index: Handler = async () => page('/debug/pprof/', ['heap', 'profile']);
  return new Map<string, Handler>([
    [
      '/debug/pprof',
      async () =>
        ({ status: 302, headers: { location: '/debug/pprof/' }, body: { kind: 'none' } }) satisfies ApiResponse,
    ],
    [
      '/debug/pprof/',
      async (request, info) => (info.path === '/debug/pprof/' ? index(request, info) : unknownProfile()),
    ],
    ['/debug/pprof/profile', (request) => cpu.profile(request)],
    ['/debug/pprof/heap', heapSnapshot],
    ['/debug/flags', async () => page('/debug/flags/', [])],
    ['/debug/flags/', async () => page('/debug/flags/', [])],
  ]);
}

function page(title: string, entries: readonly string[]): ApiResponse {
  const items = entries.map((name) => `<li><a href="${name}">${name}</a></li>\n`).join('');
  const html = `<html>\n<head>\n<title>${title}</title>\n</head>\n<body>\n${title}<br>\n<ul>\n${items}</ul>\n</body>\n</html>\n`;
  return textResponse(200, html, { 'content-type': 'text/html; charset=utf-8' });
}

function unknownProfile(): ApiResponse {
  return textResponse(404, 'Unknown profile\n');
}

/** One profile at a time: they would count each other. */
class CpuProfiler {
  readonly #clock: Clock;
  #busy = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async profile({ query, signal }: ApiRequest): Promise<ApiResponse> {
    if (this.#busy) return textResponse(500, 'Could not enable CPU profiling: cpu profiling already in use\n');
    const asked = Number(query.get('seconds'));
    const seconds = asked > 0 ? Math.min(asked, mostSeconds) : defaultSeconds;
    this.#busy = true;
    const { Session } = await import('node:inspector/promises');
    const session = new Session();
    try {
      session.connect();
      await session.post('Profiler.enable');
      await session.post('Profiler.start');
      // Whoever has gone away wants no profile.
      await sleep(this.#clock, seconds * 1000, signal).catch(() => undefined);
      const { profile } = await session.post('Profiler.stop');
      return download('profile.cpuprofile', { kind: 'bytes', chunks: [Buffer.from(JSON.stringify(profile))] });
    } finally {
      session.disconnect();
      this.#busy = false;
    }
  }
}

const heapSnapshot: Handler = async () => {
  const { getHeapSnapshot } = await import('node:v8');
  return download('heap.heapsnapshot', { kind: 'stream', chunks: getHeapSnapshot() });
};

function download(name: string, body: ApiResponse['body']): ApiResponse {
  const headers = {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${name}"`,
    'x-content-type-options': 'nosniff',
  };
  return { status: 200, headers, body };
}
