/**
 * Values that may be absent: `optional.of`, `object.?spec.?replicas.orValue(1)`, `list[?0]`, `optMap`. How chains of `.?` and `[?]`
 * are followed, and that `or` and `orValue` look at their argument only where they need it, is the compiler's; here is what they are.
 */
import { unusedVariableName } from '../ast.ts';
import {
  ArrayList,
  boolType,
  CelDuration,
  CelError,
  CelList,
  CelMap,
  CelOptional,
  type CelResult,
  CelTimestamp,
  type CelType,
  CelUint,
  type CelValue,
  dynType,
  type Expression,
  type ExpressionBuilder,
  type FunctionDeclaration,
  intType,
  isCelError,
  type Library,
  listOf,
  type Macro,
  MacroError,
  mapOf,
  optionalOf,
  stringType,
  typeParameter,
} from '../index.ts';

const key = typeParameter('K');
const value = typeParameter('V');
const list = listOf(value);
const map = mapOf(key, value);
const optional = optionalOf(value);
const optionals = listOf(optional);

const none = () => new CelError('optional.none() dereference');
/** Stands where the compiler takes an operator into its own hands. */
const byCompiler = () => new CelError('no such overload');

export const optionalValues: Library = {
  types: [optionalOf(dynType)],
  macros: [
    optionalMacro('optMap', (build, mapped) => build.memberCall('of', build.identifier('optional'), mapped)),
    optionalMacro('optFlatMap', (_, mapped) => mapped),
  ],
  functions: [
    global('optional.of', 'optional_of', [value], optional, (held: CelValue) => new CelOptional(held)),
    global('optional.ofNonZeroValue', 'optional_ofNonZeroValue', [value], optional, (held: CelValue) =>
      isZero(held) ? CelOptional.none : new CelOptional(held),
    ),
    global('optional.none', 'optional_none', [], optional, () => CelOptional.none),
    member('value', 'optional_value', [optional], value, (held: CelOptional) => held.value ?? heldNull(held)),
    member('hasValue', 'optional_hasValue', [optional], boolType, (held: CelOptional) => held.value !== undefined),
    member('or', 'optional_or_optional', [optional, optional], optional, (held: CelOptional, other: CelOptional) =>
      held.value === undefined ? other : held,
    ),
    member('orValue', 'optional_orValue_value', [optional, value], value, (held: CelOptional, other: CelValue) =>
      held.value === undefined ? other : held.value,
    ),
    global('_?._', 'select_optional_field', [dynType, stringType], optional, byCompiler),
    {
      name: '_[?_]',
      overloads: [
        { id: 'list_optindex_optional_int', parameters: [list, intType], result: optional, call: byCompiler },
        {
          id: 'optional_list_optindex_optional_int',
          parameters: [optionalOf(list), intType],
          result: optional,
          call: byCompiler,
        },
        { id: 'map_optindex_optional_value', parameters: [map, key], result: optional, call: byCompiler },
        {
          id: 'optional_map_optindex_optional_value',
          parameters: [optionalOf(map), key],
          result: optional,
          call: byCompiler,
        },
      ],
    },
    {
      name: '_[_]',
      overloads: [
        { id: 'optional_list_index_int', parameters: [optionalOf(list), intType], result: optional, call: byCompiler },
        { id: 'optional_map_index_value', parameters: [optionalOf(map), key], result: optional, call: byCompiler },
      ],
    },
    member('first', 'list_first', [list], optional, (held: CelList) => elementOf(held, 0)),
    member('last', 'list_last', [list], optional, (held: CelList) => elementOf(held, held.size - 1)),
    global('optional.unwrap', 'optional_unwrap', [optionals], list, unwrapped),
    member('unwrapOpt', 'optional_unwrapOpt', [optionals], list, unwrapped),
  ],
};

function global(
  name: string,
  id: string,
  parameters: readonly CelType[],
  result: CelType,
  call: (...args: never[]) => CelResult,
): FunctionDeclaration {
  return { name, overloads: [{ id, parameters, result, call }] };
}

function member(
  name: string,
  id: string,
  parameters: readonly CelType[],
  result: CelType,
  call: (...args: never[]) => CelResult,
): FunctionDeclaration {
  return { name, overloads: [{ id, member: true, parameters, result, call }] };
}

function heldNull(held: CelOptional): CelResult {
  return held.value === undefined ? none() : null;
}

function isZero(held: CelValue): boolean {
  if (held instanceof CelList || held instanceof CelMap) return held.size === 0;
  if (held instanceof Uint8Array) return held.length === 0;
  if (held instanceof CelUint) return held.value === 0n;
  if (held instanceof CelDuration) return held.nanos === 0n;
  if (held instanceof CelTimestamp) return held.seconds === -62_135_596_800 && held.nanos === 0;
  if (held instanceof CelOptional) return held.value === undefined;
  return held === null || held === false || held === '' || held === 0n || held === 0;
}

function elementOf(held: CelList, index: number): CelResult {
  if (held.size === 0) return CelOptional.none;
  const element = held.at(index);
  return isCelError(element) ? element : new CelOptional(element);
}

function unwrapped(held: CelList): CelResult {
  const elements: CelValue[] = [];
  for (let i = 0; i < held.size; i++) {
    const element = held.at(i);
    if (isCelError(element)) return element;
    if (!(element instanceof CelOptional)) return new CelError(`value ${String(element)} is not optional`);
    if (element.value !== undefined) elements.push(element.value);
  }
  return new ArrayList(elements);
}

/** `target.optMap(v, f(v))`: with a value, it is bound to the variable by a loop that never runs. */
function optionalMacro(name: string, present: (build: ExpressionBuilder, mapped: Expression) => Expression): Macro {
  return {
    name,
    member: true,
    argumentCount: 2,
    expand(build, [variable, mapped], target) {
      if (variable?.kind !== 'identifier') {
        return new MacroError(variable!, `${name}() variable name must be a simple identifier`);
      }
      const bound = build.comprehension({
        range: build.list(),
        variable: unusedVariableName,
        accumulator: variable.name,
        initial: build.memberCall('value', build.copy(target)),
        condition: build.literal(false),
        step: build.identifier(variable.name),
        result: mapped!,
      });
      const absent = build.memberCall('none', build.identifier('optional'));
      return build.call('_?_:_', build.memberCall('hasValue', target), present(build, bound), absent);
    },
  };
}
