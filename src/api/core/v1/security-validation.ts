/**
 * Security contexts of Pods and containers: users and groups, profiles, sysctls, and what excludes what. The cluster allows
 * privileged containers; forbidding them is the business of Pod Security admission.
 */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  required,
  tooLong,
} from '../../../apimachinery/field-error.ts';
import { userOrGroupId } from '../../../apimachinery/names.ts';
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  Sysctl,
  WindowsSecurityContextOptions,
} from '../../gen/core-v1.ts';
import { refused, shown, validateDnsSubdomain, validateEnum } from '../../validation.ts';
import { validateDescendingPath } from './paths.ts';

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const longestProfilePath = 4095;

function validateId(at: FieldPath, id: number | undefined): FieldError[] {
  return id == null ? [] : refused(at, id, userOrGroupId(id));
}

export function validatePodSecurity(at: FieldPath, spec: PodSpec): FieldError[] {
  const context = spec.securityContext;
  const errors: FieldError[] = [];
  if (context) {
    errors.push(...validateId(at.child('fsGroup'), context.fsGroup));
    errors.push(...validateId(at.child('runAsUser'), context.runAsUser));
    errors.push(...validateId(at.child('runAsGroup'), context.runAsGroup));
    for (const [index, group] of (context.supplementalGroups ?? []).entries()) {
      errors.push(...validateId(at.child('supplementalGroups').index(index), group));
    }
  }
  if (spec.shareProcessNamespace && spec.hostPID) {
    const message = 'ShareProcessNamespace and HostPID cannot both be enabled';
    errors.push(invalid(at.child('shareProcessNamespace'), true, message));
  }
  if (!context) return errors;
  return [...errors, ...validatePolicies(at, context, spec)];
}

function validatePolicies(at: FieldPath, context: PodSecurityContext, spec: PodSpec): FieldError[] {
  return [
    ...validateSysctls(at.child('sysctls'), context.sysctls ?? [], spec),
    ...validateEnum(at.child('fsGroupChangePolicy'), context.fsGroupChangePolicy, ['Always', 'OnRootMismatch']),
    ...validateSeccomp(at.child('seccompProfile'), context.seccompProfile),
    ...validateWindowsOptions(at.child('windowsOptions'), context.windowsOptions),
    ...validateAppArmor(at.child('appArmorProfile'), context.appArmorProfile),
    ...validateEnum(at.child('supplementalGroupsPolicy'), context.supplementalGroupsPolicy, ['Merge', 'Strict']),
    // As upstream without the gate SELinuxMount: volumes are never mounted with a label.
    ...validateEnum(at.child('seLinuxChangePolicy'), context.seLinuxChangePolicy, ['Recursive']),
  ];
}

/** `hostUsers` is false when the Pod has user ids of its own. */
export function validateContainerSecurity(
  at: FieldPath,
  context: SecurityContext | undefined,
  hostUsers: boolean,
): FieldError[] {
  if (!context) return [];
  const { privileged, allowPrivilegeEscalation, procMount, capabilities } = context;
  const errors = [
    ...validateId(at.child('runAsUser'), context.runAsUser),
    ...validateId(at.child('runAsGroup'), context.runAsGroup),
    ...validateEnum(at.child('procMount'), procMount, ['Default', 'Unmasked']),
  ];
  if (hostUsers && procMount === 'Unmasked') {
    errors.push(invalid(at.child('procMount'), procMount, '`hostUsers` must be false to use `Unmasked`'));
  }
  errors.push(...validateSeccomp(at.child('seccompProfile'), context.seccompProfile));
  if (allowPrivilegeEscalation === false) {
    const refuse = (words: string) =>
      errors.push(invalid(at, context, `cannot set \`allowPrivilegeEscalation\` to false and ${words}`));
    if (privileged) refuse('`privileged` to true');
    for (const capability of capabilities?.add ?? []) {
      if (capability === 'CAP_SYS_ADMIN') refuse('`capabilities.Add` CAP_SYS_ADMIN');
    }
  }
  return [
    ...errors,
    ...validateWindowsOptions(at.child('windowsOptions'), context.windowsOptions),
    ...validateAppArmor(at.child('appArmorProfile'), context.appArmorProfile),
  ];
}

function validateSeccomp(at: FieldPath, profile: SeccompProfile | undefined): FieldError[] {
  if (!profile) return [];
  const errors = profile.type
    ? validateEnum(at.child('type'), profile.type, profileTypes)
    : [required(at.child('type'), 'type is required when seccompProfile is set')];
  const pathAt = at.child('localhostProfile');
  if (profile.type !== 'Localhost') {
    if (profile.localhostProfile == null) return errors;
    return [
      ...errors,
      invalid(
        pathAt,
        shown({ Type: profile.type, LocalhostProfile: profile.localhostProfile }),
        'can only be set when seccomp type is Localhost',
      ),
    ];
  }
  if (profile.localhostProfile == null) {
    return [...errors, required(pathAt, 'must be set when seccomp type is Localhost')];
  }
  return [...errors, ...validateDescendingPath(pathAt, profile.localhostProfile)];
}

function validateAppArmor(at: FieldPath, profile: AppArmorProfile | undefined): FieldError[] {
  if (!profile) return [];
  const { type, localhostProfile } = profile;
  const pathAt = at.child('localhostProfile');
  if (!type) return [required(at.child('type'), 'type is required when appArmorProfile is set')];
  if (!profileTypes.includes(type)) return validateEnum(at.child('type'), type, profileTypes);
  if (type !== 'Localhost') {
    if (localhostProfile == null) return [];
    return [invalid(pathAt, localhostProfile, 'can only be set when AppArmor type is Localhost')];
  }
  if (localhostProfile == null) return [required(pathAt, 'must be set when AppArmor type is Localhost')];
  const errors: FieldError[] = [];
  const trimmed = localhostProfile.trim();
  if (trimmed !== localhostProfile) {
    errors.push(invalid(pathAt, localhostProfile, 'must not be padded with whitespace'));
  } else if (trimmed === '') errors.push(required(pathAt, 'must be set when AppArmor type is Localhost'));
  if (Buffer.byteLength(localhostProfile) > longestProfilePath) errors.push(tooLong(pathAt, longestProfilePath));
  return errors;
}

