/** One device of a ResourceSlice: what is said of it, what it consumes, and from where it can be used. */
import {
  type FieldError,
  type FieldPath,
  invalid,
  notFound,
  required,
  tooLong,
} from '../../apimachinery/field-error.ts';
import { byteLength, dns1123Label, dns1123LabelMaxLength, dns1123Subdomain } from '../../apimachinery/names.ts';
import { parseQuantity } from '../../apimachinery/quantity.ts';
import { isNativeResource } from '../core/v1/resource-validation.ts';
import { validateNodeSelector } from '../core/v1/scheduling-validation.ts';
import { semanticallyEqual } from '../equality.ts';
import type { Counter, Device, DeviceAttribute, DeviceTaint } from '../gen/resource-v1.ts';
import {
  entriesOf,
  refused,
  shown,
  validateDnsLabel,
  validateQualifiedName,
  validateRequired,
  validateUnique,
} from '../validation.ts';
import { validateCapacity } from './capacity-policy-validation.ts';
import { validateList, validateMap, validateSet } from './claim-validation.ts';
import { longestAttributeName, validateAttributeName } from './device-names.ts';
import { validateDeviceTaint } from './device-taint-validation.ts';

const mostNamesOfDevice = 32;
const mostValuesOfDevice = 48;
const mostTaints = 16;
const mostConsumptions = 2;
const mostCounters = 32;
const mostConditions = 4;
const longestValue = 64;
const unsetOrTrue = 'must be either unset or set to true';

/** As semver.org has it, where parts of the number have no leading zeros. */
const semanticVersion = (() => {
  const number = '(0|[1-9]\\d*)';
  const release = '(0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)';
  const build = '[0-9a-zA-Z-]+';
  return new RegExp(`^${number}\\.${number}\\.${number}(-${release}(\\.${release})*)?(\\+${build}(\\.${build})*)?$`);
})();

export interface DeviceContext {
  /** The same device before an update. */
  readonly previous: Device | undefined;
  /** Whether each device says for itself on which nodes it is. */
  readonly selectsNodes: boolean;
}

export function validateDevice(at: FieldPath, device: Device, { previous, selectsNodes }: DeviceContext): FieldError[] {
  const { attributes, capacity, consumesCounters, taints, allowMultipleAllocations = false } = device;
  const errors = [
    ...validateDnsLabel(at.child('name'), device.name ?? ''),
    ...validateNumbers(at, device),
    ...validateMap(at.child('attributes'), attributes, {
      longestShown: longestAttributeName,
      validateKey: validateAttributeName,
      validate: validateAttribute,
    }),
    ...validateMap(at.child('capacity'), capacity, {
      longestShown: longestAttributeName,
      validateKey: validateAttributeName,
      validate: (here, one) => validateCapacity(here, one, allowMultipleAllocations),
    }),
  ];
  if (!previous || !semanticallyEqual(previous.taints, taints)) {
    const validate = (here: FieldPath, taint: DeviceTaint) => validateDeviceTaint(here, taint);
    errors.push(...validateList(at.child('taints'), taints, { most: mostTaints, validate }));
  }
  return [
    ...errors,
    ...validateSet(at.child('consumesCounters'), consumesCounters, {
      most: mostConsumptions,
      key: ({ counterSet }) => counterSet ?? '',
      validate: (here, { counterSet, counters }) => [
        ...validateRequired(here.child('counterSet'), counterSet, dns1123Label),
        ...validateCounters(here.child('counters'), counters),
      ],
    }),
    ...validateNodes(at, device, selectsNodes),
    ...validateBinding(at, device),
    ...validateNodeResources(at.child('nodeAllocatableResourceMappings'), device),
  ];
}

/** Counters by name, at least one; every amount that can be read is one that can be counted. */
export function validateCounters(at: FieldPath, counters: Readonly<Record<string, Counter>> | undefined): FieldError[] {
  if (entriesOf(counters).length === 0) return [required(at)];
  return validateMap(at, counters, {
    most: mostCounters,
    longestShown: dns1123LabelMaxLength,
    validateKey: validateDnsLabel,
    validate: () => [],
  });
}

/** Of names and of values there may be so many in all. */
function validateNumbers(at: FieldPath, { attributes, capacity }: Device): FieldError[] {
  const errors: FieldError[] = [];
  const names = entriesOf(attributes).length + entriesOf(capacity).length;
  if (names > mostNamesOfDevice) {
    const message = `the total number of attributes and capacities must not exceed ${mostNamesOfDevice}`;
    errors.push(invalid(at, names, message));
  }
  const values = entriesOf(attributes)
    .map(([, { bools = [], ints = [], strings = [], versions = [] }]) =>
      Math.max(1, bools.length + ints.length + strings.length + versions.length),
    )
    .reduce((sum, one) => sum + one, 0);
  if (values > mostValuesOfDevice) {
    const message = `the total number of attribute values must not exceed ${mostValuesOfDevice}`;
    errors.push(invalid(at, values, message));
  }
  return errors;
}

