/** What the runtime is told of one container. Pure: everything that had to be looked up comes as an argument. */
import type { Container, Pod, Volume, VolumeMount } from '../../api/gen/core-v1.ts';
import { containerHash } from '../pods/container-hash.ts';
import {
  type ContainerConfig,
  type Device,
  type EnvironmentVariable,
  type IdMapping,
  type Image,
  type ImageSpec,
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
  readonly devices?: readonly Device[] | undefined;
  readonly cdiDevices?: readonly string[] | undefined;
  /** What plugins want to tell the runtime; the kubelet's own prevail. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** Reference by which the runtime knows the image. */
  readonly imageRef: string;
  readonly image: Pick<Image, 'uid' | 'username'>;
  readonly kind: string;
  /** Of the Pod, where they are not the node's. */
  readonly users?: IdMapping | undefined;
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
    devices: settings.devices ?? [],
    cdiDevices: settings.cdiDevices,
    labels: {
      [runtimeLabels.containerName]: container.name,
      [runtimeLabels.podName]: name,
      [runtimeLabels.podNamespace]: namespace,
      [runtimeLabels.podUid]: uid,
    },
    annotations: {
      ...settings.annotations,
      ...annotations(pod, container, settings.restartCount),
      [runtimeAnnotations.kind]: settings.kind,
    },
    logPath: logPath(container, settings.restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    resources: containerResources(pod, container, settings),
    security: {
      ...security,
      namespaces: {
        ...security.namespaces,
        ...(target ? { pid: 'target', targetId: target } : {}),
        users: settings.users,
      },
    },
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
  /** By volume name: where the volume, or the disk that it is, lies on the host. */
  readonly paths: ReadonlyMap<string, string>;
  /** By volume name: those that are images. */
  readonly images: ReadonlyMap<string, ImageSpec>;
  /** The runtime can make everything below a mount read-only as well. */
  readonly recursiveReadonly: boolean;
  /** `index` is that of the mount in its container. */
  subPath(
    volume: string,
    path: string,
    options: { readonly volumePath: string; readonly index: number },
  ): Promise<string>;
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
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const { name } = mount;
    const volume = pod.spec.volumes?.find((one) => one.name === name);
    const volumePath = locations.paths.get(name);
    const image = locations.images.get(name);
    if (!volume || (volumePath ?? image) === undefined)
      throw new Error(`cannot find volume "${name}" to mount into container "${container.name}"`);
    const subPath = mount.subPathExpr ? expandStrictly(mount.subPathExpr, values) : (mount.subPath ?? '');
    checkSubPath(subPath);
    const hostPath =
      subPath === '' || volumePath === undefined
        ? volumePath
        : await locations.subPath(name, subPath, { volumePath, index });
    mounts.push({
      containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
      hostPath: hostPath ?? '',
      ...(image ? { image, imageSubPath: subPath } : {}),
      // What the API writes into these is not the Pod's to change, nor is an image; runtimes refuse to mount one otherwise.
      readonly: (mount.readOnly ?? false) || isReadOnlyVolume(volume),
      recursiveReadonly: isRecursivelyReadonly(mount, locations.recursiveReadonly),
      propagation: propagations[mount.mountPropagation ?? ''] ?? 'private',
    });
  }
  return mounts;
}

const propagations: Readonly<Record<string, NonNullable<Mount['propagation']>>> = {
  Bidirectional: 'bidirectional',
  HostToContainer: 'hostToContainer',
};

function checkSubPath(subPath: string): void {
  if (subPath.startsWith('/')) throw new Error(`error SubPath \`${subPath}\` must not be an absolute path`);
  if (subPath.split('/').includes('..'))
    throw new Error(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
}

function isRecursivelyReadonly(mount: VolumeMount, isSupported: boolean): boolean {
  const { mountPropagation: propagation, recursiveReadOnly: mode } = mount;
  if (!mode || mode === 'Disabled') return false;
  const refuse = (why: string) =>
    new Error(
      `failed to resolve recursive read-only mode: volume "${mount.name}" requested recursive read-only mode, but it is ${why}`,
    );
  if (!mount.readOnly) throw refuse('not read-only');
  if (propagation && propagation !== 'None') throw refuse(`not compatible with propagation "${propagation}"`);
  if (mode === 'Enabled' && !isSupported) throw refuse('not supported by the runtime');
  return isSupported;
}

/** The disks that a container gets as devices. */
export function blockDevices(pod: Pod, container: Container, paths: ReadonlyMap<string, string>): Device[] {
  return (container.volumeDevices ?? []).map(({ name, devicePath }) => {
    const hostPath = paths.get(name);
    if (hostPath === undefined)
      throw new Error(`cannot find volume "${name}" to pass into container "${container.name}"`);
    const volume = pod.spec.volumes?.find((one) => one.name === name);
    const permissions = volume?.persistentVolumeClaim?.readOnly ? 'r' : 'mrw';
    return { hostPath, containerPath: devicePath, permissions };
  });
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
    Boolean(volume.configMap ?? volume.secret ?? volume.downwardAPI ?? volume.projected ?? volume.image) ||
    volume.persistentVolumeClaim?.readOnly === true
  );
}
