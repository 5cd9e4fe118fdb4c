/** What Kubernetes adds to lists: `isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf`. */
import {
  boolType,
  bytesType,
  CelDuration,
  CelError,
  type CelList,
  type CelResult,
  type CelType,
  CelUint,
  type CelValue,
  doubleType,
  durationType,
  intType,
  isCelError,
  type Library,
  listOf,
  type Overload,
  stringType,
  timestampType,
  typeParameter,
  uintType,
} from '../index.ts';
import { add, compare, equal } from '../operators.ts';
import { elementsCost } from './call-costs.ts';

/** Types with an order, by the name that the ids of overloads have for them. */
export const orderedTypes: readonly (readonly [string, CelType])[] = [
  ['int', intType],
  ['uint', uintType],
  ['double', doubleType],
  ['bool', boolType],
  ['duration', durationType],
  ['timestamp', timestampType],
  ['string', stringType],
  ['bytes', bytesType],
];

const summableTypes: readonly (readonly [string, CelType, CelValue])[] = [
  ['int', intType, 0n],
  ['uint', uintType, new CelUint(0n)],
  ['double', doubleType, 0],
  ['duration', durationType, new CelDuration(0n)],
];

const anyType = typeParameter('A');

export const lists: Library = {
  functions: [
    { name: 'isSorted', overloads: forOrdered('is_sorted_bool', isSorted, boolType), ...elementsCost },
    {
      name: 'sum',
      overloads: summableTypes.map(([name, type, zero]) => ({
        ...overListOf(name, type),
        id: `list_${name}_sum_${name}`,
        call: (list: CelList) => sum(list, zero),
      })),
      ...elementsCost,
    },
    { name: 'max', overloads: forOrdered('max', (list) => extreme(list, 'max')), ...elementsCost },
    { name: 'min', overloads: forOrdered('min', (list) => extreme(list, 'min')), ...elementsCost },
    {
      name: 'indexOf',
      overloads: [
        {
          id: 'list_a_index_of_int',
          member: true,
          parameters: [listOf(anyType), anyType],
          result: intType,
          call: (list: CelList, item: CelValue) => indexOf(list, item),
        },
      ],
      ...elementsCost,
    },
    {
      name: 'lastIndexOf',
      overloads: [
        {
          id: 'list_a_last_index_of_int',
          member: true,
          parameters: [listOf(anyType), anyType],
          result: intType,
          call: (list: CelList, item: CelValue) => lastIndexOf(list, item),
        },
      ],
      ...elementsCost,
    },
  ],
};

function overListOf(name: string, type: CelType): Omit<Overload, 'call'> {
  return { id: name, member: true, parameters: [listOf(type)], result: type };
}

function forOrdered(id: string, call: (list: CelList) => CelResult, result?: CelType): Overload[] {
  return orderedTypes.map(([name, type]) => ({
    ...overListOf(name, type),
    id: result ? `list_${name}_${id}` : `list_${name}_${id}_${name}`,
    result: result ?? type,
    call,
  }));
}

function isSorted(list: CelList): CelResult {
  for (let i = 1; i < list.size; i++) {
    const [before, after] = [list.at(i - 1), list.at(i)];
    if (isCelError(before)) return before;
    if (isCelError(after)) return after;
    const order = compare(before, after);
    if (!isCelError(order) && order > 0) return false;
  }
  return true;
}

function sum(list: CelList, zero: CelValue): CelResult {
  let total: CelResult = zero;
  for (let i = 0; i < list.size && !isCelError(total); i++) {
    const element = list.at(i);
    total = isCelError(element) ? element : add(total, element);
  }
  return total;
}

function extreme(list: CelList, which: 'min' | 'max'): CelResult {
  if (list.size === 0) return new CelError(`${which} called on empty list`);
  let found = list.at(0);
  for (let i = 1; i < list.size && !isCelError(found); i++) {
    const element = list.at(i);
    if (isCelError(element)) return element;
    const order = compare(found, element);
    if (!isCelError(order) && (which === 'min' ? order > 0 : order < 0)) found = element;
  }
  return found;
}

function indexOf(list: CelList, item: CelValue): bigint {
  for (let i = 0; i < list.size; i++) if (holds(list, i, item)) return BigInt(i);
  return -1n;
}

function lastIndexOf(list: CelList, item: CelValue): bigint {
  for (let i = list.size - 1; i >= 0; i--) if (holds(list, i, item)) return BigInt(i);
  return -1n;
}

function holds(list: CelList, index: number, item: CelValue): boolean {
  const element = list.at(index);
  return !isCelError(element) && equal(element, item) === true;
}
