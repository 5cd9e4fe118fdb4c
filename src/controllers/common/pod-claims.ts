/** The claims that a Pod's volumes are made of, by key: those it names, and those that are made for it. */
import type { Pod } from '../../api/gen/core-v1.ts';

export function claimKeysOf({ metadata, spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral ? `${metadata.name}-${name}` : undefined);
    return claim === undefined ? [] : [`${metadata.namespace}/${claim}`];
  });
}
