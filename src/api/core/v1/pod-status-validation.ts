/**
 * What is refused of a Pod's status: a container that ended for good lives again, addresses of one family twice, devices and users
 * that its spec knows nothing of.
 */
import { validateLegacyIp } from '../../../apimachinery/addresses.ts';
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  path,
  required,
  tooLong,
} from '../../../apimachinery/field-error.ts';
import { byteLength, dns1123Subdomain, userOrGroupId } from '../../../apimachinery/names.ts';
import type { Container, ContainerStatus, Pod, PodSpec } from '../../gen/core-v1.ts';
import {
  entriesOf,
  refused,
  validateDnsLabel,
  validateDnsSubdomain,
  validateImmutable,
  validateQualifiedName,
  validateRequired,
} from '../../validation.ts';
import { ipFamilyOf, shouldRestart } from './pod-status.ts';
import { validateAnnotationUpdate } from './pod-validation.ts';
import { isNativeResource, quantityOrZero } from './resource-validation.ts';

const statusAt = path('status');
const containerLists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;

export function validatePodStatusUpdate(pod: Pod, previous: Pod): FieldError[] {
  const next = pod.status ?? {};
  const stored = previous.status ?? {};
  const errors: FieldError[] = [...validateAnnotationUpdate(pod, previous)];
  for (const [index, { type, observedGeneration = 0 }] of (next.conditions ?? []).entries()) {
    const here = statusAt.child('conditions').index(index);
    if (observedGeneration < 0) {
      errors.push(invalid(here.child('observedGeneration'), observedGeneration, 'must be a non-negative integer'));
    }
    errors.push(...validateQualifiedName(here.child('Type'), type));
  }
  const nominated = next.nominatedNodeName ?? '';
  if (nominated && nominated !== stored.nominatedNodeName) {
    const here = statusAt.child('nominatedNodeName');
    errors.push(...validateDnsSubdomain(here, nominated));
    if (previous.spec.nodeName) {
      errors.push(forbidden(here, 'may not be set on pods that are already bound to a node'));
    }
  }
  if ((next.observedGeneration ?? 0) < 0) {
    const message = 'must be a non-negative integer';
    errors.push(invalid(statusAt.child('observedGeneration'), next.observedGeneration, message));
  }
  errors.push(...validateImmutable(statusAt.child('qosClass'), next.qosClass, stored.qosClass));
  for (const list of containerLists) {
    errors.push(
      ...validateTransitions(statusAt.child(list), next[list] ?? [], stored[list] ?? [], list, previous.spec),
    );
  }
  return [
    ...errors,
    ...validateClaimStatuses(pod),
    ...validateExtendedResourceClaim(pod),
    ...validateNodeAllocatableClaims(pod),
    ...validateAddresses(pod),
    ...containerLists.flatMap((list) => validateUsers(statusAt.child(list), next[list], pod.spec)),
    ...validateAllocatedResources(statusAt.child('containerStatuses'), next.containerStatuses, pod.spec.containers),
    ...validateAllocatedResources(
      statusAt.child('initContainerStatuses'),
      next.initContainerStatuses,
      pod.spec.initContainers,
    ),
    ...validateNothingAllocated(statusAt.child('ephemeralContainerStatuses'), next.ephemeralContainerStatuses),
  ];
}

/** A container that has ended for good does not live again. */
function validateTransitions(
  at: FieldPath,
  next: readonly ContainerStatus[],
  stored: readonly ContainerStatus[],
  list: (typeof containerLists)[number],
  spec: PodSpec,
): FieldError[] {
  if (list !== 'ephemeralContainerStatuses' && everyContainerCouldRestart(spec)) return [];
  const containers =
    list === 'containerStatuses'
      ? spec.containers
      : list === 'initContainerStatuses'
        ? (spec.initContainers ?? [])
        : [];
  return stored.flatMap((old, index) => {
    const ended = old.state?.terminated;
    const now = next.find(({ name }) => name === old.name);
    if (!ended || !now || now.state?.terminated) return [];
    const container = containers.find(({ name }) => name === old.name);
    if (container && shouldRestart(container, spec, ended.exitCode)) return [];
    return [forbidden(at.index(index).child('state'), 'may not be transitioned to non-terminated state')];
  });
}

