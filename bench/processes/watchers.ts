/** Watchers, each on a connection of its own. They count what arrives and do not look inside, for decoding would be the client's cost. */
import type { ClientHttp2Session } from 'node:http2';
import { answer } from '../parts/child.ts';
import { type Access, openSession } from '../parts/https-client.ts';

export interface OpenWatches {
  readonly kind: 'open';
  readonly access: Access;
  readonly path: string;
  readonly watchers: number;
  readonly connections: number;
}

export interface Delivered {
  /** By each watcher since they were opened. */
  readonly events: readonly number[];
  readonly megabytes: number;
  readonly atMs: number;
}

const newline = 10;
const counts: number[] = [];
let bytes = 0;

answer({
  async open({ access, path, watchers, connections }: OpenWatches): Promise<void> {
    const sessions = await Promise.all(Array.from({ length: connections }, () => openSession(access)));
    await Promise.all(
      Array.from({ length: watchers }, (_, watcher) => watch(sessions[watcher % connections]!, path, watcher)),
    );
  },
  delivered: (): Delivered => ({ events: [...counts], megabytes: bytes / 1e6, atMs: Date.now() }),
});

/** Resolves when the watch has begun. */
function watch(session: ClientHttp2Session, path: string, watcher: number): Promise<void> {
  counts[watcher] = 0;
  const stream = session.request({ ':path': path });
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    let lines = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) lines++;
    counts[watcher]! += lines;
  });
  return new Promise((resolve, reject) => {
    stream.once('response', ({ ':status': status }) => {
      if (status === 200) resolve();
      else reject(new Error(`the watch was answered with ${status}`));
    });
    stream.once('error', reject);
  });
}
