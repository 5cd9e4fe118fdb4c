/**
 * The expressions that select devices: what they may name, what they must give, and how much they may cost. A device is its driver,
 * its attributes and its capacities, both by domain and name:
 *
 *     device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "a100"
 *     device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))
 *
 * An attribute is of whatever type the driver gave it, so it goes with everything, but no loop runs over it.
 */
import { JsonMap } from '../../apimachinery/cel/adapt.ts';
import {
  anyType,
  boolType,
  type CelResult,
  type CelValue,
  type Environment,
  isCelError,
  type SizeRange,
  stringType,
} from '../../apimachinery/cel/index.ts';
import {
  type DeclaredType,
  declaredMap,
  declaredObject,
  declaredPart,
  declaredScalar,
} from '../../apimachinery/cel/kubernetes/declared-type.ts';
import { bindings } from '../../apimachinery/cel/library/bindings.ts';
import { baseEnvironment } from '../../apimachinery/cel/library/environment.ts';
import { quantityType, toQuantity } from '../../apimachinery/cel/library/quantities.ts';
import { toSemver } from '../../apimachinery/cel/library/semantic-versions.ts';
import { type FieldError, type FieldPath, forbidden, invalid } from '../../apimachinery/field-error.ts';
import { once } from '../../base/once.ts';
import type { Device, DeviceAttribute } from '../gen/resource-v1.ts';

const mostExpressionCost = 1_000_000;
const longestDomain = 63;
const longestIdentifier = 32;
const longestDriver = 63;
const longestAttribute = 64;
const mostNames = 32;

/** By domain, then by name. */
function namedByDomain(value: DeclaredType): DeclaredType {
  const identifier = declaredScalar(stringType, 2, longestIdentifier);
  const domain = declaredScalar(stringType, 2, longestDomain);
  const inner = { ...declaredMap(value, mostNames), key: identifier };
  return { ...declaredMap(inner, mostNames), key: domain };
}

const attribute: DeclaredType = declaredScalar(anyType, 1, longestAttribute);

const device: DeclaredType = declaredObject('kubernetes.DRADevice', {
  fields: new Map([
    ['allowMultipleAllocations', declaredScalar(boolType, 4, 1)],
    ['driver', declaredScalar(stringType, 2, longestDriver)],
    ['attributes', namedByDomain(attribute)],
    ['capacity', namedByDomain(declaredScalar(quantityType, 8))],
  ]),
});

/** Errors of an expression at its field. */
export function validateSelectorExpression(at: FieldPath, text: string): FieldError[] {
  const compiled = environment().compile(text);
  if (!compiled.program) {
    const stage = compiled.failsAlways ? 'program instantiation failed' : 'compilation failed';
    return [invalid(at, text, `${stage}: ${compiled.text}`)];
  }
  const { program } = compiled;
  const { resultType } = program;
  if (resultType.kind !== 'bool' && resultType !== anyType) {
    return [invalid(at, text, `must evaluate to bool or the unknown type, not ${resultType}`)];
  }
  const { max } = program.estimate(({ path }) => (path?.[0] === 'device' ? sizeAt(path.slice(1)) : undefined));
  return max > mostExpressionCost ? [forbidden(at, 'too complex, exceeds cost limit')] : [];
}

/**
 * Whether a driver's device is one of those that are meant. Throws when that cannot be said, in upstream's words. Tells what it cost to
 * find out.
 */
export type DeviceMatcher = (driver: string, device: Device, onCost?: (cost: number) => void) => boolean;

/** Throws for a text that is no such expression. */
export function deviceMatcher(text: string): DeviceMatcher {
  const compiled = environment().compile(text);
  if (!compiled.program) throw new Error(`CEL compile error: compilation failed: ${compiled.text}`);
  const { program } = compiled;
  return (driver, device, onCost) => {
    const bindings = { device: deviceValue(driver, device) };
    const { value, cost } = program.evaluate(bindings, { costLimit: mostExpressionCost });
    onCost?.(cost);
    if (isCelError(value)) throw new Error(`CEL runtime error: ${value.message}`);
    if (typeof value !== 'boolean') throw new Error(`CEL runtime error: CEL result could not be converted to bool`);
    return value;
  };
}

function deviceValue(driver: string, { allowMultipleAllocations = false, attributes, capacity }: Device): JsonMap {
  const values = {
    driver,
    allowMultipleAllocations,
    attributes: byDomain(driver, attributes, attributeValue),
    capacity: byDomain(driver, capacity, ({ value }) => toQuantity(value)),
  };
  return new JsonMap(values, undefined);
}

function attributeValue(attribute: DeviceAttribute, name: string): CelResult {
  const { bool, int, string, version } = attribute;
  if (int !== undefined) return BigInt(int);
  const plain = bool ?? string;
  if (plain !== undefined) return plain;
  if (version === undefined) throw new Error(`CEL runtime error: attribute ${name}: unsupported attribute value`);
  return toSemver(version, false);
}

/** A name without a domain belongs to the driver's. */
function byDomain<T>(
  driver: string,
  named: Readonly<Record<string, T>> = {},
  read: (value: T, name: string) => CelResult,
): Domains {
  // Names are a driver's own, and may be those that every object has.
  const domains: Record<string, Record<string, CelResult>> = Object.create(null);
  for (const [name, value] of Object.entries(named)) {
    const slash = name.indexOf('/');
    const domain = slash < 0 ? driver : name.slice(0, slash);
    domains[domain] ??= Object.create(null) as Record<string, CelResult>;
    domains[domain][name.slice(slash + 1)] = read(value, name);
  }
  return new Domains(domains, undefined);
}

/** A domain that the device says nothing of is one without names, so that asking for one of them is all that can fail. */
class Domains extends JsonMap {
  override get(key: CelValue): CelResult | undefined {
    return super.get(key) ?? new JsonMap({}, undefined);
  }
}

/** Any attribute is as large as another, by whatever name it is reached. */
function sizeAt(steps: readonly string[]): SizeRange | undefined {
  let found: DeclaredType | undefined = device;
  for (const step of steps) {
    const generic: boolean = found.element === attribute && !step.startsWith('@');
    found = generic ? attribute : declaredPart(found, step);
    if (!found) return undefined;
  }
  return { min: 0, max: found.maxElements };
}

const environment: () => Environment = once(() =>
  baseEnvironment('new').extend({ libraries: [bindings], variables: { device: device.type } }),
);
