/**
 * The functions and operators that every environment has, with their costs. `&&`, `||`, `?:`, `==`, `!=` and indexing are declared
 * here for the checker, and evaluated by the compiler, for they do not simply take values to a value.
 */
import {
  convertToBool,
  convertToBytes,
  convertToDouble,
  convertToDuration,
  convertToInt,
  convertToString,
  convertToTimestamp,
  convertToUint,
  typeOfValue,
} from './conversions.ts';
import { sizeForCost, traversalCost } from './cost.ts';
import type { CostEstimate, FunctionDeclaration, Library, Overload, RuntimeCost } from './functions.ts';
import {
  add,
  compare,
  contains,
  divide,
  equal,
  hasOrder,
  multiply,
  negate,
  remainder,
  size,
  subtract,
  unsupported,
} from './operators.ts';
import { costs, fixed, plus, scaled, times } from './ranges.ts';
import { matches } from './regular-expressions.ts';
import { standardMacros } from './standard-macros.ts';
import { type DatePart, TimeZones } from './times.ts';
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  listType,
  mapOf,
  mapType,
  nullType,
  type SizeRange,
  stringType,
  timestampType,
  typeOf,
  typeParameter,
  typeType,
  uintType,
} from './types.ts';
import {
  type CelDuration,
  CelError,
  type CelResult,
  type CelTimestamp,
  type CelValue,
  noSuchOverload,
} from './values.ts';

const a = typeParameter('A');
const b = typeParameter('B');
const listOfA = listOf(a);
const mapOfAB = mapOf(a, b);

interface Costs {
  readonly cost?: RuntimeCost;
  readonly estimate?: CostEstimate;
}

const overload = (
  id: string,
  parameters: readonly CelType[],
  result: CelType,
  call: Overload['call'],
  rest: Costs & { readonly member?: boolean } = {},
): Overload => ({ id, parameters, result, call, ...rest });

/** The compiler takes these over. */
const evaluatedElsewhere = (): CelResult => noSuchOverload();

const walkShorterOf: Costs = {
  cost: ([left, right]) => Math.ceil(Math.min(sizeForCost(left!), sizeForCost(right!)) * costs.traversal),
  estimate: ({ args, sizeOf }) => {
    const max = Math.min(sizeOf(args[0]!).max, sizeOf(args[1]!).max);
    return { cost: scaled({ min: max > 0 ? 1 : 0, max }, costs.traversal) };
  },
};

const walkBoth: Costs = {
  cost: ([left, right]) => Math.ceil((sizeForCost(left!) + sizeForCost(right!)) * costs.traversal),
  estimate: ({ args, sizeOf }) => {
    const resultSize = plus(sizeOf(args[0]!), sizeOf(args[1]!));
    return { cost: scaled(resultSize, costs.traversal), resultSize };
  },
};

/** Upstream estimates the text that is looked for, and counts the text that is looked at. */
const walkAffix: Costs = {
  cost: ([text]) => traversalCost(text!),
  estimate: ({ args, sizeOf }) => ({ cost: scaled(sizeOf(args[0]!), costs.traversal) }),
};

const walkConverted = (resultSize: (size: SizeRange) => SizeRange): Costs => ({
  cost: ([value]) => traversalCost(value!),
  estimate: ({ args, sizeOf }) => {
    const converted = sizeOf(args[0]!);
    return { cost: scaled(converted, costs.traversal), resultSize: resultSize(converted) };
  },
});

const searchText: Costs = {
  cost: ([text, part]) => traversalCost(text!) * traversalCost(part!),
  estimate: ({ target, args, sizeOf }) => {
    if (!target) return undefined;
    return { cost: times(scaled(sizeOf(target), costs.traversal), scaled(sizeOf(args[0]!), costs.traversal)) };
  },
};

const matchText: Costs = {
  cost: ([text, pattern]) =>
    Math.ceil((1 + sizeForCost(text!)) * costs.traversal) * Math.ceil(sizeForCost(pattern!) * costs.regex),
  estimate: ({ target, args, sizeOf }) => {
    if (!target) return undefined;
    const text = scaled(plus(sizeOf(target), fixed(1)), costs.traversal);
    return { cost: times(text, scaled(sizeOf(args[0]!), costs.regex)) };
  },
};

