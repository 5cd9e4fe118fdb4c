/** The part of a container's definition that cannot change without making it anew: its name and image. */
import type { Container } from '../../api/gen/core-v1.ts';

/** FNV-1a over the two, as eight hexadecimal digits. */
export function containerHash(container: Pick<Container, 'name' | 'image'>): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(JSON.stringify([container.name, container.image ?? '']))) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, '0');
}
