/** What the runtime is told of one container. Pure: everything that had to be looked up comes as an argument. */
import type { Container, Pod, Volume } from '../../api/gen/core-v1.ts';
import { containerHash } from '../pods/container-hash.ts';
import {
  type ContainerConfig,
  type EnvironmentVariable,
  type Image,
  type Mount,
  runtimeAnnotations,
  runtimeLabels,
} from '../runtime/runtime.ts';
import { expand } from './expansion.ts';
import { containerResources, type ResourceSettings } from './resources.ts';
import { containerSecurity, type SecuritySettings } from './security.ts';

export interface ContainerSettings extends ResourceSettings, SecuritySettings {
  readonly restartCount: number;
  readonly environment: readonly EnvironmentVariable[];
  /** Those of volumes and those of the kubelet's own files. */
  readonly mounts: readonly Mount[];
  /** Reference by which the runtime knows the image. */
  readonly imageRef: string;
  readonly image: Pick<Image, 'uid' | 'username'>;
  readonly kind: string;
  /** Container whose processes an ephemeral container wants to see. */
  readonly targetContainerId?: string | undefined;
}

export function containerConfig(pod: Pod, container: Container, settings: ContainerSettings): ContainerConfig {
  const values = new Map(settings.environment.map(({ name, value }) => [name, value]));
  const expanded = (texts: readonly string[] | undefined) =>
    (texts ?? []).map((text) => expand(text, (name) => values.get(name)));
  const security = containerSecurity(pod, container, settings.image, settings);
  const target = settings.targetContainerId;
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  return {
    name: container.name,
    attempt: settings.restartCount,
    image: { image: settings.imageRef, userSpecifiedImage: container.image ?? '' },
    command: expanded(container.command),
    args: expanded(container.args),
    workingDirectory: container.workingDir ?? '',
    environment: settings.environment,
    mounts: settings.mounts,
    devices: [],
    labels: {
      [runtimeLabels.containerName]: container.name,
      [runtimeLabels.podName]: name,
      [runtimeLabels.podNamespace]: namespace,
      [runtimeLabels.podUid]: uid,
    },
    annotations: { ...annotations(pod, container, settings.restartCount), [runtimeAnnotations.kind]: settings.kind },
    logPath: logPath(container, settings.restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    resources: containerResources(pod, container, settings),
    security: target
      ? { ...security, namespaces: { ...security.namespaces, pid: 'target', targetId: target } }
      : security,
    stopSignal: container.lifecycle?.stopSignal,
  };
}

/** Relative to the Pod's log directory: one file per start. */
export function logPath(container: Pick<Container, 'name'>, restartCount: number): string {
  return `${container.name}/${restartCount}.log`;
}

function annotations(pod: Pod, container: Container, restartCount: number): Record<string, string> {
  const { terminationGracePeriodSeconds } = pod.spec;
  return {
    [runtimeAnnotations.containerHash]: containerHash(container),
    [runtimeAnnotations.restartCount]: String(restartCount),
    [runtimeAnnotations.terminationMessagePath]: container.terminationMessagePath ?? '/dev/termination-log',
    [runtimeAnnotations.terminationMessagePolicy]: container.terminationMessagePolicy ?? 'File',
    ...(container.ports ? { [runtimeAnnotations.ports]: JSON.stringify(container.ports) } : {}),
    ...(container.lifecycle?.preStop
      ? { [runtimeAnnotations.preStopHandler]: JSON.stringify(container.lifecycle.preStop) }
      : {}),
    ...(terminationGracePeriodSeconds === undefined
      ? {}
      : { [runtimeAnnotations.podTerminationGracePeriod]: String(terminationGracePeriodSeconds) }),
  };
}

export interface VolumeLocations {
  /** By volume name: where the volume lies on the host. */
  readonly paths: ReadonlyMap<string, string>;
  subPath(volumePath: string, subPath: string): Promise<string>;
}

/** The mounts of a container's `volumeMounts`; `$(NAME)` in `subPathExpr` is taken from its environment. */
export async function volumeMounts(
  pod: Pod,
  container: Container,
  environment: readonly EnvironmentVariable[],
  locations: VolumeLocations,
): Promise<Mount[]> {
  const values = new Map(environment.map(({ name, value }) => [name, value]));
  const mounts: Mount[] = [];
  for (const mount of container.volumeMounts ?? []) {
    const volume = pod.spec.volumes?.find(({ name }) => name === mount.name);
    const base = locations.paths.get(mount.name);
    if (!volume || base === undefined)
      throw new Error(`cannot find volume "${mount.name}" to mount into container "${container.name}"`);
    const subPath = mount.subPathExpr ? expandStrictly(mount.subPathExpr, values) : (mount.subPath ?? '');
    mounts.push({
      containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
      hostPath: subPath === '' ? base : await locations.subPath(base, subPath),
      // What the API writes into these is not the Pod's to change.
      readonly: (mount.readOnly ?? false) || isReadOnlyVolume(volume),
      propagation:
        mount.mountPropagation === 'Bidirectional'
          ? 'bidirectional'
          : mount.mountPropagation === 'HostToContainer'
            ? 'hostToContainer'
            : 'private',
    });
  }
  return mounts;
}

function expandStrictly(text: string, values: ReadonlyMap<string, string>): string {
  return expand(text, (name) => {
    const value = values.get(name);
    if (value === undefined) throw new Error(`failed to expand subPath expression: missing value for "${name}"`);
    return value;
  });
}

function isReadOnlyVolume(volume: Volume): boolean {
  return (
    Boolean(volume.configMap ?? volume.secret ?? volume.downwardAPI ?? volume.projected) ||
    volume.persistentVolumeClaim?.readOnly === true
  );
}
