/** Validation of a PodSpec as a whole, in Pods and in templates. Expects defaults to be filled in. */

import { validateLegacyIp } from '../../../apimachinery/addresses.ts';
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notFound,
  required,
  tooLong,
} from '../../../apimachinery/field-error.ts';
import type { ObjectMeta } from '../../../apimachinery/gen/meta-v1.ts';
import { validateLabels } from '../../../apimachinery/labels.ts';
import { byteLength, dns1123Subdomain, dns1123SubdomainWithUnderscore } from '../../../apimachinery/names.ts';
import type { PodDNSConfig, PodResourceClaim, PodSpec } from '../../gen/core-v1.ts';
import {
  entriesOf,
  largestInt32,
  refused,
  shown,
  validateDnsLabel,
  validateDnsSubdomain,
  validateQualifiedName,
  validateRange,
  validateRequired,
  validateRequiredEnum,
} from '../../validation.ts';
import {
  type ContainerContext,
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
} from './container-validation.ts';
import { mirrorPodAnnotation } from './mirror-pod.ts';
import { amountOf, podLimits, podRequests } from './pod-resources.ts';
import {
  isHugePages,
  quantityOrZero,
  validateContainerResources,
  validatePodLevelResources,
} from './resource-validation.ts';
import {
  validateAffinity,
  validateSchedulingGates,
  validateTolerations,
  validateTopologySpread,
} from './scheduling-validation.ts';
import { forEachContainer, validateOperatingSystem, validatePodSecurity } from './security-validation.ts';
import { validateVolumes } from './volume-validation.ts';

/** `pod` is the metadata of a Pod; undefined for a template. */
export function validatePodSpec(at: FieldPath, spec: PodSpec, pod?: ObjectMeta): FieldError[] {
  const graceSeconds = spec.terminationGracePeriodSeconds;
  const volumes = validateVolumes(at.child('volumes'), spec.volumes ?? [], {
    podName: pod?.name,
    isPod: pod !== undefined,
  });
  const context: ContainerContext = {
    volumes: volumes.byName,
    claimNames: new Set((spec.resourceClaims ?? []).map(({ name }) => name).filter(Boolean)),
    podRestartPolicy: spec.restartPolicy,
    graceSeconds,
    os: spec.os,
    hostUsers: spec.hostUsers !== false,
  };
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec;
  return [
    ...(graceSeconds == null ? [required(at.child('terminationGracePeriodSeconds'))] : []),
    ...volumes.errors,
    ...validateResourceClaims(at.child('resourceClaims'), spec.resourceClaims ?? [], pod),
    ...validateContainers(at.child('containers'), containers, context),
    ...validateInitContainers(at.child('initContainers'), initContainers, containers, context),
    ...validateEphemeralContainers(at.child('ephemeralContainers'), ephemeralContainers, spec, context),
    ...validateResources(at, spec, context),
    ...validateHostNetwork(at, spec, pod !== undefined),
    ...validateRequiredEnum(at.child('restartPolicy'), spec.restartPolicy, ['Always', 'OnFailure', 'Never']),
    ...validateRequiredEnum(at.child('dnsPolicy'), spec.dnsPolicy, [
      'ClusterFirstWithHostNet',
      'ClusterFirst',
      'Default',
      'None',
    ]),
    ...validateLabels(spec.nodeSelector, at.child('nodeSelector')),
    ...validatePodSecurity(at.child('securityContext'), spec),
    ...validatePullSecrets(at.child('imagePullSecrets'), spec),
    ...validateAffinity(at.child('affinity'), spec.affinity),
    ...validateDnsConfig(at.child('dnsConfig'), spec.dnsConfig, spec.dnsPolicy),
    ...(spec.readinessGates ?? []).flatMap(({ conditionType }, index) =>
      validateQualifiedName(at.child('readinessGates').index(index).child('conditionType'), conditionType ?? ''),
    ),
    ...validateSchedulingGates(at.child('schedulingGates'), spec.schedulingGates ?? []),
    ...validateTopologySpread(at.child('topologySpreadConstraints'), spec.topologySpreadConstraints ?? []),
    ...validateHostUsers(at, spec),
    ...validateHostname(at, spec),
    ...validateNames(at, spec),
    ...validateRest(at, spec),
  ];
}

function validateNames(at: FieldPath, spec: PodSpec): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ['serviceAccountName', 'nodeName'] as const) {
    const name = spec[field];
    if (name) errors.push(...validateDnsSubdomain(at.child(field), name));
  }
  errors.push(...validateRange(at.child('activeDeadlineSeconds'), spec.activeDeadlineSeconds, 1, largestInt32));
  for (const field of ['hostname', 'subdomain'] as const) {
    const label = spec[field];
    if (label) errors.push(...validateDnsLabel(at.child(field), label));
  }
  return errors;
}

