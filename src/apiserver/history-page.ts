/**
 * `/coracle/v1/history`: how far back the store remembers and what that costs; with `?at=TIME`, which revision was the newest then. What an
 * object was is told by its own `history` (`registry/history.ts`), what all of a kind were by a list of exactly that version.
 */
import { badRequest, expired } from '../apimachinery/status.ts';
import { formatMicroTime, formatTime, parseTime } from '../apimachinery/time.ts';
import type { Clock } from '../base/clock.ts';
import type { Store } from '../storage/store.ts';
import type { KindStorage } from './registry/kind-storage.ts';
import type { Handler } from './request.ts';

type HistoryStore = Pick<Store<unknown>, 'revision' | 'currentRevision' | 'compactedRevision' | 'history' | 'size'>;

export interface HistoryPageOptions {
  readonly store: HistoryStore;
  readonly clock: Clock;
  /** The storage of Leases, where they lie in this store and so does everything else. */
  leases(): KindStorage | undefined;
}

interface At {
  readonly revision: number;
  /** When the revision is known to have been there, where that is not the time that was asked for. */
  readonly knownAtMs?: number;
}

export function historyHandler(options: HistoryPageOptions): Handler {
  const { store } = options;
  return async ({ query }) => {
    const at = query.get('at');
    const kept = store.history?.kept();
    const current = (await store.currentRevision?.()) ?? store.revision;
    const body = {
      kind: 'StoreHistory',
      apiVersion: 'coracle/v1',
      revision: String(current),
      oldestRevision: String(Math.max(1, store.compactedRevision)),
      ...(kept?.sinceMs === undefined ? {} : { oldestTime: formatTime(kept.sinceMs) }),
      ...(kept ? { changes: kept.changes, bytes: kept.bytes } : {}),
      storeBytes: await store.size(),
      ...(at ? { at: told(at, await revisionAt(options, at, current)) } : {}),
    };
    const bytes = Buffer.from(`${JSON.stringify(body)}\n`);
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: { kind: 'bytes', chunks: [bytes], object: () => body },
    };
  };
}

function told(time: string, { revision, knownAtMs }: At) {
  return {
    time,
    revision: String(revision),
    ...(knownAtMs === undefined ? {} : { knownAt: formatMicroTime(knownAtMs) }),
  };
}

async function revisionAt({ store, clock, leases }: HistoryPageOptions, at: string, current: number): Promise<At> {
  const timeMs = parseTime(at);
  if (timeMs === undefined) throw badRequest(`at: ${JSON.stringify(at)} is no time as in RFC 3339`);
  const { history, compactedRevision } = store;
  if (history) {
    const revision = history.revisionAt(timeMs);
    if (revision !== undefined && revision >= compactedRevision) return { revision };
    throw forgotten(at, history.kept().sinceMs);
  }
  // Times are given to the second.
  if (timeMs + 1000 > clock.now()) return { revision: current };
  const renewed = leases();
  if (!renewed)
    throw badRequest('the etcds of this cluster have no order in time among their revisions: ask for a revision');
  const { knownTimeAt } = await import('./past-times.ts');
  const { known, oldest } = await knownTimeAt(renewed, timeMs);
  if (known && known.revision >= compactedRevision) return { revision: known.revision, knownAtMs: known.timeMs };
  if (!oldest) throw badRequest('this store does not know when something was written: ask for a revision');
  throw forgotten(at, oldest.timeMs);
}

function forgotten(at: string, sinceMs: number | undefined): Error {
  const since = sinceMs === undefined ? '' : `, which begins at ${formatTime(sinceMs)}`;
  return expired(`${at} lies before what is remembered${since}`);
}
