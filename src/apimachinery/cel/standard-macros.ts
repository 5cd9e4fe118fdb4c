/**
 * The macros that every expression may use: `has`, `all`, `exists`, `exists_one`, `map` and `filter`. Each becomes a loop over
 * its target, but for `has`, which becomes a test for a field.
 */
import { accumulatorName, type Expression } from './ast.ts';
import { type ExpressionBuilder, type Macro, MacroError } from './functions.ts';

/** How a loop accumulates. */
interface Folding {
  readonly initial: Expression;
  readonly condition?: Expression;
  readonly step: Expression;
  readonly result?: Expression;
}

const onlyNames = 'argument must be a simple name';

/** A macro whose first argument names a variable for each element of the target. */
function loop(
  name: string,
  argumentCount: number,
  fold: (build: ExpressionBuilder, args: readonly Expression[]) => Folding,
  { notAName = onlyNames } = {},
): Macro {
  return {
    name,
    member: true,
    argumentCount,
    expand(build, args, range) {
      const [variable] = args;
      if (variable?.kind !== 'identifier') return new MacroError(variable!, notAName);
      if (variable.name === accumulatorName) {
        return new MacroError(variable, 'iteration variable overwrites accumulator variable');
      }
      const folding = fold(build, args);
      return build.comprehension({
        range,
        variable: variable.name,
        accumulator: accumulatorName,
        condition: build.literal(true),
        result: build.accumulator(),
        ...folding,
      });
    },
  };
}

const all = loop('all', 2, (build, [, predicate]) => ({
  initial: build.literal(true),
  condition: build.call('@not_strictly_false', build.accumulator()),
  step: build.call('_&&_', build.accumulator(), predicate!),
}));

const exists = loop('exists', 2, (build, [, predicate]) => ({
  initial: build.literal(false),
  condition: build.call('@not_strictly_false', build.call('!_', build.accumulator())),
  step: build.call('_||_', build.accumulator(), predicate!),
}));

const existsOne = loop('exists_one', 2, (build, [, predicate]) => {
  const increased = build.call('_+_', build.accumulator(), build.literal(1n));
  return {
    initial: build.literal(0n),
    step: build.call('_?_:_', predicate!, increased, build.accumulator()),
    result: build.call('_==_', build.accumulator(), build.literal(1n)),
  };
});

/** `accumulator + [element]`, where there is a filter only if it holds. */
function append(build: ExpressionBuilder, element: Expression, filter?: Expression): Expression {
  const appended = build.call('_+_', build.accumulator(), build.list(element));
  return filter ? build.call('_?_:_', filter, appended, build.accumulator()) : appended;
}

const notAnIdentifier = { notAName: 'argument is not an identifier' };

const map = loop(
  'map',
  2,
  (build, [, element]) => ({ initial: build.list(), step: append(build, element!) }),
  notAnIdentifier,
);

const mapFiltered = loop(
  'map',
  3,
  (build, [, filter, element]) => ({ initial: build.list(), step: append(build, element!, filter) }),
  notAnIdentifier,
);

const filter = loop(
  'filter',
  2,
  (build, [variable, predicate]) => ({ initial: build.list(), step: append(build, variable!, predicate) }),
  notAnIdentifier,
);

const has: Macro = {
  name: 'has',
  member: false,
  argumentCount: 1,
  expand(build, [argument]) {
    if (argument?.kind === 'select') return build.presenceTest(argument.operand, argument.field);
    return new MacroError(argument!, 'invalid argument to has() macro');
  },
};

export const standardMacros: readonly Macro[] = [has, all, exists, existsOne, map, mapFiltered, filter];
