/**
 * Names and amounts of resources: which names exist where, which must be whole numbers, which may be promised beyond what is
 * there, and how requests and limits of a container relate.
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
} from '../../../apimachinery/field-error.ts';
import { nonNegativeMessage, qualifiedName } from '../../../apimachinery/names.ts';
import { isQuantity, parseQuantity, type Quantity, zeroQuantity } from '../../../apimachinery/quantity.ts';
import type { ResourceClaim, ResourceRequirements } from '../../gen/core-v1.ts';
import { entriesOf, notIntegerMessage, refused, validateDnsLabel, validateQualifiedName } from '../../validation.ts';
import { isPodLevelResource } from './pod-resources.ts';

const hugePages = 'hugepages-';

const containerResources: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);
const quotaResources: ReadonlySet<string> = new Set([
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'persistentvolumeclaims',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
]);
const standardResources: ReadonlySet<string> = new Set([...quotaResources, 'storage']);
/** Counted in whole objects. */
const integerResources: ReadonlySet<string> = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]);

export function isHugePages(name: string): boolean {
  return name.startsWith(hugePages);
}

/** Kubernetes' own: without a domain, or with `kubernetes.io/` in it. */
export function isNativeResource(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

/** A domain's own resource, such as `example.com/gpu`. */
export function isExtendedResource(name: string): boolean {
  if (isNativeResource(name) || name.startsWith('requests.')) return false;
  return qualifiedName(`requests.${name}`).length === 0;
}

/** Whether more may be promised than there is: of what is Kubernetes' own, all but huge pages. */
export function isOvercommitAllowed(name: string): boolean {
  return isNativeResource(name) && !isHugePages(name);
}

export function isStandardQuotaResource(name: string): boolean {
  return quotaResources.has(name) || isHugePages(name) || name.startsWith(`requests.${hugePages}`);
}

function isStandardContainerResource(name: string): boolean {
  return containerResources.has(name) || isHugePages(name);
}

export function validateResourceName(at: FieldPath, name: string): FieldError[] {
  const errors = validateQualifiedName(at, name);
  if (errors.length > 0 || name.includes('/')) return errors;
  if (standardResources.has(name) || isHugePages(name) || name.startsWith(`requests.${hugePages}`)) return [];
  return [invalid(at, name, 'must be a standard resource type or fully qualified')];
}

export function validateContainerResourceName(at: FieldPath, name: string): FieldError[] {
  const errors = validateResourceName(at, name);
  if (!name.includes('/')) {
    if (isStandardContainerResource(name)) return errors;
    return [...errors, invalid(at, name, 'must be a standard resource for containers')];
  }
  if (isNativeResource(name) || isExtendedResource(name)) return errors;
  return [...errors, invalid(at, name, "doesn't follow extended resource name standard")];
}

function validatePodResourceName(at: FieldPath, name: string): FieldError[] {
  const errors = validateResourceName(at, name);
  if (errors.length > 0 || isPodLevelResource(name)) return errors;
  return [notSupported(at, name, ['cpu', 'hugepages-', 'memory'])];
}

/** Decoding refuses texts that are no quantities; here they count as nothing, so that validation never throws. */
export function quantityOrZero(text: string | undefined): Quantity {
  return text !== undefined && isQuantity(text) ? parseQuantity(text) : zeroQuantity;
}

/** Not negative, and whole where the resource is counted. */
export function validateResourceQuantity(at: FieldPath, resource: string, text: string): FieldError[] {
  const quantity = quantityOrZero(text);
  const errors = quantity.sign < 0 ? [invalid(at, quantity.toString(), nonNegativeMessage)] : [];
  const whole = integerResources.has(resource) || isExtendedResource(resource);
  if (whole && quantity.milliValue() % 1000n !== 0n) errors.push(invalid(at, quantity.toString(), notIntegerMessage));
  return errors;
}

/** Requests and limits of a container, or of a Pod's overhead. */
export function validateContainerResources(
  at: FieldPath,
  resources: ResourceRequirements,
  claimNames: ReadonlySet<string> = new Set(),
): FieldError[] {
  return validateResources(at, resources, claimNames, validateContainerResourceName);
}

/** Requests and limits of a Pod as a whole. */
export function validatePodLevelResources(
  at: FieldPath,
  resources: ResourceRequirements,
  claimNames: ReadonlySet<string>,
): FieldError[] {
  return validateResources(at, resources, claimNames, validatePodResourceName);
}

function validateResources(
  at: FieldPath,
  { limits, requests, claims }: ResourceRequirements,
  claimNames: ReadonlySet<string>,
  validateName: (at: FieldPath, name: string) => FieldError[],
): FieldError[] {
  const errors: FieldError[] = [];
  for (const [name, text] of entriesOf(limits)) {
    errors.push(...validateAmount(at.child('limits').key(name), name, text, validateName));
  }
  for (const [name, text] of entriesOf(requests)) {
    errors.push(...validateAmount(at.child('requests').key(name), name, text, validateName));
    errors.push(...validateRequestAgainstLimit(at, name, text, limits?.[name]));
  }
  const names = [...Object.keys(limits ?? {}), ...Object.keys(requests ?? {})];
  if (names.some(isHugePages) && !names.includes('cpu') && !names.includes('memory')) {
    errors.push(forbidden(at, 'HugePages require cpu or memory'));
  }
  return [...errors, ...validateClaims(at.child('claims'), claims ?? [], claimNames)];
}

function validateAmount(
  at: FieldPath,
  name: string,
  text: string,
  validateName: (at: FieldPath, name: string) => FieldError[],
): FieldError[] {
  const errors = [...validateName(at, name), ...validateResourceQuantity(at, name, text)];
  if (isHugePages(name) && !isMultipleOfPage(name, quantityOrZero(text))) {
    errors.push(invalid(at, text, `${text} is not positive integer multiple of ${name}`));
  }
  return errors;
}

function isMultipleOfPage(name: string, quantity: Quantity): boolean {
  const page = quantityOrZero(name.slice(hugePages.length));
  if (page.sign <= 0 || page.milliValue() % 1000n !== 0n) return false;
  return quantity.value() % page.value() === 0n;
}

function validateRequestAgainstLimit(
  at: FieldPath,
  name: string,
  requestText: string,
  limitText: string | undefined,
): FieldError[] {
  const overcommit = isOvercommitAllowed(name);
  if (limitText === undefined) {
    return overcommit ? [] : [required(at.child('limits'), 'Limit must be set for non overcommitable resources')];
  }
  const request = quantityOrZero(requestText);
  const limit = quantityOrZero(limitText);
  const order = request.compare(limit);
  if (order !== 0 && !overcommit) {
    return [invalid(at.child('requests'), request.toString(), `must be equal to ${name} limit of ${limit}`)];
  }
  if (order <= 0) return [];
  return [invalid(at.child('requests'), request.toString(), `must be less than or equal to ${name} limit of ${limit}`)];
}

function validateClaims(at: FieldPath, claims: readonly ResourceClaim[], known: ReadonlySet<string>): FieldError[] {
  const errors: FieldError[] = [];
  const keys = new Set<string>();
  for (const [index, { name, request }] of claims.entries()) {
    const here = at.index(index);
    if (!name) {
      errors.push(required(here));
      continue;
    }
    const key = request ? `${name}/${request}` : name;
    if (keys.has(name)) errors.push(duplicate(here, name));
    else {
      if (request) errors.push(...validateDnsLabel(here.child('request'), request));
      const overlaps = !request && [...keys].some((other) => other.startsWith(`${name}/`));
      if (keys.has(key) || overlaps) errors.push(duplicate(here, key));
      keys.add(key);
    }
    if (known.has(name)) continue;
    const choice = known.size === 0 ? ' which is empty' : `: ${[...known].sort().join(', ')}`;
    errors.push({ ...notFound(here, name), detail: `must be one of the names in pod.spec.resourceClaims${choice}` });
  }
  return errors;
}

/** A resource that a quota can count. */
export function validateQuotaResourceName(at: FieldPath, name: string): FieldError[] {
  const errors = validateResourceName(at, name);
  if (name.includes('/') || isStandardQuotaResource(name)) return errors;
  return [...errors, ...refused(at, name, ['must be a standard resource for quota'])];
}
