/**
 * Which other objects a Pod or PersistentVolume names. The Node authorizer lets a kubelet read exactly these for its Pods, and
 * NodeRestriction lets no mirror Pod name any.
 */
import type { Container, EphemeralContainer, PersistentVolume, Pod, Volume } from '../../api/gen/core-v1.ts';

export function allContainers(pod: Pod): readonly (Container | EphemeralContainer)[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec;
  return [...initContainers, ...containers, ...ephemeralContainers];
}

/** Names of Secrets in the Pod's namespace, empty ones left out. */
export function secretNames(pod: Pod): ReadonlySet<string> {
  return named([
    ...(pod.spec.imagePullSecrets ?? []).map((reference) => reference.name),
    ...allContainers(pod).flatMap((container) => [
      ...(container.envFrom ?? []).map((source) => source.secretRef?.name),
      ...(container.env ?? []).map((variable) => variable.valueFrom?.secretKeyRef?.name),
    ]),
    ...(pod.spec.volumes ?? []).flatMap(volumeSecrets),
  ]);
}

export function configMapNames(pod: Pod): ReadonlySet<string> {
  return named([
    ...allContainers(pod).flatMap((container) => [
      ...(container.envFrom ?? []).map((source) => source.configMapRef?.name),
      ...(container.env ?? []).map((variable) => variable.valueFrom?.configMapKeyRef?.name),
    ]),
    ...(pod.spec.volumes ?? []).flatMap((volume) => [
      volume.configMap?.name,
      ...(volume.projected?.sources ?? []).map((source) => source.configMap?.name),
    ]),
  ]);
}

/** A generic ephemeral volume's claim is named after the Pod and the volume. */
export function claimNames(pod: Pod): ReadonlySet<string> {
  return named((pod.spec.volumes ?? []).map((volume) => claimName(pod, volume)));
}

export function claimName(pod: Pod, volume: Volume): string | undefined {
  if (volume.ephemeral) return `${pod.metadata.name}-${volume.name}`;
  return volume.persistentVolumeClaim?.claimName;
}

/** ResourceClaims, those made from templates by the names that status gives. */
export function resourceClaimNames(pod: Pod): ReadonlySet<string> {
  const statuses = pod.status?.resourceClaimStatuses ?? [];
  return named([
    ...(pod.spec.resourceClaims ?? []).map(
      (claim) => claim.resourceClaimName ?? statuses.find((status) => status.name === claim.name)?.resourceClaimName,
    ),
    pod.status?.extendedResourceClaimStatus?.resourceClaimName,
  ]);
}

/** `namespace/name` of the Secrets a bound volume needs on its node; those only the control plane needs are left out. */
export function volumeSecretKeys(volume: PersistentVolume): ReadonlySet<string> {
  const { spec } = volume;
  const claimNamespace = spec.claimRef?.namespace ?? '';
  if (!spec.claimRef) return new Set();
  const references = [
    spec.cephfs?.secretRef,
    spec.cinder?.secretRef,
    spec.flexVolume?.secretRef,
    spec.rbd?.secretRef,
    spec.scaleIO?.secretRef,
    spec.iscsi?.secretRef,
    spec.storageos?.secretRef,
    spec.csi?.nodePublishSecretRef,
    spec.csi?.nodeStageSecretRef,
    spec.csi?.nodeExpandSecretRef,
    spec.azureFile && { name: spec.azureFile.secretName, namespace: spec.azureFile.secretNamespace },
  ];
  return named(references.map((ref) => (ref?.name ? `${ref.namespace || claimNamespace}/${ref.name}` : undefined)));
}

function volumeSecrets(volume: Volume): (string | undefined)[] {
  return [
    volume.azureFile?.secretName,
    volume.cephfs?.secretRef?.name,
    volume.cinder?.secretRef?.name,
    volume.flexVolume?.secretRef?.name,
    volume.rbd?.secretRef?.name,
    volume.secret?.secretName,
    volume.scaleIO?.secretRef?.name,
    volume.iscsi?.secretRef?.name,
    volume.storageos?.secretRef?.name,
    volume.csi?.nodePublishSecretRef?.name,
    ...(volume.projected?.sources ?? []).map((source) => source.secret?.name),
  ];
}

function named(names: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(names.filter((name): name is string => !!name));
}
