/** AlwaysPullImages: each start of a container asks the registry, so that nobody runs an image that he could not pull himself. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { errorText, notSupported, path } from '../../../apimachinery/field-error.ts';
import { aggregate } from '../../../apimachinery/go-text.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { allContainers } from '../../authorization/pod-references.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { handling } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

/** Off by default. */
export function alwaysPullImages(): AdmissionPlugin {
  /** An update that brings no new image changes no policy either, so that old Pods can still be updated. */
  const bringsImages = ({ object, oldObject, operation }: AdmissionAttributes) => {
    if (operation === 'CREATE') return true;
    const before = new Set(allContainers(oldObject as Pod).map((container) => container.image));
    return allContainers(object as Pod).some((container) => !before.has(container.image));
  };
  return {
    name: 'AlwaysPullImages',
    handles: handling(['CREATE', 'UPDATE'], '', 'pods', ['', 'ephemeralcontainers']),
    admit(attributes) {
      if (!bringsImages(attributes)) return;
      const pod = attributes.object as Draft<Pod>;
      for (const container of allContainers(pod as Pod) as Draft<Pod>['spec']['containers'])
        container.imagePullPolicy = 'Always';
      for (const volume of pod.spec.volumes ?? []) if (volume.image) volume.image.pullPolicy = 'Always';
    },
    validate(attributes) {
      if (!bringsImages(attributes)) return;
      const { spec } = attributes.object as Pod;
      const lists = ['initContainers', 'containers', 'ephemeralContainers'] as const;
      const problems = [
        ...lists.flatMap((list) =>
          (spec[list] ?? []).map(
            (container, i) =>
              [path('spec', list).index(i).child('imagePullPolicy'), container.imagePullPolicy] as const,
          ),
        ),
        ...(spec.volumes ?? []).flatMap((volume, i) =>
          volume.image
            ? [[path('spec', 'volumes').index(i).child('image', 'pullPolicy'), volume.image.pullPolicy] as const]
            : [],
        ),
      ].filter(([, policy]) => policy !== 'Always');
      if (problems.length === 0) return;
      throw refusal(
        attributes,
        aggregate(problems.map(([at, policy]) => errorText(notSupported(at, policy ?? '', ['Always'])))),
      );
    },
  };
}