/** Lists without items are not kept, and hence are no values. */
function validateAttribute(at: FieldPath, attribute: DeviceAttribute): FieldError[] {
  const { int, bool, string, version, ints, bools, strings, versions } = attribute;
  const errors: FieldError[] = [];
  if (string != null) errors.push(...validateText(at.child('string'), string));
  if (version != null) errors.push(...validateVersion(at.child('version'), version));
  const stringsAt = at.child('strings');
  const versionsAt = at.child('versions');
  errors.push(
    ...(strings ?? []).flatMap((item, index) => validateText(stringsAt.index(index), item)),
    ...(versions ?? []).flatMap((item, index) => validateVersion(versionsAt.index(index), item)),
  );
  const set = [int, bool, string, version, ints, bools, strings, versions].filter((value) => value != null);
  if (set.length === 1) return errors;
  const value = shown({
    IntValue: int,
    BoolValue: bool,
    StringValue: string,
    VersionValue: version,
    IntValues: ints,
    BoolValues: bools,
    StringValues: strings,
    VersionValues: versions,
  });
  return [...errors, invalid(at, set.length === 0 ? '' : value, 'exactly one value must be specified')];
}

function validateText(at: FieldPath, value: string): FieldError[] {
  return byteLength(value) > longestValue ? [tooLong(at, longestValue)] : [];
}

function validateVersion(at: FieldPath, value: string): FieldError[] {
  const known = semanticVersion.test(value);
  const message = 'must be a string compatible with semver.org spec 2.0.0';
  return [...(known ? [] : [invalid(at, value, message)]), ...validateText(at, value)];
}

/** Either every device says where it is, or none does. */
function validateNodes(at: FieldPath, device: Device, selectsNodes: boolean): FieldError[] {
  const { nodeName, nodeSelector, allNodes } = device;
  if (!selectsNodes) {
    if (nodeName == null && nodeSelector == null && allNodes == null) return [];
    const message =
      '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec';
    return [invalid(at, null, message)];
  }
  const errors: FieldError[] = [];
  if (nodeName === '') errors.push(invalid(at.child('nodeName'), '', 'must not be empty'));
  else if (nodeName != null) errors.push(...refused(at.child('nodeName'), nodeName, dns1123Subdomain(nodeName)));
  if (nodeSelector) errors.push(...validateNodeSelector(at.child('nodeSelector'), nodeSelector));
  if (allNodes === false) errors.push(invalid(at.child('allNodes'), false, unsetOrTrue));
  const message =
    'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec';
  return [...errors, ...validateOneSet(at, { nodeName, nodeSelector, allNodes }, { none: message, several: message })];
}

/** Exactly one of the fields must say something: what is empty or false says nothing. */
export function validateOneSet(
  at: FieldPath,
  fields: Readonly<Record<string, unknown>>,
  { none, several }: { readonly none: string; readonly several: string },
): FieldError[] {
  const names = Object.entries(fields).flatMap(([name, value]) => (value ? [`\`${name}\``] : []));
  if (names.length === 0) return [required(at, none)];
  return names.length === 1 ? [] : [invalid(at, `{${names.join(', ')}}`, several)];
}

/** Conditions to wait for before a Pod is bound, and those to give up on: both or neither, and none twice. */
export function validateBinding(
  at: FieldPath,
  { bindingConditions, bindingFailureConditions }: Pick<Device, 'bindingConditions' | 'bindingFailureConditions'>,
): FieldError[] {
  const [awaited, feared] = [bindingConditions ?? [], bindingFailureConditions ?? []];
  const [awaitedAt, fearedAt] = [at.child('bindingConditions'), at.child('bindingFailureConditions')];
  const rules = { most: mostConditions, validate: validateQualifiedName };
  const errors = [...validateList(awaitedAt, awaited, rules), ...validateList(fearedAt, feared, rules)];
  errors.push(...validateUnique(awaitedAt, awaited), ...validateUnique(fearedAt, feared));
  for (const [index, condition] of feared.entries()) {
    if (!awaited.includes(condition)) continue;
    const message = 'bindingFailureConditions must not overlap with bindingConditions';
    errors.push(invalid(fearedAt.index(index), condition, message));
  }
  if (awaited.length === 0 && feared.length > 0) {
    const message = 'bindingConditions are required to use bindingFailureConditions';
    errors.push(invalid(awaitedAt, bindingConditions ?? null, message));
  }
  if (feared.length === 0 && awaited.length > 0) {
    const message = 'bindingFailureConditions are required to use bindingConditions';
    errors.push(invalid(fearedAt, bindingFailureConditions ?? null, message));
  }
  return errors;
}

function validateNodeResources(at: FieldPath, { nodeAllocatableResourceMappings, capacity }: Device): FieldError[] {
  return entriesOf(nodeAllocatableResourceMappings).flatMap(([resource, { allocationMultiplier, capacityKey }]) => {
    const here = at.key(resource);
    const errors: FieldError[] = [];
    if (!isNativeResource(resource)) errors.push(invalid(here, resource, 'must be a node allocatable resource name'));
    if (allocationMultiplier != null && parseQuantity(allocationMultiplier).sign <= 0) {
      errors.push(invalid(here.child('allocationMultiplier'), allocationMultiplier, 'must be positive'));
    }
    const keyAt = here.child('capacityKey');
    if (capacityKey === '') errors.push(invalid(keyAt, '', 'capacityKey must not be an empty string'));
    else if (capacityKey != null && !Object.hasOwn(capacity ?? {}, capacityKey)) {
      errors.push(notFound(keyAt, capacityKey));
    }
    return errors;
  });
}
