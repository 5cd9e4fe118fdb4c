/** FNV-1a with 32 bits over the UTF-8 bytes of a text, as Go's `hash/fnv` has it: quick, and no secret. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
