/** Where a cache and its registry get objects from: the store and its feed, or what stands before them and converts. */
import type { Store } from '../../storage/store.ts';
import type { StoreFeed } from './store-feed.ts';

export type SourceStore<V> = Pick<
  Store<V>,
  'revision' | 'currentRevision' | 'compactedRevision' | 'history' | 'range' | 'put' | 'remove' | 'watch'
>;
export type SourceFeed<V> = Pick<StoreFeed<V>, 'revision' | 'attach' | 'detach' | 'reach'>;

export interface Source<V> {
  /** Whether values are objects; else they are their canonical JSON. */
  readonly keepsObjects: boolean;
  readonly store: SourceStore<V>;
  readonly feed: SourceFeed<V>;
}
