/** FNV-1a with 32 bits over the UTF-8 bytes of a text, as Go's `hash/fnv` has it: quick, and no secret. `from`: the hash of what came before. */
export function fnv1a(text: string, from = 0x811c9dc5): number {
  let hash = from;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
