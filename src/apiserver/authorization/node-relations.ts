/**
 * Which objects a node may see because of what runs on it: Pods bound to the node lead to Secrets, ConfigMaps, claims and service
 * accounts, claims to volumes, volumes to Secrets. Kept as indexes of the informers, so every change of a Pod updates it and a
 * question is a look-up, not a search:
 *
 *     pod a/web on node-1 with a volume from secret s    is indexed under  `secret a/s|node-1`
 */
import { isMirrorPod } from '../../api/core/v1/mirror-pod.ts';
import { type PersistentVolume, type Pod, type PodSpec, persistentVolumes, pods } from '../../api/gen/core-v1.ts';
import { resourceSlices } from '../../api/gen/resource-v1.ts';
import { volumeAttachments } from '../../api/gen/storage-v1.ts';
import type { InformerSet } from '../../reconcile/informer.ts';
import { claimNames, configMapNames, resourceClaimNames, secretNames, volumeSecretKeys } from './pod-references.ts';

export type RelatedKind =
  | 'pod'
  | 'secret'
  | 'configmap'
  | 'pvc'
  | 'pv'
  | 'serviceaccount'
  | 'resourceclaim'
  | 'volumeattachment'
  | 'resourceslice';

export interface NodeRelations {
  /** Whether something that concerns this node leads to the object; `key` is `namespace/name` or `name`. */
  related(nodeName: string, kind: RelatedKind, key: string): boolean;
}

const onNode = 'node-authorizer/pod-references';
const bySecret = 'node-authorizer/volume-secrets';

export function nodeRelations(informers: InformerSet): NodeRelations {
  const podInformer = informers.of(pods);
  const volumes = informers.of(persistentVolumes);
  const attachments = informers.of(volumeAttachments);
  const slices = informers.of(resourceSlices);
  podInformer.addIndex(onNode, rememberedReferences());
  volumes.addIndex(bySecret, (volume) => [...volumeSecretKeys(volume)]);

  const namedByPod = (nodeName: string, kind: RelatedKind, key: string) =>
    podInformer.byIndex(onNode, `${kind} ${key}|${nodeName}`).length > 0;
  const claimedOnNode = (nodeName: string, volume: PersistentVolume | undefined) => {
    const claim = volume?.spec.claimRef;
    return claim !== undefined && namedByPod(nodeName, 'pvc', `${claim.namespace}/${claim.name}`);
  };

  return {
    related(nodeName, kind, key) {
      switch (kind) {
        case 'pod':
          return podInformer.get(key)?.spec.nodeName === nodeName;
        case 'pv':
          return claimedOnNode(nodeName, volumes.get(key));
        case 'volumeattachment':
          return attachments.get(key)?.spec.nodeName === nodeName;
        case 'resourceslice':
          return slices.get(key)?.spec.nodeName === nodeName;
        case 'secret':
          if (namedByPod(nodeName, kind, key)) return true;
          return volumes.byIndex(bySecret, key).some((volume) => claimedOnNode(nodeName, volume));
        default:
          return namedByPod(nodeName, kind, key);
      }
    },
  };
}

/** The references of a Pod, found once for as long as its spec stays: nearly all its versions differ in the status alone. */
function rememberedReferences(): (pod: Pod) => readonly string[] {
  const known = new WeakMap<PodSpec, readonly string[]>();
  return (pod) => {
    // These are named by the status too.
    if (pod.status?.resourceClaimStatuses || pod.status?.extendedResourceClaimStatus) return podReferences(pod);
    let references = known.get(pod.spec);
    if (!references) {
      references = podReferences(pod);
      known.set(pod.spec, references);
    }
    return references;
  };
}

/** Pods of any phase count until they are gone. A mirror Pod leads nowhere: the node itself wrote it. */
function podReferences(pod: Pod): readonly string[] {
  const { nodeName, serviceAccountName } = pod.spec;
  if (!nodeName || isMirrorPod(pod)) return [];
  const names: readonly (readonly [RelatedKind, Iterable<string>])[] = [
    ['secret', secretNames(pod)],
    ['configmap', configMapNames(pod)],
    ['pvc', claimNames(pod)],
    ['resourceclaim', resourceClaimNames(pod)],
    ['serviceaccount', serviceAccountName ? [serviceAccountName] : []],
  ];
  return names.flatMap(([kind, all]) =>
    [...all].map((name) => `${kind} ${pod.metadata.namespace}/${name}|${nodeName}`),
  );
}
