/**
 * Calls of functions: arguments are evaluated in order, the overload that their types fit is called, and the call's cost is paid.
 * With one or two arguments all are evaluated and the call is paid even where one failed; with more, the first failure ends it
 * (and the call is free unless the last one failed).
 */
import type { ResolvedCall } from './checker.ts';
import { typeOfValue } from './conversions.ts';
import type { Evaluate } from './frame.ts';
import type { Overload, RuntimeCost } from './functions.ts';
import { CelType } from './types.ts';
import {
  CelDuration,
  CelError,
  CelList,
  CelMap,
  CelOpaque,
  CelOptional,
  type CelResult,
  CelTimestamp,
  CelUint,
  type CelValue,
  noSuchOverload,
} from './values.ts';

type Matcher = (value: CelValue) => boolean;

/** Whether a value is of a type, as far as can be seen at run time. */
function matcherOf(type: CelType): Matcher {
  switch (type.kind) {
    case 'bool':
      return (value) => typeof value === 'boolean';
    case 'int':
      return (value) => typeof value === 'bigint';
    case 'double':
      return (value) => typeof value === 'number';
    case 'string':
      return (value) => typeof value === 'string';
    case 'uint':
      return (value) => value instanceof CelUint;
    case 'bytes':
      return (value) => value instanceof Uint8Array;
    case 'null':
      return (value) => value === null;
    case 'timestamp':
      return (value) => value instanceof CelTimestamp;
    case 'duration':
      return (value) => value instanceof CelDuration;
    case 'list':
      return listMatcher(matcherOf(type.parameters[0] ?? type));
    case 'map':
      return (value) => value instanceof CelMap;
    case 'type':
      return (value) => value instanceof CelType;
    case 'opaque':
    case 'object':
      return (value) => isNamed(value, type.name);
    default:
      return () => true;
  }
}

/** A list is told by its first element: `list(int)` and `list(double)` have overloads of their own. */
function listMatcher(matches: Matcher): Matcher {
  return (value) => {
    if (!(value instanceof CelList)) return false;
    const first = value.size === 0 ? undefined : value.at(0);
    return first === undefined || first instanceof CelError || matches(first);
  };
}

const isNamed = (value: CelValue, name: string) =>
  value instanceof CelOptional
    ? name === 'optional_type'
    : (value instanceof CelOpaque || value instanceof CelMap) && value.type.name === name;

function noOverload(name: string, args: readonly CelValue[]): CelError {
  if (name === '!_') return noSuchOverload();
  if (name === 'matches')
    return typeof args[0] === 'string' ? noSuchOverload() : new CelError(`no such overload: ${name}`);
  return new CelError(`no such overload: ${name}(${args.map((arg) => typeOfValue(arg).name).join(', ')})`);
}

/** Calls the first overload that values fit. */
export function dispatch({ name, overloads, declaration }: ResolvedCall): (args: readonly CelValue[]) => CelResult {
  const [first] = overloads;
  if (declaration.total && first) return (args) => first.call(...args);
  const candidates = overloads.map((overload) => ({ overload, matchers: overload.parameters.map(matcherOf) }));
  return (args) => {
    for (const { overload, matchers } of candidates) {
      if (matchers.every((matches, index) => matches(args[index]!))) return overload.call(...args);
    }
    return noOverload(name, args);
  };
}

/** Undefined where each call costs one. */
function costOf({ name, overloads, declaration }: ResolvedCall): RuntimeCost | undefined {
  const [only] = overloads.length === 1 ? overloads : [];
  const own = only?.cost ?? declaration.cost;
  if (name !== '_==_') return own;
  return (args, result) => {
    const [left] = args;
    const fixed = left instanceof CelOpaque ? left.type.equality?.atRunTime : undefined;
    return fixed ?? own?.(args, result);
  };
}

export function callWith(resolved: ResolvedCall, args: readonly Evaluate[]): Evaluate {
  const { overloads, declaration } = resolved;
  const cost = costOf(resolved);
  const [first] = overloads;
  if (first && declaration.total && args.length === 2) return operation(first, cost, args[0]!, args[1]!);
  const invoke = dispatch(resolved);
  return (frame) => {
    const values: CelResult[] = [];
    let failed: CelError | undefined;
    for (const arg of args) {
      const value = arg(frame);
      values.push(value);
      if (!(value instanceof CelError)) continue;
      failed ??= value;
      if (args.length > 2) break;
    }
    const result = failed ?? invoke(values as CelValue[]);
    if (values.length === args.length) frame.spend(cost?.(values, result) ?? 1);
    return result;
  };
}

/** The common case: an operator with two sides. */
function operation({ call }: Overload, cost: RuntimeCost | undefined, left: Evaluate, right: Evaluate): Evaluate {
  return (frame) => {
    const first = left(frame);
    const second = right(frame);
    let result: CelResult;
    if (first instanceof CelError) result = first;
    else if (second instanceof CelError) result = second;
    else result = call(first, second);
    frame.spend(cost === undefined ? 1 : (cost([first, second], result) ?? 1));
    return result;
  };
}
