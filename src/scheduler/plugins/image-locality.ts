/**
 * Prefers nodes that already hold the Pod's images. A size counts in proportion to the share of nodes that hold the image, so that
 * the one node that was first does not attract every Pod after it (upstream: 23 MiB count as nothing, 1000 MiB a container as full).
 */
import { maxNodeScore, type SchedulingPlugin } from '../framework.ts';

const leastBytes = 23 * 1024 * 1024;
const mostBytesPerContainer = 1000 * 1024 * 1024;

export const imageLocality: SchedulingPlugin = {
  name: 'ImageLocality',
  helpedBy: [],
  prepare(pod, state) {
    const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
    const names = [
      ...containers.map((container) => container.image ?? ''),
      ...(pod.spec.volumes ?? []).flatMap((volume) => volume.image?.reference ?? []),
    ].map(withTag);
    const holders = new Map(names.map((name) => [name, state.nodesWithImage(name)]));
    if ([...holders.values()].every((count) => count === 0)) return undefined;
    const most = mostBytesPerContainer * containers.length;
    return {
      score(node) {
        let sum = 0;
        for (const name of names)
          sum += Math.floor(((node.images.get(name) ?? 0) * (holders.get(name) ?? 0)) / state.nodes.length);
        return Math.floor(
          (maxNodeScore * (Math.min(Math.max(sum, leastBytes), most) - leastBytes)) / (most - leastBytes),
        );
      },
    };
  },
};

function withTag(image: string): string {
  return image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image;
}
