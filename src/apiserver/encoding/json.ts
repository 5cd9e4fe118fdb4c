/**
 * The codec of the built-in kinds, as the API server uses it. The memo holds compiled decoders and encoders of immutable tables, so
 * sharing it between all API servers of a process changes nothing but the time they take.
 */

import { builtinSchema } from '../../api/schema.ts';
import { Codec } from '../../apimachinery/codec.ts';
import { jsonText } from '../../apimachinery/exact-json.ts';
import { once } from '../../base/once.ts';

export const builtinCodec: () => Codec = once(() => new Codec(builtinSchema()));

/** For objects and lists of any kind: by the tables where they know it, plainly where they do not. */
export function encodeAny(object: unknown): Buffer {
  const { apiVersion, kind } = (object ?? {}) as { readonly apiVersion?: string; readonly kind?: string };
  const codec = builtinCodec();
  const known = apiVersion !== undefined && kind !== undefined && codec.registry.typeOf(apiVersion, kind) !== undefined;
  return Buffer.from(known ? codec.encodeCanonical({ apiVersion, kind, ...(object as object) }) : jsonText(object));
}
