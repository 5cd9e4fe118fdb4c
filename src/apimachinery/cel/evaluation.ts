/**
 * What compiled expressions do when they run: read variables, combine truth values, build lists and maps, and loop. Errors are
 * values: whatever needs a value hands on the error that it finds in its place.
 */
import { adapt } from './adapt.ts';
import { typeOfValue } from './conversions.ts';
import type { Evaluate, Frame } from './frame.ts';
import type { LiteralMap } from './literal-values.ts';
import type { CelType } from './types.ts';
import {
  ArrayList,
  CelError,
  CelList,
  CelMap,
  CelOptional,
  type CelResult,
  type CelValue,
  isCelError,
  noSuchOverload,
} from './values.ts';

/** A variable of a loop around the node. */
export interface Local {
  readonly slot: number;
  /** Works out an accumulator when it is first asked for. */
  readonly initial?: Evaluate;
}

export function readVariable(name: string, type: CelType, slot: number): Evaluate {
  return (frame) => {
    const known = frame.variables[slot];
    if (known !== undefined) return known;
    const raw = frame.bindings[name];
    if (raw === undefined && !Object.hasOwn(frame.bindings, name)) return new CelError(`no such attribute(s): ${name}`);
    const value = adapt(raw, type);
    frame.variables[slot] = value;
    return value;
  };
}

export function readLocal({ slot, initial }: Local): Evaluate {
  if (!initial) return (frame) => frame.locals[slot]!;
  return (frame) => {
    const known = frame.locals[slot];
    if (known !== undefined) return known;
    const begun = initial(frame);
    frame.locals[slot] = begun;
    return begun;
  };
}

const asFailure = (value: CelResult) => (isCelError(value) ? value : noSuchOverload());

/** False as soon as one side is, whatever the other; else the first failure. */
export function both(left: Evaluate, right: Evaluate): Evaluate {
  return (frame) => {
    const first = left(frame);
    if (first === false) return false;
    const second = right(frame);
    if (second === false) return false;
    if (first !== true) return asFailure(first);
    return second === true ? true : asFailure(second);
  };
}

export function either(left: Evaluate, right: Evaluate): Evaluate {
  return (frame) => {
    const first = left(frame);
    if (first === true) return true;
    const second = right(frame);
    if (second === true) return true;
    if (first !== false) return asFailure(first);
    return second === false ? false : asFailure(second);
  };
}

export function notStrictlyFalse(operand: Evaluate): Evaluate {
  return (frame) => {
    const value = operand(frame);
    frame.spend(1);
    return value !== false;
  };
}

export function orElse(optional: Evaluate, other: Evaluate, present: (optional: CelOptional) => CelResult): Evaluate {
  return (frame) => {
    const value = optional(frame);
    if (!(value instanceof CelOptional)) return isCelError(value) ? value : noSuchOverload();
    return value.value === undefined ? other(frame) : present(value);
  };
}

export function plainList(frame: Frame, elements: readonly Evaluate[]): CelResult {
  const values: CelValue[] = [];
  for (const element of elements) {
    const value = element(frame);
    if (isCelError(value)) return value;
    values.push(value);
  }
  return new ArrayList(values);
}

export function optionalList(frame: Frame, elements: readonly Evaluate[], optional: ReadonlySet<number>): CelResult {
  const values: CelValue[] = [];
  for (const [index, element] of elements.entries()) {
    const value = element(frame);
    if (isCelError(value)) return value;
    if (!optional.has(index)) values.push(value);
    else if (!(value instanceof CelOptional)) {
      return new CelError(`cannot initialize optional list element from non-optional value ${String(value)}`);
    } else if (value.value !== undefined) values.push(value.value);
  }
  return new ArrayList(values);
}

interface EntryStep {
  readonly key: Evaluate;
  readonly value: Evaluate;
  readonly optional: boolean;
}

export function fill(frame: Frame, map: LiteralMap, entries: readonly EntryStep[]): CelResult {
  for (const entry of entries) {
    const key = entry.key(frame);
    if (isCelError(key)) return key;
    let value: CelResult = entry.value(frame);
    if (entry.optional && !isCelError(value)) {
      if (!(value instanceof CelOptional)) {
        const what = `optional entry '${String(key)}' from non-optional value ${String(value)}`;
        return new CelError(`cannot initialize ${what}`);
      }
      if (value.value === undefined) {
        map.delete(key);
        continue;
      }
      value = value.value;
    }
    const error = isCelError(value) ? value : map.set(key, value);
    if (error) return error;
  }
  return map;
}

interface FoldSteps {
  readonly range: Evaluate;
  /** Absent where the loop runs to the end. */
  readonly proceed: Evaluate | undefined;
  readonly step: Evaluate;
  readonly result: Evaluate;
  readonly slots: { readonly accumulator: number; readonly first: number; readonly second: number | undefined };
}

export function fold({ range, proceed, step, result, slots }: FoldSteps): Evaluate {
  const next = (frame: Frame): boolean => {
    const go = proceed === undefined ? true : proceed(frame);
    if (go === false) return false;
    frame.locals[slots.accumulator] = step(frame);
    frame.step();
    return true;
  };
  return (frame) => {
    const over = range(frame);
    frame.locals[slots.accumulator] = undefined;
    if (over instanceof CelList) {
      for (let i = 0; i < over.size; i++) {
        if (slots.second !== undefined) frame.locals[slots.second] = over.at(i);
        frame.locals[slots.first] = slots.second === undefined ? over.at(i) : BigInt(i);
        if (!next(frame)) break;
      }
    } else if (over instanceof CelMap) {
      for (const key of over.keys()) {
        frame.locals[slots.first] = key;
        if (slots.second !== undefined) frame.locals[slots.second] = over.get(key) ?? null;
        if (!next(frame)) break;
      }
    } else {
      return isCelError(over) ? over : notIterable(over, slots.second !== undefined);
    }
    return result(frame);
  };
}

/** In upstream's words, which name its own types. */
function notIterable(value: CelValue, twoVariables: boolean): CelError {
  const name = typeOfValue(value).name.replace('google.protobuf.', '').replace('null_type', 'null');
  const type = `types.${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  if (twoVariables) return new CelError(`unsupported comprehension range type: ${type}`);
  return new CelError(`got '${type}', expected iterable type`);
}
