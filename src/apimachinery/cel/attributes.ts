/**
 * Chains of selects and indices (`self.spec.containers[0].?image`), evaluated as one step: a chain costs one for its root and one
 * for each link that is followed. From the first optional link on, whatever is absent makes the whole chain
 * `optional.none()`; a chain for `has(...)` ends in a test in place of a value.
 */

import { typeOfValue } from './conversions.ts';
import type { Evaluate, Frame } from './frame.ts';
import { CelError, CelList, CelMap, CelOptional, type CelResult, CelUint, type CelValue } from './values.ts';

export interface Link {
  /** The key, or how to get it. Getting it costs no unit of its own. */
  readonly key: CelValue | Evaluate;
  readonly optional: boolean;
  readonly testOnly: boolean;
}

/** Evaluates a chain but for the unit that the root costs, which depends on where the chain stands. */
export function followLinks(root: Evaluate, links: readonly Link[]): Evaluate {
  const plain = links.every(({ key, optional, testOnly }) => typeof key === 'string' && !optional && !testOnly);
  if (plain)
    return followFields(
      root,
      links.map(({ key }) => key as string),
    );
  const absent = links.at(-1)!.testOnly ? false : CelOptional.none;
  return (frame) => {
    const start = root(frame);
    let optional = start instanceof CelOptional;
    const first = start instanceof CelOptional ? start.value : start;
    if (first === undefined) return absent;
    let value: CelResult = first;
    for (const link of links) {
      if (value instanceof CelError) return value;
      optional ||= link.optional;
      const key: CelResult = typeof link.key === 'function' ? link.key(frame) : link.key;
      if (link.testOnly) {
        const found = key instanceof CelError ? key : find(value, key);
        frame.spend(1);
        return found instanceof CelError ? found : found !== undefined;
      }
      const found: CelResult | undefined =
        key instanceof CelError ? key : optional ? find(value, key) : get(value, key);
      if (found === undefined) return absent;
      if (!optional || !(found instanceof CelError)) frame.spend(1);
      value = found;
    }
    return optional && !(value instanceof CelError) ? new CelOptional(value) : value;
  };
}

/** The common case, `self.spec.replicas`, in a loop that does nothing else. */
function followFields(root: Evaluate, names: readonly string[]): Evaluate {
  const [only] = names;
  if (names.length === 1) return (frame) => field(frame, root(frame), only!);
  return (frame) => {
    let value = root(frame);
    for (let i = 0; i < names.length; i++) {
      if (value instanceof CelOptional) return throughOptional(frame, value, names.slice(i));
      value = field(frame, value, names[i]!);
      if (value instanceof CelError) return value;
    }
    return value;
  };
}

function field(frame: Frame, value: CelResult, name: string): CelResult {
  if (value instanceof CelMap) {
    const found = value.get(name);
    frame.spend(1);
    return found === undefined ? new CelError(`no such key: ${name}`) : found;
  }
  if (value instanceof CelError) return value;
  if (value instanceof CelOptional) return throughOptional(frame, value, [name]);
  frame.spend(1);
  return get(value, name);
}

function throughOptional(frame: Frame, optional: CelOptional, names: readonly string[]): CelResult {
  let value: CelResult | undefined = optional.value;
  for (const name of names) {
    if (value === undefined) return CelOptional.none;
    value = find(value, name);
    if (value instanceof CelError) return value;
    if (value !== undefined) frame.spend(1);
  }
  return value === undefined ? CelOptional.none : new CelOptional(value);
}

/** The value under a key, undefined where there is none. */
function find(value: CelResult, key: CelValue): CelResult | undefined {
  if (value instanceof CelMap) return value.get(key);
  if (!(value instanceof CelList)) return undefined;
  const index = listIndex(key);
  if (index instanceof CelError) return index;
  return index >= 0 && index < value.size ? value.at(index) : undefined;
}

function get(value: CelResult, key: CelValue): CelResult {
  const found = find(value, key);
  if (found !== undefined) return found;
  return new CelError(`${value instanceof CelList ? 'index out of bounds' : 'no such key'}: ${keyText(key)}`);
}

function listIndex(key: CelValue): number | CelError {
  if (typeof key === 'bigint') return Number(key);
  if (key instanceof CelUint) return Number(key.value);
  if (typeof key !== 'number') return new CelError(`unsupported index type '${typeOfValue(key).name}' in list`);
  return Number.isSafeInteger(key) ? key : new CelError(`unsupported index value ${key} in list`);
}

const keyText = (key: CelValue) => (key instanceof CelUint ? String(key.value) : String(key));
