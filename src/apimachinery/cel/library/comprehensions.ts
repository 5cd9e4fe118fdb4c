/**
 * Macros over two variables, the index and element of a list or the key and value of a map: `all`, `exists`, `existsOne`,
 * `transformList`, `transformMap`, `transformMapEntry`. All become one loop each; maps grow by `cel.@mapInsert`.
 */

import { accumulatorName } from '../ast.ts';
import { typeOfValue } from '../conversions.ts';
import {
  CelError,
  type CelMap,
  type CelMapKey,
  type CelResult,
  CelUint,
  type CelValue,
  type Expression,
  type ExpressionBuilder,
  isCelError,
  type Library,
  type Macro,
  MacroError,
  mapOf,
  typeParameter,
} from '../index.ts';
import { GrowingMap, isMapKey } from './growing-map.ts';

const keyType = typeParameter('K');
const valueType = typeParameter('V');
const anyMap = mapOf(keyType, valueType);

/** What the accumulator used to be called: no variable of a macro may be. */
const formerAccumulatorName = '__result__';

/** What a loop accumulates: its start, its step given the body of the macro, and what its end becomes. */
interface Folding {
  readonly initial: Expression;
  readonly condition?: Expression;
  readonly step: Expression;
  readonly result?: Expression;
}

type Fold = (build: ExpressionBuilder, body: Expression, firstVariable: string) => Folding;

export const twoVariableComprehensions: Library = {
  macros: [
    macro('all', 3, (build, body) => ({
      initial: build.literal(true),
      condition: build.call('@not_strictly_false', build.accumulator()),
      step: build.call('_&&_', build.accumulator(), body),
    })),
    macro('exists', 3, (build, body) => ({
      initial: build.literal(false),
      condition: build.call('@not_strictly_false', build.call('!_', build.accumulator())),
      step: build.call('_||_', build.accumulator(), body),
    })),
    macro('existsOne', 3, countingOnce),
    macro('exists_one', 3, countingOnce),
    ...transforming('transformList', (build, body) => ({
      initial: build.list(),
      step: build.call('_+_', build.accumulator(), build.list(body)),
    })),
    ...transforming('transformMap', (build, body, key) => ({
      initial: build.emptyMap(),
      step: build.call('cel.@mapInsert', build.accumulator(), build.identifier(key), body),
    })),
    ...transforming('transformMapEntry', (build, body) => ({
      initial: build.emptyMap(),
      step: build.call('cel.@mapInsert', build.accumulator(), body),
    })),
  ],
  functions: [
    {
      name: 'cel.@mapInsert',
      overloads: [
        {
          id: '@mapInsert_map_key_value',
          parameters: [anyMap, keyType, valueType],
          result: anyMap,
          call: (map: CelMap, key: CelValue, value: CelValue) => insert(map, [[key, value]]),
        },
        {
          id: '@mapInsert_map_map',
          parameters: [anyMap, anyMap],
          result: anyMap,
          call: (map: CelMap, added: CelMap) => insert(map, entriesOf(added)),
        },
      ],
    },
  ],
};

function countingOnce(build: ExpressionBuilder, body: Expression): Folding {
  const increased = build.call('_+_', build.accumulator(), build.literal(1n));
  return {
    initial: build.literal(0n),
    step: build.call('_?_:_', body, increased, build.accumulator()),
    result: build.call('_==_', build.accumulator(), build.literal(1n)),
  };
}

/** With three arguments, and with four, the third being a filter. */
function transforming(name: string, fold: Fold): Macro[] {
  return [
    macro(name, 3, fold),
    macro(name, 4, (build, body, key, filter) => {
      const folding = fold(build, body, key);
      return { ...folding, step: build.call('_?_:_', filter!, folding.step, build.accumulator()) };
    }),
  ];
}

function macro(
  name: string,
  argumentCount: number,
  fold: (build: ExpressionBuilder, body: Expression, firstVariable: string, filter?: Expression) => Folding,
): Macro {
  return {
    name,
    member: true,
    argumentCount,
    expand(build, args, target) {
      const variables = variablesOf(args[0]!, args[1]!);
      if (variables instanceof MacroError) return variables;
      const [variable, variable2] = variables;
      const folding = fold(build, args.at(-1)!, variable, argumentCount === 4 ? args[2] : undefined);
      return build.comprehension({
        range: target,
        variable,
        variable2,
        accumulator: accumulatorName,
        initial: folding.initial,
        condition: folding.condition ?? build.literal(true),
        step: folding.step,
        result: folding.result ?? build.accumulator(),
      });
    },
  };
}

function variablesOf(first: Expression, second: Expression): [string, string] | MacroError {
  for (const argument of [first, second]) {
    if (argument.kind !== 'identifier') return new MacroError(argument, 'argument must be a simple name');
  }
  const names = [first, second].map((argument) => (argument.kind === 'identifier' ? argument.name : ''));
  if (names[0] === names[1]) return new MacroError(second, `duplicate variable name: ${names[0]}`);
  for (const [index, name] of names.entries()) {
    if (name !== accumulatorName && name !== formerAccumulatorName) continue;
    return new MacroError(index === 0 ? first : second, 'iteration variable overwrites accumulator variable');
  }
  return [names[0]!, names[1]!];
}

function entriesOf(map: CelMap): (readonly [CelValue, CelResult])[] {
  return [...map.keys()].map((key) => [key, map.get(key)!] as const);
}

function insert(map: CelMap, entries: Iterable<readonly [CelValue, CelResult]>): CelResult {
  let grown = map instanceof GrowingMap ? map : undefined;
  for (const [key, value] of entries) {
    if (isCelError(value)) return value;
    if (!isMapKey(key)) return new CelError(`unsupported key type: ${typeOfValue(key).name}`);
    grown ??= GrowingMap.of([...map.keys()].map((held) => [held, map.get(held)!] as const));
    if (grown.has(key)) return new CelError(`insert failed: key ${keyText(key)} already exists`);
    grown = grown.with(key, value);
  }
  return grown ?? map;
}

const keyText = (key: CelMapKey) => String(key instanceof CelUint ? key.value : key);
