/**
 * `/coracle/v1/history`: how far back the store remembers and what that costs; with `?at=TIME`, which revision was the newest then. What an
 * object was is told by its own `history` (`registry/history.ts`), what all of a kind were by a list of exactly that version.
 */
import { badRequest, expired } from '../apimachinery/status.ts';
import { formatTime, parseTime } from '../apimachinery/time.ts';
import type { Store } from '../storage/store.ts';
import type { Handler } from './request.ts';

type HistoryStore = Pick<Store<unknown>, 'revision' | 'currentRevision' | 'compactedRevision' | 'history' | 'size'>;

export function historyHandler(store: HistoryStore): Handler {
  return async ({ query }) => {
    const at = query.get('at');
    const kept = store.history?.kept();
    const body = {
      kind: 'StoreHistory',
      apiVersion: 'coracle/v1',
      revision: String((await store.currentRevision?.()) ?? store.revision),
      oldestRevision: String(Math.max(1, store.compactedRevision)),
      ...(kept?.sinceMs === undefined ? {} : { oldestTime: formatTime(kept.sinceMs) }),
      ...(kept ? { changes: kept.changes, bytes: kept.bytes } : {}),
      storeBytes: await store.size(),
      ...(at ? { at: { time: at, revision: String(revisionAt(store, at)) } } : {}),
    };
    const bytes = Buffer.from(`${JSON.stringify(body)}\n`);
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: { kind: 'bytes', chunks: [bytes], object: () => body },
    };
  };
}

function revisionAt({ history, compactedRevision }: HistoryStore, at: string): number {
  const timeMs = parseTime(at);
  if (timeMs === undefined) throw badRequest(`at: ${JSON.stringify(at)} is no time as in RFC 3339`);
  if (!history) throw badRequest('this store does not know when something was written: ask for a revision');
  const revision = history.revisionAt(timeMs);
  if (revision !== undefined && revision >= compactedRevision) return revision;
  const { sinceMs } = history.kept();
  const since = sinceMs === undefined ? '' : `, which begins at ${formatTime(sinceMs)}`;
  throw expired(`${at} lies before what is remembered${since}`);
}