function validateRest(at: FieldPath, spec: PodSpec): FieldError[] {
  const errors = validateTolerations(at.child('tolerations'), spec.tolerations ?? []);
  for (const [index, { ip, hostnames = [] }] of (spec.hostAliases ?? []).entries()) {
    const here = at.child('hostAliases').index(index);
    errors.push(...validateLegacyIp(ip ?? '', here.child('ip')));
    errors.push(...hostnames.flatMap((name, i) => validateDnsSubdomain(here.child('hostnames').index(i), name)));
  }
  if (spec.priorityClassName) {
    errors.push(...validateDnsSubdomain(at.child('priorityClassName'), spec.priorityClassName));
  }
  if (spec.runtimeClassName != null) {
    errors.push(...validateDnsSubdomain(at.child('runtimeClassName'), spec.runtimeClassName));
  }
  if (spec.preemptionPolicy != null) {
    const policies = ['PreemptLowerPriority', 'Never'];
    errors.push(...validateRequiredEnum(at.child('preemptionPolicy'), spec.preemptionPolicy, policies));
  }
  if (spec.overhead) errors.push(...validateContainerResources(at.child('overhead'), { limits: spec.overhead }));
  errors.push(...validateOperatingSystem(at, spec));
  if (spec.schedulingGroup) {
    const here = at.child('schedulingGroup', 'podGroupName');
    errors.push(...validateRequired(here, spec.schedulingGroup.podGroupName, dns1123Subdomain));
  }
  return [...errors, ...validateFileKeyVolumes(at, spec)];
}

