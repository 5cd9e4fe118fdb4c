/**
 * What operators do to values whose types are known only now: equality over everything, order, and arithmetic that never leaves
 * 64 bits. Numbers are compared by what they are worth, whatever their types. Other pairs give `no such overload`.
 */
import { checkedInt, integerOverflow, isInt64, isUint64, minInt64, unsignedOverflow } from './integers.ts';
import { joined } from './joined-lists.ts';
import { codePointCount, compareStrings } from './strings.ts';
import { durationOf, durationOverflow, shiftTimestamp, timestampDifference } from './times.ts';
import { CelType, sameType } from './types.ts';
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
  isCelError,
  noSuchOverload,
} from './values.ts';

/** True or false, or the error of an element that could not be read. */
export function equal(left: CelValue, right: CelValue): boolean | CelError {
  if (left === right) return typeof left !== 'number' || !Number.isNaN(left);
  if (isNumeric(left)) return isNumeric(right) && compareNumbers(left, right) === 0;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (left instanceof CelMap) return right instanceof CelMap && equalMaps(left, right);
  if (left instanceof CelList) return right instanceof CelList && equalLists(left, right);
  if (left instanceof Uint8Array) return right instanceof Uint8Array && Buffer.compare(left, right) === 0;
  if (left instanceof CelTimestamp) {
    return right instanceof CelTimestamp && left.seconds === right.seconds && left.nanos === right.nanos;
  }
  if (left instanceof CelDuration) return right instanceof CelDuration && left.nanos === right.nanos;
  if (left instanceof CelType) return right instanceof CelType && left.name === right.name;
  if (left instanceof CelOptional) return right instanceof CelOptional && equalOptionals(left, right);
  if (left instanceof CelOpaque) {
    return right instanceof CelOpaque && sameType(left.type, right.type) && left.equals(right);
  }
  return false;
}

function equalOptionals(left: CelOptional, right: CelOptional): boolean | CelError {
  if (left.value === undefined || right.value === undefined) return left.value === right.value;
  return equal(left.value, right.value);
}

function equalLists(left: CelList, right: CelList): boolean | CelError {
  const own = left.equals?.(right);
  if (own !== undefined) return own instanceof CelError ? own : own === true;
  if (left.size !== right.size) return false;
  for (let i = 0; i < left.size; i++) {
    const result = equalResults(left.at(i), right.at(i));
    if (result !== true) return result;
  }
  return true;
}

function equalMaps(left: CelMap, right: CelMap): boolean | CelError {
  const own = left.equals?.(right);
  if (own !== undefined) return own instanceof CelError ? own : own === true;
  if (left.size !== right.size) return false;
  for (const key of left.keys()) {
    const mine = left.get(key);
    const theirs = right.get(key);
    if (mine === undefined || theirs === undefined) {
      if (mine !== theirs) return false;
      continue;
    }
    const result = equalResults(mine, theirs);
    if (result !== true) return result;
  }
  return true;
}

function equalResults(left: CelResult, right: CelResult): boolean | CelError {
  if (left instanceof CelError) return left;
  return right instanceof CelError ? right : equal(left, right);
}

type Numeric = bigint | number | CelUint;
const isNumeric = (value: CelValue): value is Numeric =>
  typeof value === 'bigint' || typeof value === 'number' || value instanceof CelUint;

/** NaN is neither equal to, less nor greater than anything: then undefined. */
function compareNumbers(left: Numeric, right: Numeric): number | undefined {
  const a = left instanceof CelUint ? left.value : left;
  const b = right instanceof CelUint ? right.value : right;
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : a === b ? 0 : undefined;
  if (typeof a === 'bigint') {
    const reversed = compareDoubleToInteger(b as number, a);
    return reversed === undefined ? undefined : -reversed;
  }
  return compareDoubleToInteger(a, b as bigint);
}

/** The integer is taken for the nearest double. */
function compareDoubleToInteger(double: number, integer: bigint): number | undefined {
  const other = Number(integer);
  return double < other ? -1 : double > other ? 1 : double === other ? 0 : undefined;
}

/** Negative, zero or positive, for two values of one type that has an order, or two numbers. */
export function compare(left: CelValue, right: CelValue): number | CelError {
  if (isNumeric(left)) {
    if (!isNumeric(right)) return noSuchOverload();
    return compareNumbers(left, right) ?? new CelError('NaN values cannot be ordered');
  }
  if (typeof left === 'string') return typeof right === 'string' ? compareStrings(left, right) : noSuchOverload();
  if (typeof left === 'boolean') return typeof right === 'boolean' ? Number(left) - Number(right) : noSuchOverload();
  if (left instanceof Uint8Array) return right instanceof Uint8Array ? Buffer.compare(left, right) : noSuchOverload();
  if (left instanceof CelTimestamp) {
    if (!(right instanceof CelTimestamp)) return noSuchOverload();
    return left.seconds - right.seconds || left.nanos - right.nanos;
  }
  if (left instanceof CelDuration && right instanceof CelDuration) {
    return left.nanos < right.nanos ? -1 : left.nanos > right.nanos ? 1 : 0;
  }
  return noSuchOverload();
}

