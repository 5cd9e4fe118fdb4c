/** How values become bytes, for the stores that keep bytes. */
/** Between values and their bytes on disk. */
export interface Codec<V> {
  /** The store does not change the buffer and expects that nobody else does. */
  encode(value: V): Buffer;
  /** The buffer is the decoder's own. */
  decode(bytes: Buffer): V;
}

/** For stores whose values are bytes. */
export const bufferCodec: Codec<Buffer> = { encode: (value) => value, decode: (bytes) => bytes };
