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

/** What a Pod leads to. Pods of any phase count until they are gone. A mirror Pod leads nowhere: the node itself wrote it. */
function rememberedReferences(): (pod: Pod) => readonly string[] {
  const namesIn = rememberedNames();
  return (pod) => {
    const { nodeName } = pod.spec;
    if (!nodeName || isMirrorPod(pod)) return [];
    const found: readonly Named[] = [
      ...namesIn(pod),
      ...Array.from(claimNames(pod), (name): Named => ['pvc', name]),
      ...Array.from(resourceClaimNames(pod), (name): Named => ['resourceclaim', name]),
    ];
    return found.map(([kind, name]) => `${kind} ${pod.metadata.namespace}/${name}|${nodeName}`);
  };
}

type Named = readonly [RelatedKind, string];

/**
 * What a spec alone names, found once for as long as it stays: nearly all versions of a Pod differ in the status alone. Pods of several
 * namespaces may have the very same spec, so nothing of their metadata or status may be remembered with it.
 */
function rememberedNames(): (pod: Pod) => readonly Named[] {
  const known = new WeakMap<PodSpec, readonly Named[]>();
  return (pod) => {
    const { spec } = pod;
    let names = known.get(spec);
    if (!names) {
      names = [
        ...Array.from(secretNames(pod), (name): Named => ['secret', name]),
        ...Array.from(configMapNames(pod), (name): Named => ['configmap', name]),
        ...(spec.serviceAccountName ? [['serviceaccount', spec.serviceAccountName] as const] : []),
      ];
      known.set(spec, names);
    }
    return names;
  };
}