export function hasOrder(value: CelValue): boolean {
  if (typeof value !== 'object') return true;
  return (
    value instanceof CelUint ||
    value instanceof CelTimestamp ||
    value instanceof CelDuration ||
    value instanceof Uint8Array
  );
}

/** Where the left side alone rules the operator out, errors name it. */
export const unsupported = (operator: string): CelError => new CelError(`no such overload: ${operator}`);

export function add(left: CelValue, right: CelValue): CelResult {
  if (typeof left === 'bigint') return typeof right === 'bigint' ? checkedInt(left + right) : noSuchOverload();
  if (typeof left === 'string') return typeof right === 'string' ? left + right : noSuchOverload();
  if (typeof left === 'number') return typeof right === 'number' ? left + right : noSuchOverload();
  if (left instanceof CelList) return right instanceof CelList ? concatenate(left, right) : noSuchOverload();
  if (left instanceof CelUint) return right instanceof CelUint ? uint(left.value + right.value) : noSuchOverload();
  if (left instanceof Uint8Array) {
    return right instanceof Uint8Array ? new Uint8Array(Buffer.concat([left, right])) : noSuchOverload();
  }
  if (left instanceof CelDuration) {
    if (right instanceof CelDuration) return durationOf(left.nanos + right.nanos);
    return right instanceof CelTimestamp ? shiftTimestamp(right, left.nanos) : noSuchOverload();
  }
  if (left instanceof CelTimestamp) {
    return right instanceof CelDuration ? shiftTimestamp(left, right.nanos) : noSuchOverload();
  }
  return unsupported('_+_');
}

export function subtract(left: CelValue, right: CelValue): CelResult {
  if (typeof left === 'bigint') return typeof right === 'bigint' ? checkedInt(left - right) : noSuchOverload();
  if (typeof left === 'number') return typeof right === 'number' ? left - right : noSuchOverload();
  if (left instanceof CelUint) return right instanceof CelUint ? uint(left.value - right.value) : noSuchOverload();
  if (left instanceof CelDuration) {
    return right instanceof CelDuration ? durationOf(left.nanos - right.nanos) : noSuchOverload();
  }
  if (!(left instanceof CelTimestamp)) return unsupported('_-_');
  if (right instanceof CelDuration) return shiftTimestamp(left, -right.nanos);
  return right instanceof CelTimestamp ? timestampDifference(left, right) : noSuchOverload();
}

export function multiply(left: CelValue, right: CelValue): CelResult {
  if (typeof left === 'bigint') return typeof right === 'bigint' ? checkedInt(left * right) : noSuchOverload();
  if (typeof left === 'number') return typeof right === 'number' ? left * right : noSuchOverload();
  if (!(left instanceof CelUint)) return unsupported('_*_');
  return right instanceof CelUint ? uint(left.value * right.value) : noSuchOverload();
}

export function divide(left: CelValue, right: CelValue): CelResult {
  const byZero = () => new CelError('division by zero');
  if (typeof left === 'bigint') {
    if (typeof right !== 'bigint') return noSuchOverload();
    return right === 0n ? byZero() : checkedInt(left / right);
  }
  if (typeof left === 'number') return typeof right === 'number' ? left / right : noSuchOverload();
  if (!(left instanceof CelUint)) return unsupported('_/_');
  if (!(right instanceof CelUint)) return noSuchOverload();
  return right.value === 0n ? byZero() : uint(left.value / right.value);
}

export function remainder(left: CelValue, right: CelValue): CelResult {
  const byZero = () => new CelError('modulus by zero');
  if (typeof left === 'bigint') {
    if (typeof right !== 'bigint') return noSuchOverload();
    if (right === 0n) return byZero();
    return left === minInt64 && right === -1n ? integerOverflow() : left % right;
  }
  if (!(left instanceof CelUint)) return unsupported('_%_');
  if (!(right instanceof CelUint)) return noSuchOverload();
  return right.value === 0n ? byZero() : uint(left.value % right.value);
}

export function negate(value: CelValue): CelResult {
  if (typeof value === 'bigint') return checkedInt(-value);
  if (typeof value === 'number') return -value;
  if (value instanceof CelDuration) return isInt64(-value.nanos) ? new CelDuration(-value.nanos) : durationOverflow();
  return unsupported('-_');
}

export const uint = (value: bigint): CelUint | CelError => (isUint64(value) ? new CelUint(value) : unsignedOverflow());

function concatenate(left: CelList, right: CelList): CelResult {
  const own = left.concat?.(right);
  return own === undefined ? joined(left, right) : own;
}

export function size(value: CelValue): CelResult {
  if (typeof value === 'string') return BigInt(codePointCount(value));
  if (value instanceof CelList || value instanceof CelMap) return BigInt(value.size);
  return value instanceof Uint8Array ? BigInt(value.length) : unsupported('size');
}

export function contains(value: CelValue, container: CelValue): CelResult {
  if (container instanceof CelMap) return container.has(value);
  if (!(container instanceof CelList)) return noSuchOverload();
  for (let i = 0; i < container.size; i++) {
    const element = container.at(i);
    if (!isCelError(element) && equal(value, element) === true) return true;
  }
  return false;
}
