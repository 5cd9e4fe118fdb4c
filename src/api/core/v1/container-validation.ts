/**
 * Validation of containers of all three sorts. Init containers end before the others start and so have no probes or hooks, unless
 * they are sidecars; ephemeral containers are guests for debugging and may ask for next to nothing.
 */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notFound,
  notSupported,
  required,
  tooMany,
} from '../../../apimachinery/field-error.ts';
import { portName, portNumber } from '../../../apimachinery/names.ts';
import { isEmpty } from '../../defaulting.ts';
import type {
  Container,
  ContainerPort,
  ContainerResizePolicy,
  EphemeralContainer,
  PodOS,
  PodSpec,
  VolumeDevice,
  VolumeMount,
} from '../../gen/core-v1.ts';
import { refused, validateDnsLabel, validateRequiredEnum } from '../../validation.ts';
import { validateEnvironment, validateEnvironmentFrom } from './environment-validation.ts';
import { validateLifecycle, validateProbe } from './handler-validation.ts';
import { validateDescendingPath, validateNoBacksteps } from './paths.ts';
import { isSidecar } from './pod-status.ts';
import { validateContainerResources } from './resource-validation.ts';
import { validateContainerSecurity } from './security-validation.ts';
import type { VolumesByName } from './volume-validation.ts';

/** What containers are checked against. */
export interface ContainerContext {
  readonly volumes: VolumesByName;
  readonly claimNames: ReadonlySet<string>;
  readonly podRestartPolicy: string | undefined;
  readonly graceSeconds: number | undefined;
  readonly os: PodOS | undefined;
  /** False when the Pod has user ids of its own. */
  readonly hostUsers: boolean;
}

const probeRoles = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;

export function validateContainers(
  at: FieldPath,
  containers: readonly Container[],
  context: ContainerContext,
): FieldError[] {
  if (containers.length === 0) return [required(at)];
  const names = new Set<string>();
  const errors: FieldError[] = [];
  for (const [index, container] of containers.entries()) {
    const here = at.index(index);
    errors.push(...validateCommon(here, container, context));
    if (names.has(container.name)) errors.push(duplicate(here.child('name'), container.name));
    names.add(container.name);
    errors.push(...validateLife(here, container, context), ...validateRestartPolicy(here, container));
  }
  return [...errors, ...validateHostPorts(at, containers)];
}

export function validateInitContainers(
  at: FieldPath,
  containers: readonly Container[],
  regular: readonly Container[],
  context: ContainerContext,
): FieldError[] {
  const names = new Set(regular.map(({ name }) => name));
  const errors: FieldError[] = [];
  for (const [index, container] of containers.entries()) {
    const here = at.index(index);
    errors.push(...validateCommon(here, container, context), ...validateRestartPolicy(here, container));
    if (names.has(container.name)) errors.push(duplicate(here.child('name'), container.name));
    if (container.name) names.add(container.name);
    errors.push(...validateHostPorts(at, [container]));
    if (isSidecar(container)) {
      errors.push(...validateLife(here, container, context));
      continue;
    }
    for (const field of ['lifecycle', ...probeRoles] as const) {
      if (container[field] == null) continue;
      errors.push(forbidden(here.child(field), 'may not be set for init containers without restartPolicy=Always'));
    }
    for (const [policyIndex, { restartPolicy }] of (container.resizePolicy ?? []).entries()) {
      if (restartPolicy !== 'RestartContainer') continue;
      const message = "must not be set to 'RestartContainer' for non-sidecar initContainers";
      errors.push(
        invalid(here.child('resizePolicy').index(policyIndex).child('restartPolicy'), restartPolicy, message),
      );
    }
  }
  return errors;
}

const notForEphemeral = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  ...probeRoles,
  'lifecycle',
] as const;

