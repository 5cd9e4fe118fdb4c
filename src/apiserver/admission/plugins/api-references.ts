/** Whether a Pod needs other objects of the API: a mirror Pod must not, or a node could reach what no Pod of its own was given. */
import type { Pod, Volume } from '../../../api/gen/core-v1.ts';
import { configMapNames, secretNames } from '../../authorization/pod-references.ts';

/** What is referenced, in upstream's words; undefined when nothing is. */
export function apiReferenceOf(pod: Pod): string | undefined {
  if (pod.spec.serviceAccountName) return 'serviceaccounts';
  if (secretNames(pod).size > 0) return 'secrets';
  if (configMapNames(pod).size > 0) return 'configmaps';
  if (pod.spec.resourceClaims?.length) return 'resourceclaims';
  return (pod.spec.volumes ?? []).map(volumeReference).find((reference) => reference !== undefined);
}

function volumeReference(volume: Volume): string | undefined {
  if (volume.configMap) return 'configmaps (via configmap volumes)';
  if (volume.secret) return 'secrets (via secret volumes)';
  if (volume.csi) return 'csidrivers (via CSI volumes)';
  if (volume.glusterfs) return 'endpoints (via glusterFS volumes)';
  if (volume.persistentVolumeClaim) return 'persistentvolumeclaims';
  if (volume.ephemeral) return 'persistentvolumeclaims (via ephemeral volumes)';
  if (volume.azureFile) return 'secrets (via azureFile volumes)';
  for (const source of volume.projected?.sources ?? []) {
    if (source.configMap) return 'configmaps (via projected volumes)';
    if (source.secret) return 'secrets (via projected volumes)';
    if (source.serviceAccountToken) return 'serviceaccounts (via projected volumes)';
    if (source.clusterTrustBundle) return 'clustertrustbundles';
    if (source.podCertificate) return 'podcertificates';
  }
  return undefined;
}
