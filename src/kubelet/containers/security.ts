/** Security contexts of a Pod and its containers, taken together as the runtime wants them. Pure. */
import { join } from 'node:path';
import type { Container, Pod, SeccompProfile } from '../../api/gen/core-v1.ts';
import type {
  ContainerSecurity,
  Image,
  NamespaceOptions,
  SandboxSecurity,
  SecurityProfile,
} from '../runtime/runtime.ts';

export interface SecuritySettings {
  /** `RuntimeDefault` instead of no profile where none is asked for. */
  readonly seccompDefault: boolean;
  /** Where the node's own profiles lie. */
  readonly seccompProfileRoot: string;
}

/** Refused because of what its image would run as. */
export class RunAsRootError extends Error {}

export function namespaceOptions(pod: Pod): NamespaceOptions {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace } = pod.spec;
  return {
    network: hostNetwork ? 'node' : 'pod',
    pid: hostPID ? 'node' : shareProcessNamespace ? 'pod' : 'container',
    ipc: hostIPC ? 'node' : 'pod',
  };
}

export function sandboxSecurity(pod: Pod): SandboxSecurity {
  const own = pod.spec.securityContext;
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  return {
    namespaces: namespaceOptions(pod),
    privileged: all.some(({ securityContext }) => securityContext?.privileged === true),
    runAsUser: own?.runAsUser,
    runAsGroup: own?.runAsGroup,
    supplementalGroups: groups(pod),
    supplementalGroupsPolicy: own?.supplementalGroupsPolicy,
    // The pause process needs no more than the runtime's default.
    seccomp: { type: 'RuntimeDefault' },
    selinux: selinux(own?.seLinuxOptions),
  };
}

export function containerSecurity(
  pod: Pod,
  container: Container,
  image: Pick<Image, 'uid' | 'username'>,
  settings: SecuritySettings,
): ContainerSecurity {
  const own = container.securityContext;
  const common = pod.spec.securityContext;
  const runAsUser = own?.runAsUser ?? common?.runAsUser;
  const privileged = own?.privileged ?? false;
  const isUnmasked = own?.procMount === 'Unmasked' || privileged;
  verifyNonRoot(pod, container, image, runAsUser);
  return {
    namespaces: namespaceOptions(pod),
    privileged,
    readonlyRootfs: own?.readOnlyRootFilesystem ?? false,
    noNewPrivileges: own?.allowPrivilegeEscalation === false,
    addCapabilities: own?.capabilities?.add ?? [],
    dropCapabilities: own?.capabilities?.drop ?? [],
    runAsUser: runAsUser ?? image.uid,
    // A number wins over the image's name; the runtime looks the name up in the image.
    runAsUsername: runAsUser === undefined && image.uid === undefined && image.username ? image.username : undefined,
    runAsGroup: own?.runAsGroup ?? common?.runAsGroup,
    supplementalGroups: groups(pod),
    supplementalGroupsPolicy: common?.supplementalGroupsPolicy,
    maskedPaths: isUnmasked ? [] : maskedPaths,
    readonlyPaths: isUnmasked ? [] : readonlyPaths,
    seccomp: seccomp(own?.seccompProfile ?? common?.seccompProfile, settings),
    apparmor: profileOf(own?.appArmorProfile ?? common?.appArmorProfile),
    selinux: selinux(own?.seLinuxOptions ?? common?.seLinuxOptions),
  };
}

const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];

const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

function groups(pod: Pod): readonly number[] {
  const { supplementalGroups = [], fsGroup } = pod.spec.securityContext ?? {};
  return fsGroup === undefined ? supplementalGroups : [...supplementalGroups, fsGroup];
}

function seccomp(profile: SeccompProfile | undefined, settings: SecuritySettings): SecurityProfile {
  const found = profileOf(profile) ?? { type: settings.seccompDefault ? 'RuntimeDefault' : 'Unconfined' };
  const { localhostRef } = found;
  return localhostRef === undefined
    ? found
    : { ...found, localhostRef: join(settings.seccompProfileRoot, localhostRef) };
}

function profileOf(
  profile: { readonly type: string; readonly localhostProfile?: string | undefined } | undefined,
): SecurityProfile | undefined {
  if (!profile) return undefined;
  const type = profile.type as SecurityProfile['type'];
  return type === 'Localhost' ? { type, localhostRef: profile.localhostProfile } : { type };
}

function selinux(
  options:
    | { user?: string | undefined; role?: string | undefined; type?: string | undefined; level?: string | undefined }
    | undefined,
) {
  return (
    options && {
      user: options.user ?? '',
      role: options.role ?? '',
      type: options.type ?? '',
      level: options.level ?? '',
    }
  );
}

function verifyNonRoot(
  pod: Pod,
  container: Container,
  image: Pick<Image, 'uid' | 'username'>,
  runAsUser: number | undefined,
): void {
  const nonRoot = container.securityContext?.runAsNonRoot ?? pod.spec.securityContext?.runAsNonRoot;
  if (!nonRoot) return;
  const where = `(pod: "${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})", container: ${container.name})`;
  if (runAsUser !== undefined) {
    if (runAsUser === 0) throw new RunAsRootError(`container's runAsUser breaks non-root policy ${where}`);
    return;
  }
  if (image.uid === 0 || (image.uid === undefined && image.username === '')) {
    throw new RunAsRootError(`container has runAsNonRoot and image will run as root ${where}`);
  }
  if (image.uid === undefined) {
    throw new RunAsRootError(
      `container has runAsNonRoot and image has non-numeric user (${image.username}), cannot verify user is non-root ${where}`,
    );
  }
}
