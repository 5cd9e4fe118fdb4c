/** Brings a Pod's volumes onto the node, and says when their content must be looked at again. */
import type { Container, Pod, Secret } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { MountedCsiVolume } from '../csi/csi-volumes.ts';
import type { LocalPayload, VolumePayload } from '../volumes/payload.ts';
import { type ResolvedVolume, resolveVolume, VolumeError } from '../volumes/resolve.ts';
import { allEnded } from './all-ended.ts';
import { earliest } from './earliest.ts';
import type { PodServices } from './pod-services.ts';

export interface MountedVolumes {
  /** By volume name; images are not among them, for the runtime mounts those. */
  readonly paths: ReadonlyMap<string, string>;
  readonly renewAtMs: number | undefined;
}

/** What each of the Pod's volumes is to hold. Rejects as long as the Pod has to wait for one. */
export function resolveVolumes(services: PodServices, pod: Pod): Promise<readonly ResolvedVolume[]> {
  const used = usedVolumes(pod);
  const situation = {
    podIps: [],
    hostIps: services.hostIps(),
    nodeName: services.nodeName,
    allocatable: services.allocatable(),
  };
  const volumes = (pod.spec.volumes ?? []).filter(({ name, image }) => used.has(name) && !image);
  return allEnded(volumes.map((volume) => resolveVolume(pod, volume, situation, services.volumeSources)));
}

/** Whether the kubelet makes it from nothing: that only takes a moment, and waits for nobody. */
export function isOwnMaking({ payload }: ResolvedVolume): boolean {
  return payload.kind === 'files' || payload.kind === 'emptyDir';
}

export async function mountVolumes(
  services: PodServices,
  pod: Pod,
  volumes: readonly ResolvedVolume[],
): Promise<MountedVolumes> {
  const mounted = await allEnded(
    volumes.map(({ payload }) =>
      payload.kind === 'csi' ? mountCsi(services, pod, payload) : mount(services, pod, payload),
    ),
  );
  const paths = new Map(volumes.map(({ payload }, index) => [payload.name, mounted[index]!.path]));
  return { paths, renewAtMs: earliest(...[...volumes, ...mounted].map(({ renewAtMs }) => renewAtMs)) };
}

async function mount({ host }: PodServices, pod: Pod, payload: LocalPayload): Promise<MountedCsiVolume> {
  try {
    return { path: await host.volumes.mount(pod, payload) };
  } catch (error) {
    throw new VolumeError(payload.name, messageOf(error), { cause: error });
  }
}

async function mountCsi(
  { csi }: PodServices,
  pod: Pod,
  { name, volume }: Extract<VolumePayload, { kind: 'csi' }>,
): Promise<MountedCsiVolume> {
  if (!csi) throw new VolumeError(name, 'no volume plugin matched');
  return csi.mount(pod, volume);
}

/** Nothing of the Pod runs any more. */
export async function unmountVolumes({ csi, host }: Pick<PodServices, 'csi' | 'host'>, podUid: string): Promise<void> {
  await host.volumes.unmountSubPaths(podUid);
  await csi?.unmountPod(podUid);
  await host.volumes.unmountAll(podUid);
}

function usedVolumes(pod: Pod): Set<string> {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const all = [...initContainers, ...containers, ...(ephemeralContainers as readonly Container[])];
  return new Set(
    all
      .flatMap(({ volumeDevices = [], volumeMounts = [] }) => [...volumeMounts, ...volumeDevices])
      .map(({ name }) => name),
  );
}

/** Missing ones are told and left out: the image may be public. */
export async function pullSecrets(services: PodServices, pod: Pod): Promise<readonly Secret[]> {
  const { namespace = '', uid = '' } = pod.metadata;
  const names = (pod.spec.imagePullSecrets ?? []).map(({ name = '' }) => name).filter(Boolean);
  const secrets = await Promise.all(
    names.map((name) => services.objects.secret(namespace, name, uid).catch(() => undefined)),
  );
  const missing = names.filter((_, index) => !secrets[index]);
  if (missing.length > 0) {
    const message = `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`;
    services.event(pod, 'Warning', 'FailedToRetrieveImagePullSecret', message);
  }
  return secrets.filter((secret) => secret !== undefined);
}
