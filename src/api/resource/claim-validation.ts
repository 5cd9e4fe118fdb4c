/**
 * What a claim for devices asks, in claims, in templates of claims and, in part, in classes of devices.
 */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
} from '../../apimachinery/field-error.ts';
import { byteLength, dns1123Label, dns1123Subdomain, labelValue } from '../../apimachinery/names.ts';
import { validateCsiDriverName } from '../core/v1/volume-validation.ts';
import type {
  DeviceClaim,
  DeviceConfiguration,
  DeviceConstraint,
  DeviceRequest,
  DeviceSelector,
  DeviceToleration,
  ExactDeviceRequest,
} from '../gen/resource-v1.ts';
import {
  entriesOf,
  notPositiveMessage,
  refused,
  validateEnum,
  validateQualifiedName,
  validateRequired,
  validateRequiredEnum,
} from '../validation.ts';
import { validateAttributeName } from './device-names.ts';
import { taintEffects } from './device-taint-validation.ts';
import { validateSelectorExpression } from './selector-expression.ts';

const mostRequests = 32;
const mostConstraints = 32;
const mostConfigurations = 32;
const mostSelectors = 32;
const mostAlternatives = 8;
const longestExpression = 10 * 1024;
const longestParameters = 10 * 1024;

/** Names of requests, and of the alternatives within each. */
export type RequestNames = ReadonlyMap<string, ReadonlySet<string>>;

export function requestNames(claim: DeviceClaim | undefined): RequestNames {
  return new Map(
    claim?.requests?.map(({ name, firstAvailable = [] }) => [name, new Set(firstAvailable.map((one) => one.name))]),
  );
}

export function validateDeviceClaim(at: FieldPath, claim: DeviceClaim | undefined): FieldError[] {
  const { requests = [], constraints = [], config = [] } = claim ?? {};
  const names = requestNames(claim);
  return [
    ...validateSet(at.child('requests'), requests, {
      most: mostRequests,
      key: ({ name }) => name,
      validate: validateRequest,
    }),
    ...validateList(at.child('constraints'), constraints, {
      most: mostConstraints,
      validate: (here, constraint) => [
        ...validateReferences(here.child('requests'), constraint.requests, names),
        ...validateConstraint(here, constraint),
      ],
    }),
    ...validateList(at.child('config'), config, {
      most: mostConfigurations,
      validate: (here, configuration) => [
        ...validateReferences(here.child('requests'), configuration.requests, names),
        ...validateConfiguration(here, configuration),
      ],
    }),
  ];
}

export function validateSelectors(at: FieldPath, selectors: readonly DeviceSelector[] | undefined): FieldError[] {
  const validate = (here: FieldPath, { cel }: DeviceSelector) => {
    if (!cel) return [required(here.child('cel'))];
    const { expression = '' } = cel;
    const there = here.child('cel', 'expression');
    // Too long a one is not compiled.
    if (byteLength(expression) > longestExpression) return [tooLong(there, longestExpression)];
    return validateSelectorExpression(there, expression);
  };
  return validateList(at, selectors, { most: mostSelectors, validate });
}

export function validateConfigurations(at: FieldPath, list: readonly DeviceConfiguration[] | undefined): FieldError[] {
  return validateList(at, list, { most: mostConfigurations, validate: validateConfiguration });
}

function validateRequest(at: FieldPath, { name, exactly, firstAvailable = [] }: DeviceRequest): FieldError[] {
  const errors = refused(at.child('name'), name, dns1123Label(name));
  const either = 'exactly one of `exactly` or `firstAvailable` is required';
  const alternatives = firstAvailable.length > 0;
  if (exactly && alternatives) return [...errors, invalid(at, null, `${either}, but multiple fields are set`)];
  if (exactly) return [...errors, ...validateDevices(at.child('exactly'), exactly)];
  if (!alternatives) return [...errors, required(at, either)];
  const found = validateSet(at.child('firstAvailable'), firstAvailable, {
    most: mostAlternatives,
    key: (one) => one.name,
    validate: (here, one) => [
      ...refused(here.child('name'), one.name, dns1123Label(one.name)),
      ...validateDevices(here, one),
    ],
  });
  return [...errors, ...found];
}

function validateDevices(at: FieldPath, request: Omit<ExactDeviceRequest, 'adminAccess'>): FieldError[] {
  const { deviceClassName, selectors, allocationMode = '', count = 0, tolerations = [] } = request;
  const errors = [
    ...validateRequired(at.child('deviceClassName'), deviceClassName, dns1123Subdomain),
    ...validateSelectors(at.child('selectors'), selectors),
  ];
  const countAt = at.child('count');
  if (allocationMode === 'All') {
    const message = "must not be specified when allocationMode is 'All'";
    if (count !== 0) errors.push(invalid(countAt, count, message));
  } else if (allocationMode === 'ExactCount') {
    if (count <= 0) errors.push(invalid(countAt, count, notPositiveMessage));
  } else errors.push(notSupported(at.child('allocationMode'), allocationMode, ['All', 'ExactCount']));
  const tolerationsAt = at.child('tolerations');
  return [...errors, ...tolerations.flatMap((one, index) => validateToleration(tolerationsAt.index(index), one))];
}

