/** Brings a Pod's volumes onto the node, and says when their content must be looked at again. */
import type { Container, Pod, Secret } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { MountedCsiVolume } from '../csi/csi-volumes.ts';
import type { LocalPayload, VolumePayload } from '../volumes/payload.ts';
import { resolveVolume, VolumeError } from '../volumes/resolve.ts';
import type { PodServices } from './pod-services.ts';

export interface MountedVolumes {
  /** By volume name; images are not among them, for the runtime mounts those. */
  readonly paths: ReadonlyMap<string, string>;
  readonly renewAtMs: number | undefined;
}

export async function mountVolumes(services: PodServices, pod: Pod): Promise<MountedVolumes> {
  const paths = new Map<string, string>();
  const used = usedVolumes(pod);
  let renewAtMs: number | undefined;
  const situation = {
    podIps: [],
    hostIps: services.hostIps(),
    nodeName: services.nodeName,
    allocatable: services.allocatable(),
  };
  await Promise.all(
    (pod.spec.volumes ?? [])
      .filter(({ name, image }) => used.has(name) && !image)
      .map(async (volume) => {
        const resolved = await resolveVolume(pod, volume, situation, services.volumeSources);
        const { payload } = resolved;
        const made =
          payload.kind === 'csi' ? await mountCsi(services, pod, payload) : await mount(services, pod, payload);
        paths.set(volume.name, made.path);
        for (const atMs of [resolved.renewAtMs, made.renewAtMs])
          if (atMs !== undefined) renewAtMs = Math.min(renewAtMs ?? atMs, atMs);
      }),
  );
  return { paths, renewAtMs };
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
  const found: Secret[] = [];
  const missing: string[] = [];
  for (const { name = '' } of pod.spec.imagePullSecrets ?? []) {
    const secret = name ? await services.objects.secret(namespace, name, uid).catch(() => undefined) : undefined;
    if (secret) found.push(secret);
    else if (name) missing.push(name);
  }
  if (missing.length > 0) {
    const message = `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`;
    services.event(pod, 'Warning', 'FailedToRetrieveImagePullSecret', message);
  }
  return found;
}
