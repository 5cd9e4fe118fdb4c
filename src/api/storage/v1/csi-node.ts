/** CSINodes: the storage drivers of a node, by the names under which they know it. */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { byteLength } from '../../../apimachinery/names.ts';
import { ageColumn, integer, nameColumn } from '../../columns.ts';
import { validateCsiDriverName } from '../../core/v1/volume-validation.ts';
import { type CSINode, type CSINodeDriver, csiNodes } from '../../gen/storage-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateImmutable, validateNonNegative, validateQualifiedName } from '../../validation.ts';

const longestNodeId = 256;
const driversAt = path('spec', 'drivers');

export const csiNodeBehaviour: KindBehaviour<CSINode> = {
  resource: csiNodes,
  allowUnconditionalUpdate: false,
  countsGeneration: false,
  validate,
  validateUpdate: (node, previous) => [
    ...validate(node),
    ...(previous.spec?.drivers ?? []).flatMap((stored) => {
      const next = node.spec?.drivers?.find(({ name }) => name === stored.name);
      if (!next) return [];
      return validateImmutable(driversAt, { ...next, allocatable: undefined }, { ...stored, allocatable: undefined });
    }),
  ],
  columns: [
    nameColumn,
    integer('Drivers', ({ spec }) => spec?.drivers?.length ?? 0, {
      description: 'Drivers indicates the number of CSI drivers registered on the node',
    }),
    ageColumn,
  ],
};

function validate({ spec }: CSINode): FieldError[] {
  const names = new Set<string>();
  return (spec?.drivers ?? []).flatMap((driver, index) => {
    const at = driversAt.index(index);
    const errors = validateDriver(at, driver);
    if (names.has(driver.name)) errors.push(duplicate(at.child('name'), driver.name));
    names.add(driver.name);
    return [...errors, ...validateTopologyKeys(at, driver.topologyKeys ?? [])];
  });
}

function validateDriver(at: FieldPath, { name, nodeID, allocatable }: CSINodeDriver): FieldError[] {
  const idAt = at.child('nodeID');
  const errors = validateCsiDriverName(at.child('name'), name ?? '');
  if (!nodeID) errors.push(required(idAt));
  else if (byteLength(nodeID) > longestNodeId) {
    errors.push(invalid(idAt, nodeID, `must be ${longestNodeId} characters or less`));
  }
  return [...errors, ...validateNonNegative(at.child('allocatable', 'count'), allocatable?.count)];
}

/** Upstream blames the driver for its keys. */
function validateTopologyKeys(at: FieldPath, keys: readonly string[]): FieldError[] {
  return keys.flatMap((key, index) => [
    ...(key === '' ? [required(at, key)] : []),
    ...(keys.indexOf(key) < index ? [duplicate(at, key)] : []),
    ...validateQualifiedName(at, key),
  ]);
}