function validateToleration(at: FieldPath, { key, operator, value = '', effect }: DeviceToleration): FieldError[] {
  const errors = key ? validateQualifiedName(at.child('key'), key) : [];
  const valueAt = at.child('value');
  if (operator === 'Exists' && value !== '') {
    errors.push(invalid(valueAt, value, 'must be empty for operator `Exists`'));
  } else if (operator === 'Equal') errors.push(...refused(valueAt, value, labelValue(value)));
  errors.push(...validateRequiredEnum(at.child('operator'), operator, ['Equal', 'Exists']));
  if (effect) errors.push(...validateEnum(at.child('effect'), effect, taintEffects));
  return errors;
}

function validateConstraint(at: FieldPath, { matchAttribute, distinctAttribute }: DeviceConstraint): FieldError[] {
  if (matchAttribute != null) return validateAttribute(at.child('matchAttribute'), matchAttribute);
  if (distinctAttribute != null) return validateAttribute(at.child('distinctAttribute'), distinctAttribute);
  // Upstream says so of none, too.
  const message = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
  return [required(at, message)];
}

/** An attribute with the domain of the driver that speaks of it. */
function validateAttribute(at: FieldPath, attribute: string): FieldError[] {
  const errors = validateAttributeName(at, attribute);
  if (attribute.includes('/')) return errors;
  return [...errors, invalid(at, attribute, 'a fully qualified name must be a domain and a name separated by a slash')];
}

/** Requests of the claim, or alternatives within them. */
export function validateReferences(
  at: FieldPath,
  list: readonly string[] | undefined,
  names: RequestNames,
): FieldError[] {
  return validateSet(at, list, {
    most: mostRequests,
    key: (name) => name,
    validate: (here, name) => validateReference(here, name, names),
  });
}

export function validateReference(at: FieldPath, reference: string, names: RequestNames): FieldError[] {
  const message =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const [request = '', alternative, ...more] = reference.split('/');
  if (more.length > 0) return [invalid(at, reference, message)];
  const parts = alternative === undefined ? [request] : [request, alternative];
  const errors = parts.flatMap((part) => refused(at, part, dns1123Label(part)));
  const known = names.get(request);
  if (!known || (alternative !== undefined && !known.has(alternative))) errors.push(invalid(at, reference, message));
  return errors;
}

export function validateConfiguration(at: FieldPath, { opaque }: DeviceConfiguration): FieldError[] {
  if (!opaque) return [required(at.child('opaque'))];
  const here = at.child('opaque');
  return [
    ...validateCsiDriverName(here.child('driver'), opaque.driver),
    ...validateParameters(here.child('parameters'), opaque.parameters),
  ];
}

export function validateParameters(at: FieldPath, parameters: unknown): FieldError[] {
  if (parameters === undefined || parameters === null) return [required(at)];
  if (byteLength(JSON.stringify(parameters)) > longestParameters) return [tooLong(at, longestParameters)];
  const isObject = typeof parameters === 'object' && !Array.isArray(parameters);
  return isObject ? [] : [invalid(at, '<value omitted>', 'must be a valid JSON object')];
}

interface ListRules<T> {
  readonly most: number;
  validate(at: FieldPath, item: T): FieldError[];
}

/** A list that is too long is not looked at any further. */
export function validateList<T>(
  at: FieldPath,
  list: readonly T[] | undefined,
  { most, validate }: ListRules<T>,
): FieldError[] {
  if (!list) return [];
  if (list.length > most) return [tooMany(at, list.length, most)];
  return list.flatMap((item, index) => validate(at.index(index), item));
}

interface SetRules<T> extends ListRules<T> {
  key(item: T): string;
}

/** The same of a list in which no key stands twice. */
export function validateSet<T>(at: FieldPath, list: readonly T[] | undefined, rules: SetRules<T>): FieldError[] {
  const errors = validateList(at, list, rules);
  if (!list || list.length > rules.most) return errors;
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    const key = rules.key(item);
    if (seen.has(key)) errors.push(duplicate(at.index(index), key));
    seen.add(key);
  }
  return errors;
}

interface MapRules<T> {
  /** Without it, as many as there are. */
  readonly most?: number;
  /** Keys that are longer are cut in their middle, where they stand in a path. */
  readonly longestShown: number;
  validateKey(at: FieldPath, key: string): FieldError[];
  validate(at: FieldPath, item: T): FieldError[];
}

/** A map that is too large is not looked at any further. */
export function validateMap<T>(
  at: FieldPath,
  map: Readonly<Record<string, T>> | undefined,
  { most = Number.POSITIVE_INFINITY, longestShown, validateKey, validate }: MapRules<T>,
): FieldError[] {
  const entries = entriesOf(map);
  if (entries.length > most) return [tooMany(at, entries.length, most)];
  return entries.flatMap(([key, item]) => [
    ...validateKey(at, key),
    ...validate(at.key(shortened(key, longestShown)), item),
  ]);
}

function shortened(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const kept = longest - '...'.length;
  return `${text.slice(0, Math.ceil(kept / 2))}...${text.slice(text.length - Math.floor(kept / 2))}`;
}
