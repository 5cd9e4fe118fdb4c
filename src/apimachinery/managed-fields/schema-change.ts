/**
 * Fields that somebody has from before the type of his kind changed. Where a list, map or struct was many fields and is one
 * now, whoever had any of these has the one. The other way nothing is done: who had the whole has it, as if it had always been
 * many fields.
 */
import { type FieldSet, finished, isMember, leaf } from './field-set.ts';
import { type Shape, shapeOfField } from './shape.ts';

/** The set itself where nothing has changed. */
export function reconciledFields(shape: Shape, set: FieldSet): FieldSet {
  if (isSingle(shape)) return holdsParts(set) ? leaf : set;
  let changed: Record<string, FieldSet> | undefined;
  for (const element in set) {
    const node = set[element]!;
    if (!holdsParts(node)) continue;
    const part = partOf(shape, element);
    const now = part ? reconciledFields(part, node) : node;
    if (now === node) continue;
    changed ??= { ...set };
    changed[element] = now;
  }
  if (!changed) return set;
  delete changed['.'];
  return finished(changed, isMember(set)) ?? set;
}

function holdsParts(set: FieldSet): boolean {
  for (const element in set) if (element !== '.') return true;
  return false;
}

function isSingle(shape: Shape): boolean {
  if (shape.form === 'untyped') return true;
  if (shape.form === 'list') return shape.kind === 'atomic';
  // What a free map holds has no types, so upstream has nothing to go by.
  if (shape.form === 'map') return shape.atomic && shape.values.form !== 'deduced';
  return shape.form === 'struct' && shape.atomic;
}

/** Undefined for what the type does not speak of. */
function partOf(shape: Shape, element: string): Shape | undefined {
  if (shape.form === 'struct') return element[0] === 'f' ? shapeOfField(shape, element.slice(2)) : shape.rest;
  if (shape.form === 'map') return shape.values;
  return shape.form === 'list' ? shape.items : undefined;
}
