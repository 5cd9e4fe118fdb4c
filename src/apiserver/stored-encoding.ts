/**
 * Which stored bytes may be served as they are. A marker in the store says which release of the encoding wrote what came after it;
 * anything older, or of another release, is decoded, defaulted and encoded anew before it is served.
 */
import { builtinSchema } from '../api/schema.ts';
import type { Store } from '../storage/store.ts';

const markerKey = '/coracle/encoding';
/** Raise it when the canonical form, the defaults or the validation of metadata change within a release of the tables. */
const encodingVersion = 1;

/** Writes the marker if need be, and gives the revision after which stored bytes are of this release. */
export async function trustStored(store: Store<Uint8Array>): Promise<number> {
  const wanted = JSON.stringify({ schema: builtinSchema().document.release, encoding: encodingVersion });
  for (;;) {
    const marker = await store.get(markerKey);
    if (marker && Buffer.from(marker.value).toString('utf8') === wanted) return marker.revision;
    const result = await store.put(markerKey, Buffer.from(wanted), { expected: marker?.revision ?? 0 });
    if (result.ok) return result.revision;
  }
}