/** Some rule starts the whole Pod anew. */
function everyContainerCouldRestart(spec: PodSpec): boolean {
  return [...(spec.initContainers ?? []), ...spec.containers].some((container) =>
    container.restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'),
  );
}

function validateClaimStatuses({ spec, status }: Pod): FieldError[] {
  const names = new Set<string>();
  return (status?.resourceClaimStatuses ?? []).flatMap(({ name, resourceClaimName }, index) => {
    const here = statusAt.child('resourceClaimStatuses').index(index);
    const errors: FieldError[] = [];
    if (!spec.resourceClaims?.some((claim) => claim.name === name)) {
      const message = 'must match the name of an entry in `spec.resourceClaims`';
      errors.push(invalid(here.child('name'), name, message));
    }
    if (resourceClaimName != null) {
      errors.push(...validateDnsSubdomain(here.child('resourceClaimName'), resourceClaimName));
    }
    if (names.has(name)) errors.push(duplicate(here.child('name'), name));
    names.add(name);
    return errors;
  });
}

/** Which of a container's requests for extended resources devices of the Pod's own claim serve. */
function validateExtendedResourceClaim({ spec, status }: Pod): FieldError[] {
  const claim = status?.extendedResourceClaimStatus;
  if (!claim) return [];
  const at = statusAt.child('extendedResourceClaimStatus');
  const mappingsAt = at.child('requestMappings');
  const containers = new Map([...(spec.initContainers ?? []), ...spec.containers].map((one) => [one.name, one]));
  const mappings = claim.requestMappings ?? [];
  const errors = mappings.length === 0 ? [required(mappingsAt, 'at least one request mapping is required')] : [];
  const seen = new Set<string>();
  for (const [index, { containerName = '', resourceName = '', requestName = '' }] of mappings.entries()) {
    const here = mappingsAt.index(index);
    const container = containers.get(containerName);
    if (!container) {
      const message = 'must match the name of an entry in spec.initContainers.name or spec.containers.name';
      errors.push(invalid(here.child('containerName'), containerName, message));
    } else if (!Object.hasOwn(container.resources?.requests ?? {}, resourceName)) {
      const message =
        'must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests';
      errors.push(invalid(here.child('resourceName'), resourceName, message));
    }
    // Upstream names the field without its mapping.
    errors.push(...validateDnsLabel(at.child('requestName'), requestName));
    const identity = JSON.stringify([containerName, resourceName, requestName]);
    if (seen.has(identity)) {
      for (const [field, value] of Object.entries({ containerName, resourceName, requestName })) {
        errors.push(duplicate(here.child(field), value));
      }
    }
    seen.add(identity);
  }
  const name = claim.resourceClaimName;
  return [...errors, ...validateRequired(at.child('resourceClaimName'), name, dns1123Subdomain)];
}

/** Claims whose devices are counted as the node's own cpu or memory. */
function validateNodeAllocatableClaims({ spec, status }: Pod): FieldError[] {
  const known = new Set(
    [...(spec.resourceClaims ?? []), ...(status?.resourceClaimStatuses ?? [])].map((claim) => claim.resourceClaimName),
  );
  const at = statusAt.child('nodeAllocatableResourceClaimStatuses');
  return (status?.nodeAllocatableResourceClaimStatuses ?? []).flatMap((claim, index) => {
    const { resourceClaimName: name = '', containers = [], resources } = claim;
    const here = at.index(index);
    const errors: FieldError[] = [];
    if (name === '') errors.push(required(here.child('resourceClaimName'), 'must not be empty'));
    if (!known.has(name)) {
      errors.push(invalid(here.child('resourceClaimName'), name, 'no mapping found in pod reference'));
    }
    if (containers.length === 0) errors.push(required(here.child('containers'), 'must not be empty'));
    const amounts = entriesOf(resources);
    if (amounts.length === 0) errors.push(required(here.child('resources'), 'must not be empty'));
    for (const [resource, amount] of amounts) {
      const key = here.child('resources').key(resource);
      if (!isNativeResource(resource)) errors.push(invalid(key, resource, 'must be a node allocatable resource name'));
      if (quantityOrZero(amount).sign < 0) errors.push(invalid(key, amount, 'must be non-negative'));
    }
    return errors;
  });
}