const sysctlSegment = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const sysctlFormat = `^(${sysctlSegment}[\\./])*${sysctlSegment}$`;
const sysctlName = new RegExp(sysctlFormat);
const longestSysctlName = 253;

/** The namespaces that a Pod shares with its host must not be tuned from within it. */
const hostNamespaces: readonly { readonly prefix: RegExp; readonly field: 'hostNetwork' | 'hostIPC' }[] = [
  { prefix: /^net\./, field: 'hostNetwork' },
  { prefix: /^(kernel\.sem$|kernel\.shm|kernel\.msg|fs\.mqueue\.)/, field: 'hostIPC' },
];

function validateSysctls(at: FieldPath, sysctls: readonly Sysctl[], spec: PodSpec): FieldError[] {
  const names = new Set<string>();
  return sysctls.flatMap(({ name }, index) => {
    const here = at.index(index).child('name');
    const errors: FieldError[] = [];
    if (!name) errors.push(required(here));
    else if (name.length > longestSysctlName || !sysctlName.test(name)) {
      const message = `must have at most ${longestSysctlName} characters and match regex ${sysctlFormat}`;
      errors.push(invalid(here, name, message));
    } else if (names.has(name)) errors.push(duplicate(here, name));
    names.add(name);
    const dotted = normalizeSysctl(name ?? '');
    const shared = hostNamespaces.find(({ prefix, field }) => spec[field] && prefix.test(dotted));
    if (shared) errors.push(invalid(here, name, `may not be specified when '${shared.field}' is true`));
    return errors;
  });
}

/** `net/ipv4/tcp` and `net.ipv4.tcp` name the same setting; the first separator tells which form it is. */
function normalizeSysctl(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== '/') return name;
  return name.replace(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}

const longestCredentialSpecKiB = 64;

function validateWindowsOptions(at: FieldPath, options: WindowsSecurityContextOptions | undefined): FieldError[] {
  if (!options) return [];
  const errors: FieldError[] = [];
  const { gmsaCredentialSpecName, gmsaCredentialSpec, runAsUserName } = options;
  if (gmsaCredentialSpecName != null) {
    errors.push(...validateDnsSubdomain(at.child('gmsaCredentialSpecName'), gmsaCredentialSpecName));
  }
  if (gmsaCredentialSpec != null) {
    const specAt = at.child('gmsaCredentialSpec');
    if (gmsaCredentialSpec === '') {
      errors.push(invalid(specAt, '', 'gmsaCredentialSpec cannot be an empty string'));
    } else if (Buffer.byteLength(gmsaCredentialSpec) > longestCredentialSpecKiB * 1024) {
      const message = `gmsaCredentialSpec size must be under ${longestCredentialSpecKiB} KiB`;
      errors.push(invalid(specAt, gmsaCredentialSpec, message));
    }
  }
  if (runAsUserName === '') {
    errors.push(invalid(at.child('runAsUserName'), '', 'runAsUserName cannot be an empty string'));
  }
  return errors;
}

const notForWindows = 'cannot be set for a windows pod';
const podFieldsNotForWindows = ['hostUsers', 'hostPID', 'hostIPC', 'shareProcessNamespace'] as const;
const podContextNotForWindows = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
] as const;
const containerContextNotForWindows = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const;

/** What a Pod may not ask for on the operating system it names. */
export function validateOperatingSystem(at: FieldPath, spec: PodSpec): FieldError[] {
  if (!spec.os) return [];
  if (!spec.os.name) return [required(at.child('os', 'name'))];
  const errors = validateEnum(at.child('os'), spec.os.name, ['linux', 'windows']);
  if (errors.length > 0) return errors;
  const contextAt = at.child('securityContext');
  const context = spec.securityContext;
  if (spec.os.name === 'linux') {
    const message = 'windows options cannot be set for a linux pod';
    if (context?.windowsOptions) errors.push(forbidden(contextAt.child('windowsOptions'), message));
    forEachContainer(at, spec, (container, here) => {
      if (container.securityContext?.windowsOptions) {
        errors.push(forbidden(here.child('securityContext', 'windowsOptions'), message));
      }
    });
    return errors;
  }
  for (const field of podFieldsNotForWindows) {
    const value = spec[field];
    const set = field === 'hostPID' || field === 'hostIPC' ? value === true : value != null;
    if (set) errors.push(forbidden(at.child(field), notForWindows));
  }
  for (const field of podContextNotForWindows) {
    if (context?.[field] != null) errors.push(forbidden(contextAt.child(field), notForWindows));
  }
  forEachContainer(at, spec, (container, here) => {
    for (const field of containerContextNotForWindows) {
      if (container.securityContext?.[field] == null) continue;
      errors.push(forbidden(here.child('securityContext', field), notForWindows));
    }
  });
  return errors;
}

type AnyContainer = PodSpec['containers'][number];

/** Init, regular and ephemeral containers in this order, each with its place. */
export function forEachContainer(
  at: FieldPath,
  spec: PodSpec,
  visit: (container: AnyContainer, at: FieldPath) => void,
): void {
  for (const field of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [index, container] of (spec[field] ?? []).entries()) visit(container, at.child(field).index(index));
  }
}
