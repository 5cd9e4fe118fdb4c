/** How tests of kinds make objects and read what a behaviour says of them. */
import assert from 'node:assert/strict';
import { errorText } from '../apimachinery/field-error.ts';
import { type Draft, draft, type KubeObject } from '../apimachinery/meta.ts';
import { apiVersionOf } from '../apimachinery/resource.ts';
import type { KindBehaviour, StrategyContext } from './kind.ts';
import { builtinCodec, builtinSchema } from './schema.ts';

export const now = '2026-01-01T00:00:00Z';
export const nowMs: number = Date.parse(now);

export const context: StrategyContext = {
  now,
  user: { name: 'jane', uid: '7', groups: ['dev'], extra: { scopes: ['a'] } },
  warn: () => {},
};

/** An object as its author writes it, in canonical form and with its defaults. */
export function given<T extends KubeObject>(behaviour: KindBehaviour<T>, written: object): Draft<T> {
  const object = decoded(behaviour, written);
  behaviour.defaults?.(object);
  return object;
}

/** The same without defaults. */
export function decoded<T extends KubeObject>({ resource }: KindBehaviour<T>, written: object): Draft<T> {
  const { kind } = resource;
  const apiVersion = apiVersionOf(resource);
  const { metadata, ...rest } = written as { metadata?: object };
  const whole = { kind, apiVersion, metadata: { name: 'a', ...metadata }, ...rest };
  const type = builtinSchema().typeOf(apiVersion, kind)!;
  return builtinCodec().copyByTable(whole, type.id) as unknown as Draft<T>;
}

export function errorsOf<T extends KubeObject>(behaviour: KindBehaviour<T>, written: object): string[] {
  return (behaviour.validate?.(given(behaviour, written) as unknown as T) ?? []).map(errorText);
}

/** Errors of an update from `stored` to `next`. */
export function updateErrorsOf<T extends KubeObject>(
  behaviour: KindBehaviour<T>,
  stored: object,
  next: object,
  subresource?: string,
): string[] {
  const [object, previous] = [given(behaviour, next) as unknown as T, given(behaviour, stored) as unknown as T];
  const errors = subresource
    ? behaviour.subresources?.[subresource]?.validateUpdate?.(object, previous)
    : (behaviour.validateUpdate?.(object, previous) ?? behaviour.validate?.(object));
  return (errors ?? []).map(errorText);
}

/** What the strategy makes of an update. */
export function updated<T extends KubeObject>(
  behaviour: KindBehaviour<T>,
  stored: object,
  next: object,
  subresource?: string,
): Draft<T> {
  const [object, previous] = [given(behaviour, next), given(behaviour, stored)];
  const strategy = subresource ? behaviour.subresources?.[subresource] : behaviour;
  strategy?.prepareForUpdate?.(object, previous as unknown as T, context);
  return object;
}

export function created<T extends KubeObject>(behaviour: KindBehaviour<T>, written: object): Draft<T> {
  const object = given(behaviour, written);
  behaviour.prepareForCreate?.(object, context);
  return object;
}

/** Cells by column, those of `-o wide` too. */
export function rowOf<T extends KubeObject>(behaviour: KindBehaviour<T>, written: object): Record<string, unknown> {
  const object = given(behaviour, written) as unknown as T;
  return Object.fromEntries((behaviour.columns ?? []).map((column) => [column.name, column.cell(object, nowMs)]));
}

/** `changes` laid over `base`, objects merged, lists and scalars replaced. */
export function merged(base: object, changes: object): object {
  const result = draft(base) as Record<string, unknown>;
  for (const [key, value] of Object.entries(changes)) {
    const old = result[key];
    const nested = isPlain(old) && isPlain(value);
    result[key] = nested ? merged(old, value) : value;
  }
  return result;
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One bad object a row: what is changed in the good one, and all that validation says. */
export interface BadInput {
  readonly title: string;
  readonly changes: object;
  readonly errors: readonly string[];
}

export function assertErrors<T extends KubeObject>(behaviour: KindBehaviour<T>, good: object, bad: BadInput): void {
  assert.deepEqual(errorsOf(behaviour, merged(good, bad.changes)), bad.errors);
}