/** Whom the first process of a container runs as: told in a way that only one system's containers have. */
function validateUsers(at: FieldPath, statuses: readonly ContainerStatus[] = [], { os }: PodSpec): FieldError[] {
  const system = os?.name ?? 'linux';
  return statuses.flatMap(({ user }, index) => {
    const linux = user?.linux;
    if (!linux) return [];
    const here = at.index(index).child('user', 'linux');
    if (system === 'windows') return [forbidden(here, 'cannot be set for a windows pod')];
    if (system !== 'linux') return [];
    const { uid = 0, gid = 0, supplementalGroups = [] } = linux;
    return [
      ...refused(here.child('uid'), uid, userOrGroupId(uid)),
      ...refused(here.child('gid'), gid, userOrGroupId(gid)),
      ...supplementalGroups.flatMap((group, place) =>
        refused(here.child('supplementalGroups').index(place), group, userOrGroupId(group)),
      ),
    ];
  });
}

const healths = ['Healthy', 'Unhealthy', 'Unknown'];
const longestHealthMessage = 1024;

/** How the devices fare that a container was given. A container that the Pod does not have may be told of. */
function validateAllocatedResources(
  at: FieldPath,
  statuses: readonly ContainerStatus[] = [],
  containers: readonly Container[] = [],
): FieldError[] {
  return statuses.flatMap(({ name: containerName, allocatedResourcesStatus = [] }, index) => {
    const container = containers.find(({ name }) => name === containerName);
    return allocatedResourcesStatus.flatMap(({ name, resources = [] }, place) => {
      const here = at.index(index).child('allocatedResourcesStatus').index(place);
      const errors = container ? validateAllocatedName(here.child('name'), name, container) : [];
      const seen = new Set<string>();
      for (const [position, { resourceID, health = '', message }] of resources.entries()) {
        const resource = here.child('resources').index(position);
        if (!healths.includes(health)) errors.push(notSupported(resource.child('health'), health, healths));
        if (message === '') errors.push(required(resource.child('message'), 'must be non-empty if specified'));
        else if (message && byteLength(message) > longestHealthMessage) {
          errors.push(tooLong(resource.child('message'), longestHealthMessage));
        }
        if (seen.has(resourceID)) errors.push(duplicate(resource.child('resourceID'), resourceID));
        seen.add(resourceID);
      }
      return errors;
    });
  });
}

function validateAllocatedName(at: FieldPath, name: string, { resources }: Container): FieldError[] {
  if (!name.startsWith('claim:')) {
    if (Object.hasOwn(resources?.requests ?? {}, name)) return [];
    return [invalid(at, name, "must match one of the container's resource requests")];
  }
  const claims = (resources?.claims ?? []).map(({ name: claim, request }) =>
    request ? `claim:${claim}/${request}` : `claim:${claim}`,
  );
  if (claims.includes(name)) return [];
  const message =
    "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";
  return [invalid(at, name, message)];
}

function validateNothingAllocated(at: FieldPath, statuses: readonly ContainerStatus[] = []): FieldError[] {
  return statuses.flatMap(({ allocatedResourcesStatus }, index) =>
    allocatedResourcesStatus?.length
      ? [forbidden(at.index(index).child('allocatedResourcesStatus'), 'must not be specified in container status')]
      : [],
  );
}

/** At most one address of each family. */
function validateAddresses({ status }: Pod): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ['podIPs', 'hostIPs'] as const) {
    const addresses = (status?.[field] ?? []).map(({ ip }) => ip);
    const at = statusAt.child(field);
    errors.push(...addresses.flatMap((ip, index) => validateLegacyIp(ip, at.index(index))));
    if (addresses.length > 1) {
      const families = new Set(addresses.map(ipFamilyOf));
      if (families.size < addresses.length) {
        errors.push(invalid(at, status?.[field], 'may specify no more than one IP for each IP family'));
      }
    }
  }
  const hostIP = status?.hostIP;
  if (hostIP && status?.hostIPs?.length && status.hostIPs[0]!.ip !== hostIP) {
    errors.push(
      invalid(statusAt.child('hostIPs').index(0).child('ip'), status.hostIPs[0]!.ip, 'must be equal to `hostIP`'),
    );
  }
  return errors;
}