const logical: readonly FunctionDeclaration[] = [
  {
    name: '_?_:_',
    overloads: [overload('conditional', [boolType, a, a], a, evaluatedElsewhere)],
  },
  {
    name: '_&&_',
    overloads: [overload('logical_and', [boolType, boolType], boolType, evaluatedElsewhere)],
  },
  {
    name: '_||_',
    overloads: [overload('logical_or', [boolType, boolType], boolType, evaluatedElsewhere)],
  },
  {
    name: '!_',
    overloads: [overload('logical_not', [boolType], boolType, (value: boolean) => !value)],
  },
  {
    name: '@not_strictly_false',
    overloads: [overload('not_strictly_false', [boolType], boolType, evaluatedElsewhere)],
  },
  {
    name: '_==_',
    total: true,
    overloads: [overload('equals', [a, a], boolType, (left, right) => equal(left!, right!), walkShorterOf)],
  },
  {
    name: '_!=_',
    total: true,
    overloads: [
      overload('not_equals', [a, a], boolType, (left, right) => equal(left!, right!) !== true, walkShorterOf),
    ],
  },
];

/** One overload per row: its id, the types of both sides and of the result. */
function operator(
  name: string,
  call: (left: CelValue, right: CelValue) => CelResult,
  rows: readonly (readonly [id: string, left: CelType, right: CelType, result: CelType, costs?: Costs])[],
): FunctionDeclaration {
  const overloads = rows.map(([id, left, right, result, costs]) => overload(id, [left, right], result, call, costs));
  return { name, overloads, total: true };
}

const joinLists: Costs = {
  estimate: ({ args, sizeOf }) => ({ cost: fixed(1), resultSize: plus(sizeOf(args[0]!), sizeOf(args[1]!)) }),
};

const arithmetic: readonly FunctionDeclaration[] = [
  operator('_+_', add, [
    ['add_bytes', bytesType, bytesType, bytesType, walkBoth],
    ['add_double', doubleType, doubleType, doubleType],
    ['add_duration_duration', durationType, durationType, durationType],
    ['add_duration_timestamp', durationType, timestampType, timestampType],
    ['add_timestamp_duration', timestampType, durationType, timestampType],
    ['add_int64', intType, intType, intType],
    ['add_list', listOfA, listOfA, listOfA, joinLists],
    ['add_string', stringType, stringType, stringType, walkBoth],
    ['add_uint64', uintType, uintType, uintType],
  ]),
  operator('_/_', divide, [
    ['divide_double', doubleType, doubleType, doubleType],
    ['divide_int64', intType, intType, intType],
    ['divide_uint64', uintType, uintType, uintType],
  ]),
  operator('_%_', remainder, [
    ['modulo_int64', intType, intType, intType],
    ['modulo_uint64', uintType, uintType, uintType],
  ]),
  operator('_*_', multiply, [
    ['multiply_double', doubleType, doubleType, doubleType],
    ['multiply_int64', intType, intType, intType],
    ['multiply_uint64', uintType, uintType, uintType],
  ]),
  operator('_-_', subtract, [
    ['subtract_double', doubleType, doubleType, doubleType],
    ['subtract_duration_duration', durationType, durationType, durationType],
    ['subtract_int64', intType, intType, intType],
    ['subtract_timestamp_duration', timestampType, durationType, timestampType],
    ['subtract_timestamp_timestamp', timestampType, timestampType, durationType],
    ['subtract_uint64', uintType, uintType, uintType],
  ]),
  {
    name: '-_',
    total: true,
    overloads: [
      overload('negate_double', [doubleType], doubleType, negate),
      overload('negate_int64', [intType], intType, negate),
    ],
  },
];

