/** Integers of 64 bits: their bounds, and arithmetic that says when it leaves them. */
import { CelError } from './values.ts';

export const minInt64 = -(2n ** 63n);
export const maxInt64 = 2n ** 63n - 1n;
const maxUint64 = 2n ** 64n - 1n;

export const isInt64 = (n: bigint): boolean => n >= minInt64 && n <= maxInt64;
export const isUint64 = (n: bigint): boolean => n >= 0n && n <= maxUint64;

export const integerOverflow = (): CelError => new CelError('integer overflow');
export const unsignedOverflow = (): CelError => new CelError('unsigned integer overflow');

export const checkedInt = (n: bigint): bigint | CelError => (isInt64(n) ? n : integerOverflow());