export function validateEphemeralContainers(
  at: FieldPath,
  containers: readonly EphemeralContainer[],
  spec: PodSpec,
  context: ContainerContext,
): FieldError[] {
  const others = new Set([...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ name }) => name));
  const names = new Set(others);
  return containers.flatMap((container, index) => {
    const here = at.index(index);
    const message = 'cannot be set for an Ephemeral Container';
    const errors = [...validateCommon(here, container, context), ...validateImageText(here, container)];
    if (names.has(container.name)) errors.push(duplicate(here.child('name'), container.name));
    names.add(container.name);
    const target = container.targetContainerName;
    if (target && !others.has(target)) errors.push(notFound(here.child('targetContainerName'), target));
    for (const field of notForEphemeral) {
      if (!isEmpty(container[field])) errors.push(forbidden(here.child(field), message));
    }
    for (const [mountIndex, mount] of (container.volumeMounts ?? []).entries()) {
      for (const field of ['subPath', 'subPathExpr'] as const) {
        if (mount[field]) errors.push(forbidden(here.child('volumeMounts').index(mountIndex).child(field), message));
      }
    }
    return errors;
  });
}

/** Pods, unlike templates, need a name that a runtime can use as it stands. */
export function validateImageText(at: FieldPath, { image = '' }: Pick<Container, 'image'>): FieldError[] {
  if (image === image.trim()) return [];
  return [invalid(at.child('image'), image, 'must not have leading or trailing whitespace')];
}

function validateCommon(at: FieldPath, container: Container, context: ContainerContext): FieldError[] {
  const { name, image, terminationMessagePolicy, imagePullPolicy, volumeMounts = [], volumeDevices = [] } = container;
  return [
    ...(name ? validateDnsLabel(at.child('name'), name) : [required(at.child('name'))]),
    ...(image ? [] : [required(at.child('image'))]),
    ...validateRequiredEnum(at.child('terminationMessagePolicy'), terminationMessagePolicy, [
      'File',
      'FallbackToLogsOnError',
    ]),
    ...validatePorts(at.child('ports'), container.ports ?? []),
    ...validateEnvironment(at.child('env'), container.env ?? []),
    ...validateEnvironmentFrom(at.child('envFrom'), container.envFrom ?? []),
    ...validateMounts(at.child('volumeMounts'), volumeMounts, container, context.volumes),
    ...validateDevices(at.child('volumeDevices'), volumeDevices, volumeMounts, context.volumes),
    ...validateRequiredEnum(at.child('imagePullPolicy'), imagePullPolicy, ['Always', 'IfNotPresent', 'Never']),
    ...validateContainerResources(at.child('resources'), container.resources ?? {}, context.claimNames),
    ...validateResizePolicy(at.child('resizePolicy'), container.resizePolicy ?? [], context.podRestartPolicy),
    ...validateContainerSecurity(at.child('securityContext'), container.securityContext, context.hostUsers),
  ];
}

function validateLife(at: FieldPath, container: Container, context: ContainerContext): FieldError[] {
  const { lifecycle } = container;
  return [
    ...(lifecycle ? validateLifecycle(at.child('lifecycle'), lifecycle, context) : []),
    ...probeRoles.flatMap((role) => validateProbe(at.child(role), container[role], role)),
  ];
}

const protocols = ['SCTP', 'TCP', 'UDP'];

function validatePorts(at: FieldPath, ports: readonly ContainerPort[]): FieldError[] {
  const names = new Set<string>();
  return ports.flatMap(({ name, containerPort, hostPort, protocol }, index) => {
    const here = at.index(index);
    const errors: FieldError[] = [];
    if (name) {
      const messages = portName(name);
      errors.push(...refused(here.child('name'), name, messages));
      if (messages.length === 0 && names.has(name)) errors.push(duplicate(here.child('name'), name));
      if (messages.length === 0) names.add(name);
    }
    if (!containerPort) errors.push(required(here.child('containerPort')));
    else errors.push(...refused(here.child('containerPort'), containerPort, portNumber(containerPort)));
    if (hostPort) errors.push(...refused(here.child('hostPort'), hostPort, portNumber(hostPort)));
    return [...errors, ...validateRequiredEnum(here.child('protocol'), protocol, protocols)];
  });
}