/** Types with an order of their own; numbers are also compared across types. */
const ordered: readonly (readonly [suffix: string, left: CelType, right?: CelType])[] = [
  ['bool', boolType],
  ['int64', intType],
  ['int64_double', intType, doubleType],
  ['int64_uint64', intType, uintType],
  ['uint64', uintType],
  ['uint64_double', uintType, doubleType],
  ['uint64_int64', uintType, intType],
  ['double', doubleType],
  ['double_int64', doubleType, intType],
  ['double_uint64', doubleType, uintType],
  ['string', stringType],
  ['bytes', bytesType],
  ['timestamp', timestampType],
  ['duration', durationType],
];

function ordering(name: string, prefix: string, holds: (order: number) => boolean): FunctionDeclaration {
  const call = (left: CelValue, right: CelValue): CelResult => {
    if (!hasOrder(left)) return unsupported(name);
    const order = compare(left, right);
    return order instanceof CelError ? order : holds(order);
  };
  return operator(
    name,
    call,
    ordered.map(([suffix, left, right = left]) => {
      const costs = left === stringType || left === bytesType ? walkShorterOf : {};
      return [`${prefix}_${suffix}`, left, right, boolType, costs] as const;
    }),
  );
}

const relations: readonly FunctionDeclaration[] = [
  ordering('_<_', 'less', (order) => order < 0),
  ordering('_<=_', 'less_equals', (order) => order <= 0),
  ordering('_>_', 'greater', (order) => order > 0),
  ordering('_>=_', 'greater_equals', (order) => order >= 0),
];

const listSize: Costs = {
  cost: ([, list]) => sizeForCost(list!),
  estimate: ({ args, sizeOf }) => ({ cost: sizeOf(args[1]!) }),
};

const containers: readonly FunctionDeclaration[] = [
  {
    name: '_[_]',
    overloads: [
      overload('index_list', [listOfA, intType], a, evaluatedElsewhere),
      overload('index_map', [mapOfAB, a], b, evaluatedElsewhere),
    ],
  },
  operator('@in', contains, [
    ['in_list', a, listOfA, boolType, listSize],
    ['in_map', a, mapOfAB, boolType],
  ]),
  {
    name: 'size',
    total: true,
    overloads: [
      ['bytes', bytesType] as const,
      ['list', listOfA] as const,
      ['map', mapOfAB] as const,
      ['string', stringType] as const,
    ].flatMap(([name, type]) => [
      overload(`size_${name}`, [type], intType, size),
      overload(`${name}_size`, [type], intType, size, { member: true }),
    ]),
  },
];

/** Each row is an overload: its id and the type that it converts from. */
function conversion(
  name: string,
  result: CelType,
  call: (value: CelValue) => CelResult,
  rows: readonly (readonly [id: string, from: CelType, costs?: Costs])[],
): FunctionDeclaration {
  const overloads = rows.map(([id, from, costs]) => overload(id, [from], result, call, costs));
  return { name, overloads };
}

const conversions: readonly FunctionDeclaration[] = [
  conversion('type', typeOf(a), typeOfValue, [['type', a]]),
  conversion('dyn', dynType, (value) => value, [['to_dyn', a]]),
  conversion('bool', boolType, convertToBool, [
    ['bool_to_bool', boolType],
    ['string_to_bool', stringType],
  ]),
  conversion('bytes', bytesType, convertToBytes, [
    ['bytes_to_bytes', bytesType],
    ['string_to_bytes', stringType, walkConverted(({ min, max }) => ({ min, max: max * 4 }))],
  ]),
  conversion('double', doubleType, convertToDouble, [
    ['double_to_double', doubleType],
    ['int64_to_double', intType],
    ['string_to_double', stringType],
    ['uint64_to_double', uintType],
  ]),
  conversion('duration', durationType, convertToDuration, [
    ['duration_to_duration', durationType],
    ['int64_to_duration', intType],
    ['string_to_duration', stringType],
  ]),
  conversion('int', intType, convertToInt, [
    ['int64_to_int64', intType],
    ['double_to_int64', doubleType],
    ['duration_to_int64', durationType],
    ['string_to_int64', stringType],
    ['timestamp_to_int64', timestampType],
    ['uint64_to_int64', uintType],
  ]),
  conversion('string', stringType, convertToString, [
    ['string_to_string', stringType],
    ['bool_to_string', boolType],
    ['bytes_to_string', bytesType, walkConverted(({ min, max }) => ({ min: Math.floor(min / 4), max }))],
    ['double_to_string', doubleType],
    ['duration_to_string', durationType],
    ['int64_to_string', intType],
    ['timestamp_to_string', timestampType],
    ['uint64_to_string', uintType],
  ]),
  conversion('timestamp', timestampType, convertToTimestamp, [
    ['timestamp_to_timestamp', timestampType],
    ['int64_to_timestamp', intType],
    ['string_to_timestamp', stringType],
  ]),
  conversion('uint', uintType, convertToUint, [
    ['uint64_to_uint64', uintType],
    ['double_to_uint64', doubleType],
    ['int64_to_uint64', intType],
    ['string_to_uint64', stringType],
  ]),
];