function validateResourceClaims(
  at: FieldPath,
  claims: readonly PodResourceClaim[],
  pod: ObjectMeta | undefined,
): FieldError[] {
  const names = new Set<string>();
  return claims.flatMap((claim, index) => {
    if (pod?.annotations && Object.hasOwn(pod.annotations, mirrorPodAnnotation)) {
      return [{ ...forbidden(at, 'static pods do not support resource claims'), field: '' }];
    }
    const here = at.index(index);
    const { name, resourceClaimName, resourceClaimTemplateName } = claim;
    const errors: FieldError[] = [];
    const whole = shown({
      Name: name ?? '',
      ResourceClaimName: resourceClaimName,
      ResourceClaimTemplateName: resourceClaimTemplateName,
    });
    if (!name) errors.push(required(here.child('name')));
    else if (names.has(name)) errors.push(duplicate(here.child('name'), name));
    else errors.push(...validateDnsLabel(here.child('name'), name));
    names.add(name);
    if (resourceClaimName != null && resourceClaimTemplateName != null) {
      const message = 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified';
      errors.push(invalid(here, whole, message));
    }
    if (resourceClaimName == null && resourceClaimTemplateName == null) {
      errors.push(invalid(here, whole, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'));
    }
    if (resourceClaimName != null) {
      errors.push(...validateDnsSubdomain(here.child('resourceClaimName'), resourceClaimName));
    }
    if (resourceClaimTemplateName != null) {
      errors.push(...validateDnsSubdomain(here.child('resourceClaimTemplateName'), resourceClaimTemplateName));
    }
    return errors;
  });
}

/** Resources of the Pod as a whole must have room for what its containers ask. */
function validateResources(at: FieldPath, spec: PodSpec, context: ContainerContext): FieldError[] {
  const { resources } = spec;
  if (!resources) return [];
  const here = at.child('resources');
  if (spec.os?.name === 'windows') return [forbidden(here, 'may not be set for a windows pod')];
  const errors: FieldError[] = [];
  if (resources.claims != null) {
    errors.push(forbidden(here.child('claims'), 'claims may not be set for Resources at pod-level'));
  }
  errors.push(...validatePodLevelResources(here, resources, context.claimNames));
  if (errors.length > 0) return errors;
  const pod = { metadata: {}, spec };
  const containersOnly = { withoutPodLevel: true, withoutOverhead: true };
  for (const [name, amount] of Object.entries(podRequests(pod, containersOnly))) {
    const whole = resources.requests?.[name];
    if (whole === undefined || amount <= amountOf(name, whole)) continue;
    const message = `must be greater than or equal to aggregate container requests of ${amountText(name, amount)}`;
    errors.push(invalid(here.child('requests').key(name), whole, message));
  }
  for (const [name, amount] of Object.entries(podLimits(pod, containersOnly))) {
    const whole = resources.limits?.[name];
    if (!isHugePages(name) || whole === undefined || amount <= amountOf(name, whole)) continue;
    const message = `must be greater than or equal to aggregate container limits of ${amountText(name, amount)}`;
    errors.push(invalid(here.child('limits').key(name), whole, message));
  }
  for (const [index, container] of (spec.containers ?? []).entries()) {
    for (const [name, limit] of entriesOf(container.resources?.limits)) {
      const whole = resources.limits?.[name];
      if (whole === undefined || quantityOrZero(limit).compare(quantityOrZero(whole)) <= 0) continue;
      const limitAt = here.child('containers').index(index).key(name).child('limits');
      errors.push(invalid(limitAt, limit, `must be less than or equal to pod limits of ${whole}`));
    }
  }
  return errors;
}

function amountText(resource: string, amount: number): string {
  return quantityOrZero(resource === 'cpu' ? `${amount}m` : String(amount)).toString();
}

function validateHostNetwork(at: FieldPath, spec: PodSpec, isPod: boolean): FieldError[] {
  if (!spec.hostNetwork) return [];
  const errors: FieldError[] = [];
  for (const [index, { ports = [] }] of (spec.containers ?? []).entries()) {
    for (const [portIndex, { hostPort = 0, containerPort }] of ports.entries()) {
      if ((!isPod && hostPort === 0) || hostPort === containerPort) continue;
      const here = at.child('containers').index(index).child('ports').index(portIndex).child('hostPort');
      errors.push(invalid(here, hostPort, 'must match `containerPort` when `hostNetwork` is true'));
    }
  }
  return errors;
}

function validatePullSecrets(at: FieldPath, { imagePullSecrets = [] }: PodSpec): FieldError[] {
  return imagePullSecrets.flatMap((secret, index) => {
    const onlyName = Object.keys(secret).every((field) => field === 'name');
    return onlyName ? [] : [invalid(at.index(index), secret, 'only name may be set')];
  });
}

const mostNameservers = 3;
const mostSearchPaths = 32;
const longestSearchList = 2048;

function validateDnsConfig(at: FieldPath, config: PodDNSConfig | undefined, policy: string | undefined): FieldError[] {
  if (policy === 'None') {
    if (!config) return [required(at, 'must provide `dnsConfig` when `dnsPolicy` is None')];
    if (!config.nameservers?.length) {
      const message = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
      return [required(at.child('nameservers'), message)];
    }
  }
  if (!config) return [];
  const { nameservers = [], searches = [], options = [] } = config;
  const errors: FieldError[] = [];
  const serversAt = at.child('nameservers');
  const searchesAt = at.child('searches');
  if (nameservers.length > mostNameservers) {
    errors.push(invalid(serversAt, nameservers, `must not have more than ${mostNameservers} nameservers`));
  }
  errors.push(...nameservers.flatMap((server, index) => validateLegacyIp(server, serversAt.index(index))));
  if (searches.length > mostSearchPaths) {
    errors.push(invalid(searchesAt, searches, `must not have more than ${mostSearchPaths} search paths`));
  }
  if (byteLength(searches.join(' ')) > longestSearchList) {
    const message = `must not have more than ${longestSearchList} characters (including spaces) in the search list`;
    errors.push(invalid(searchesAt, searches, message));
  }
  for (const [index, search] of searches.entries()) {
    if (search === '.') continue;
    const name = search.replace(/\.$/, '');
    errors.push(...refused(searchesAt.index(index), name, dns1123SubdomainWithUnderscore(name)));
  }
  for (const [index, { name }] of options.entries()) {
    if (!name) errors.push(required(at.child('options').index(index), 'must not be empty'));
  }
  return errors;
}

/** A Pod with user ids of its own cannot share the host's namespaces. */
function validateHostUsers(at: FieldPath, spec: PodSpec): FieldError[] {
  if (spec.hostUsers !== false) return [];
  const message = 'when `hostUsers` is false';
  const errors: FieldError[] = [];
  if (spec.hostNetwork) errors.push(forbidden(at.child('hostNetwork'), message));
  if (spec.hostPID) errors.push(forbidden(at.child('HostPID'), message));
  if (spec.hostIPC) errors.push(forbidden(at.child('HostIPC'), message));
  forEachContainer(at, spec, (container, here) => {
    if (container.volumeDevices?.length) errors.push(forbidden(here.child('volumeDevices'), message));
  });
  return errors;
}

const longestHostname = 64;

function validateHostname(at: FieldPath, spec: PodSpec): FieldError[] {
  const { hostnameOverride } = spec;
  if (hostnameOverride == null) return [];
  const here = at.child('hostnameOverride');
  return [
    ...(spec.setHostnameAsFQDN ? [forbidden(here, 'may not be specified when setHostnameAsFQDN is true')] : []),
    ...(spec.hostNetwork ? [forbidden(here, 'may not be specified when hostNetwork is true')] : []),
    ...(byteLength(hostnameOverride) > longestHostname ? [tooLong(here, longestHostname)] : []),
    ...validateDnsSubdomain(here, hostnameOverride),
  ];
}

function validateFileKeyVolumes(at: FieldPath, spec: PodSpec): FieldError[] {
  const errors: FieldError[] = [];
  forEachContainer(at, spec, (container, here) => {
    for (const [index, { valueFrom }] of (container.env ?? []).entries()) {
      const name = valueFrom?.fileKeyRef?.volumeName;
      if (name === undefined) continue;
      const nameAt = here.child('env').index(index).child('valueFrom', 'fileKeyRef', 'volumeName');
      const volume = spec.volumes?.find((candidate) => candidate.name === name);
      if (!volume) errors.push(notFound(nameAt, name));
      else if (!volume.emptyDir) errors.push(invalid(nameAt, name, 'referenced volume must be of type emptyDir'));
    }
  });
  return errors;
}