/** No two containers can have the same port of the host. */
function validateHostPorts(at: FieldPath, containers: readonly Container[]): FieldError[] {
  const taken = new Set<string>();
  const errors: FieldError[] = [];
  for (const [index, { ports = [] }] of containers.entries()) {
    for (const [portIndex, { protocol = '', hostIP = '', hostPort }] of ports.entries()) {
      if (!hostPort) continue;
      const identity = `${protocol}/${hostIP}/${hostPort}`;
      const here = at.index(index).child('ports').index(portIndex).child('hostPort');
      if (taken.has(identity)) errors.push(duplicate(here, identity));
      taken.add(identity);
    }
  }
  return errors;
}

function validateMounts(
  at: FieldPath,
  mounts: readonly VolumeMount[],
  container: Container,
  volumes: VolumesByName,
): FieldError[] {
  const paths = new Set<string>();
  const devices = container.volumeDevices ?? [];
  return mounts.flatMap((mount, index) => {
    const { name = '', mountPath = '', subPath, subPathExpr } = mount;
    const here = at.index(index);
    const nameAt = here.child('name');
    const pathAt = here.child('mountPath');
    const errors: FieldError[] = [];
    if (!name) errors.push(required(nameAt));
    if (!volumes.has(name)) errors.push(notFound(nameAt, name));
    if (!mountPath) errors.push(required(pathAt));
    if (paths.has(mountPath)) errors.push(invalid(pathAt, mountPath, 'must be unique'));
    paths.add(mountPath);
    if (devices.some((device) => device.name === name)) {
      errors.push(invalid(nameAt, name, 'must not already exist in volumeDevices'));
    }
    if (devices.some((device) => device.devicePath === mountPath)) {
      errors.push(invalid(pathAt, mountPath, 'must not already exist as a path in volumeDevices'));
    }
    // From here on upstream blames the list, not its element.
    if (subPath) errors.push(...validateDescendingPath(at.child('subPath'), subPath));
    if (subPathExpr) {
      if (subPath) {
        const message = 'subPathExpr and subPath are mutually exclusive';
        errors.push(invalid(here.child('subPathExpr'), subPathExpr, message));
      }
      errors.push(...validateDescendingPath(at.child('subPathExpr'), subPathExpr));
    }
    return [...errors, ...validatePropagation(at, mount, container)];
  });
}

