/**
 * What a watcher receives for an event. One representation per served version and transformation, made once per server, so that
 * watchers of a kind share frames: `CacheEvent` compares representations by identity.
 */
import type { KubeObject } from '../../apimachinery/meta.ts';
import { deepFreeze } from '../../base/deep-freeze.ts';
import type { WatchFrame } from '../request.ts';
import type { ServedResource } from '../resources.ts';
import { type CacheEntry, withRevision } from '../watch-cache/cache-entry.ts';
import type { FrameType, Representation } from '../watch-cache/cache-event.ts';
import { type Envelope, replaceRevision } from '../watch-cache/encoded-object.ts';

const typeHead: Readonly<Record<FrameType, Buffer>> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
};
const frameEnd = Buffer.from('}\n');

/** Whole objects of one served version. */
export function wholeObjects(resource: ServedResource, envelope: Envelope): Representation {
  return {
    frame: (type, entry, revision) => new ObjectFrame(resource, envelope, type, entry, revision),
    bookmark: (revision, endsState) =>
      bookmarkFrame({ kind: resource.row.kind, apiVersion: resource.apiVersion }, revision, endsState),
  };
}

class ObjectFrame implements WatchFrame {
  readonly type: FrameType;
  readonly #resource: ServedResource;
  readonly #envelope: Envelope;
  readonly #entry: CacheEntry;
  readonly #revision: number;
  #encoded: Buffer | undefined;
  #object: KubeObject | undefined;

  constructor(resource: ServedResource, envelope: Envelope, type: FrameType, entry: CacheEntry, revision: number) {
    this.type = type;
    this.#resource = resource;
    this.#envelope = envelope;
    this.#entry = entry;
    this.#revision = revision;
  }

  get object(): KubeObject {
    if (this.#revision === this.#entry.revision) return this.#entry.objectIn(this.#resource);
    this.#object ??= Object.freeze(withRevision(this.#entry.objectIn(this.#resource), this.#revision));
    return this.#object;
  }

  encoded(): Buffer {
    if (!this.#encoded) {
      const bytes = this.#entry.bytesIn(this.#resource, this.#envelope);
      const current =
        this.#revision === this.#entry.revision
          ? bytes
          : replaceRevision(this.#envelope, bytes, this.#entry.revision, this.#revision);
      this.#encoded = Buffer.concat([typeHead[this.type], current, frameEnd]);
    }
    return this.#encoded;
  }
}

/** Objects made into something else; made anew for each event, shared by its watchers. */
export function transformedObjects(
  resource: ServedResource,
  transform: (served: KubeObject, hub: KubeObject) => unknown,
): Representation {
  return {
    frame(type, entry, revision) {
      const object = entry.objectIn(resource);
      const served = revision === entry.revision ? object : withRevision(object, revision);
      return plainFrame(type, transform(served, entry.object()));
    },
    bookmark: (revision, endsState) =>
      bookmarkFrame({ kind: resource.row.kind, apiVersion: resource.apiVersion }, revision, endsState),
  };
}

function bookmarkFrame(
  typeMeta: { readonly kind: string; readonly apiVersion: string },
  revision: number,
  endsState = false,
) {
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  const metadata = { resourceVersion: String(revision), ...(endsState ? { annotations } : {}) };
  return plainFrame('BOOKMARK', { ...typeMeta, metadata });
}

/** A frame of an object that stands in no cache: bookmarks and errors. */
export function plainFrame(type: string, object: unknown): WatchFrame {
  const frozen = deepFreeze(object);
  let encoded: Buffer | undefined;
  return {
    type,
    object: frozen,
    encoded() {
      encoded ??= Buffer.from(`{"type":"${type}","object":${JSON.stringify(frozen)}}\n`);
      return encoded;
    },
  };
}