const textFunction = (name: string, id: string, call: (text: string, part: string) => CelResult, costs: Costs) => ({
  name,
  overloads: [overload(id, [stringType, stringType], boolType, call, { member: true, ...costs })],
});

const texts: readonly FunctionDeclaration[] = [
  textFunction('contains', 'contains_string', (text, part) => text.includes(part), searchText),
  textFunction('endsWith', 'ends_with_string', (text, part) => text.endsWith(part), walkAffix),
  textFunction('startsWith', 'starts_with_string', (text, part) => text.startsWith(part), walkAffix),
  {
    name: 'matches',
    overloads: [
      overload('matches', [stringType, stringType], boolType, matches),
      overload('matches_string', [stringType, stringType], boolType, matches, {
        member: true,
        ...matchText,
      }),
    ],
  },
];

const perUnit: Partial<Record<DatePart, bigint>> = {
  hours: 3_600_000_000_000n,
  minutes: 60_000_000_000n,
  seconds: 1_000_000_000n,
  milliseconds: 1_000_000n,
};

/** The part of a moment in UTC or in a named zone; of a duration, the whole of it in that unit. */
function accessor(zones: TimeZones, name: string, part: DatePart, suffix: string): FunctionDeclaration {
  const member = { member: true };
  const inUtc = (time: CelTimestamp) => zones.datePart(time, part);
  const inZone = (time: CelTimestamp, zone: string) => zones.datePart(time, part, zone);
  const overloads = [
    overload(`timestamp_to_${suffix}`, [timestampType], intType, inUtc, member),
    overload(`timestamp_to_${suffix}_with_tz`, [timestampType, stringType], intType, inZone, member),
  ];
  const unit = perUnit[part];
  if (unit !== undefined) {
    const whole = (duration: CelDuration) => duration.nanos / unit;
    overloads.push(overload(`duration_to_${suffix}`, [durationType], intType, whole, member));
  }
  return { name, overloads };
}

const accessors = (zones: TimeZones): readonly FunctionDeclaration[] => [
  accessor(zones, 'getFullYear', 'year', 'year'),
  accessor(zones, 'getMonth', 'month', 'month'),
  accessor(zones, 'getDayOfYear', 'dayOfYear', 'day_of_year'),
  accessor(zones, 'getDayOfMonth', 'dayOfMonth', 'day_of_month'),
  accessor(zones, 'getDate', 'date', 'day_of_month_1_based'),
  accessor(zones, 'getDayOfWeek', 'dayOfWeek', 'day_of_week'),
  accessor(zones, 'getHours', 'hours', 'hours'),
  accessor(zones, 'getMinutes', 'minutes', 'minutes'),
  accessor(zones, 'getSeconds', 'seconds', 'seconds'),
  accessor(zones, 'getMilliseconds', 'milliseconds', 'milliseconds'),
];

export const standardLibrary = (): Library => ({
  macros: standardMacros,
  functions: [
    ...logical,
    ...arithmetic,
    ...relations,
    ...containers,
    ...conversions,
    ...texts,
    ...accessors(new TimeZones()),
  ],
  types: [
    boolType,
    bytesType,
    doubleType,
    durationType,
    intType,
    listType,
    mapType,
    nullType,
    stringType,
    timestampType,
    typeType,
    uintType,
  ],
});