function validatePropagation(at: FieldPath, mount: VolumeMount, container: Container): FieldError[] {
  const { mountPropagation: propagation, recursiveReadOnly, readOnly } = mount;
  const errors: FieldError[] = [];
  if (propagation != null) {
    const here = at.child('mountPropagation');
    const kinds = ['Bidirectional', 'HostToContainer', 'None'];
    if (!kinds.includes(propagation)) errors.push(notSupported(here, propagation, kinds));
    if (propagation === 'Bidirectional' && !container.securityContext?.privileged) {
      const message = 'Bidirectional mount propagation is available only to privileged containers';
      errors.push(forbidden(here, message));
    }
  }
  const here = at.child('recursiveReadOnly');
  if (recursiveReadOnly === 'Enabled' || recursiveReadOnly === 'IfPossible') {
    if (!readOnly) errors.push(forbidden(here, 'may only be specified when readOnly is true'));
    if (propagation != null && propagation !== 'None') {
      errors.push(forbidden(here, 'may only be specified when mountPropagation is None or not specified'));
    }
  } else if (recursiveReadOnly != null && recursiveReadOnly !== 'Disabled') {
    errors.push(notSupported(here, recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible']));
  }
  return errors;
}

function validateDevices(
  at: FieldPath,
  devices: readonly VolumeDevice[],
  mounts: readonly VolumeMount[],
  volumes: VolumesByName,
): FieldError[] {
  const names = new Set<string>();
  const paths = new Set<string>();
  return devices.flatMap(({ name = '', devicePath = '' }, index) => {
    const nameAt = at.index(index).child('name');
    const pathAt = at.index(index).child('devicePath');
    const volume = volumes.get(name);
    const errors: FieldError[] = [];
    if (!name) errors.push(required(nameAt));
    if (names.has(name)) errors.push(invalid(nameAt, name, 'must be unique'));
    if (volume && !volume.persistentVolumeClaim && !volume.ephemeral) {
      const message = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
      errors.push(invalid(nameAt, name, message));
    }
    if (!volume) errors.push(notFound(nameAt, name));
    if (!devicePath) errors.push(required(pathAt));
    if (paths.has(devicePath)) errors.push(invalid(pathAt, devicePath, 'must be unique'));
    if (devicePath && validateNoBacksteps(pathAt, devicePath).length > 0) {
      errors.push(invalid(pathAt, devicePath, "can not contain backsteps ('..')"));
    } else paths.add(devicePath);
    if (mounts.some((mount) => mount.name === name)) {
      errors.push(invalid(nameAt, name, 'must not already exist in volumeMounts'));
    }
    if (mounts.some((mount) => mount.mountPath === devicePath)) {
      errors.push(invalid(pathAt, devicePath, 'must not already exist as a path in volumeMounts'));
    }
    if (name) names.add(name);
    return errors;
  });
}

function validateResizePolicy(
  at: FieldPath,
  policies: readonly ContainerResizePolicy[],
  podRestartPolicy: string | undefined,
): FieldError[] {
  const resources = new Set<string>();
  return policies.flatMap(({ resourceName, restartPolicy }, index) => {
    const errors: FieldError[] = [];
    if (resources.has(resourceName)) errors.push(duplicate(at.index(index), resourceName));
    resources.add(resourceName);
    errors.push(...validateRequiredEnum(at, resourceName, ['cpu', 'memory']));
    errors.push(...validateRequiredEnum(at, restartPolicy, ['NotRequired', 'RestartContainer']));
    if (podRestartPolicy === 'Never' && restartPolicy !== 'NotRequired') {
      errors.push(invalid(at, restartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"));
    }
    return errors;
  });
}

const mostRestartRules = 20;
const mostExitCodes = 255;

function validateRestartPolicy(at: FieldPath, { restartPolicy, restartPolicyRules = [] }: Container): FieldError[] {
  const errors: FieldError[] = [];
  const policyAt = at.child('restartPolicy');
  const policies = ['Always', 'Never', 'OnFailure'];
  if (restartPolicy == null) {
    if (restartPolicyRules.length > 0) {
      errors.push(required(policyAt, 'must specify restartPolicy when restart rules are used'));
    }
  } else if (!policies.includes(restartPolicy)) errors.push(notSupported(policyAt, restartPolicy, policies));
  const rulesAt = at.child('restartPolicyRules');
  if (restartPolicyRules.length > mostRestartRules) {
    errors.push(tooMany(rulesAt, restartPolicyRules.length, mostRestartRules));
  }
  for (const [index, { action, exitCodes }] of restartPolicyRules.entries()) {
    const here = rulesAt.index(index);
    const actions = ['Restart', 'RestartAllContainers'];
    if (!actions.includes(action)) errors.push(notSupported(here.child('action'), action ?? '', actions));
    if (!exitCodes) {
      errors.push(required(here.child('exitCodes'), 'must be specified'));
      continue;
    }
    if (!['In', 'NotIn'].includes(exitCodes.operator)) {
      errors.push(notSupported(here.child('exitCodes', 'operator'), exitCodes.operator ?? '', ['In', 'NotIn']));
    }
    const count = exitCodes.values?.length ?? 0;
    if (count > mostExitCodes) errors.push(tooMany(here.child('exitCodes', 'values'), count, mostExitCodes));
  }
  return errors;
}
