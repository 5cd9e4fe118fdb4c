/** The part of a container's definition that cannot change without making it anew: its name and image. */
import type { Container } from '../../api/gen/core-v1.ts';
import { fnv1a } from '../../base/fnv.ts';

/** FNV-1a over the two, as eight hexadecimal digits. */
export function containerHash(container: Pick<Container, 'name' | 'image'>): string {
  const hash = fnv1a(JSON.stringify([container.name, container.image ?? '']));
  return hash.toString(16).padStart(8, '0');
}
