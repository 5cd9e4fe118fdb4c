/** Watchers, several or one to a connection. They count what arrives and do not look inside, for decoding would be the client's cost. */
import { answer } from '../parts/child.ts';
import { type Counted, countOn } from '../parts/counting-client.ts';
import type { Access } from '../parts/https-client.ts';

export interface OpenWatches {
  readonly kind: 'open';
  readonly access: Access;
  readonly path: string;
  readonly watchers: number;
  readonly connections: number;
}

export interface Delivered {
  /** To all watchers since they were opened. */
  readonly events: number;
  readonly bytes: number;
}

const counted: Counted = { events: [], bytes: 0 };

answer({
  async open({ access, path, watchers, connections }: OpenWatches): Promise<void> {
    const all = Array.from({ length: watchers }, (_, watcher) => watcher);
    const opened = Array.from({ length: connections }, (_, connection) =>
      countOn(access, { path, watches: all.filter((watcher) => watcher % connections === connection), counted }),
    );
    await Promise.all(opened);
  },
  /** Fails when a watch has ended, for then what arrives says nothing of the server. */
  delivered(): Delivered {
    if (counted.failure) throw counted.failure;
    return { events: counted.events.reduce((sum, count) => sum + count, 0), bytes: counted.bytes };
  },
});
