/**
 * The expressions that select devices: what they may name, what they must give, and how much they may cost. A device is its driver,
 * its attributes and its capacities, both by domain and name:
 *
 *     device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "a100"
 *     device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))
 *
 * An attribute is of whatever type the driver gave it, so it goes with everything, but no loop runs over it.
 */
import { anyType, boolType, type Environment, type SizeRange, stringType } from '../../apimachinery/cel/index.ts';
import {
  type DeclaredType,
  declaredMap,
  declaredObject,
  declaredPart,
  declaredScalar,
} from '../../apimachinery/cel/kubernetes/declared-type.ts';
import { bindings } from '../../apimachinery/cel/library/bindings.ts';
import { baseEnvironment } from '../../apimachinery/cel/library/environment.ts';
import { quantityType } from '../../apimachinery/cel/library/quantities.ts';
import { type FieldError, type FieldPath, forbidden, invalid } from '../../apimachinery/field-error.ts';
import { once } from '../../base/once.ts';

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
