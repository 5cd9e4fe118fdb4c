/** Lists as sets: `sets.contains`, `sets.equivalent`, `sets.intersects`. Elements need no order and may repeat. */
import {
  boolType,
  type CelList,
  type CelResult,
  type FunctionDeclaration,
  fixed,
  isCelError,
  type Library,
  listOf,
  plus,
  scaled,
  sizeForCost,
  times,
  typeParameter,
} from '../index.ts';
import { equal } from '../operators.ts';
import { beyondBudget, overBudget } from './call-costs.ts';

const anyList = listOf(typeParameter('T'));

export const sets: Library = {
  functions: [
    comparison('contains', 1, contains),
    comparison('equivalent', 2, (left, right) => {
      const forth = contains(left, right);
      return forth === true ? contains(right, left) : forth;
    }),
    comparison('intersects', 1, intersects),
  ],
};

function comparison(
  name: string,
  passes: number,
  call: (left: CelList, right: CelList) => CelResult,
): FunctionDeclaration {
  return {
    name: `sets.${name}`,
    overloads: [
      {
        id: `list_sets_${name}_list`,
        parameters: [anyList, anyList],
        result: boolType,
        call: (left: CelList, right: CelList) =>
          beyondBudget(left.size * right.size) ? overBudget() : call(left, right),
        cost: ([left, right]) => 1 + sizeForCost(left!) * sizeForCost(right!) * passes,
        estimate: ({ args, sizeOf }) => ({
          cost: plus(scaled(times(sizeOf(args[0]!), sizeOf(args[1]!)), passes), fixed(1)),
        }),
      },
    ],
  };
}

function contains(list: CelList, sublist: CelList): CelResult {
  for (let i = 0; i < sublist.size; i++) {
    const found = includes(list, sublist.at(i));
    if (found !== true) return found;
  }
  return true;
}

function intersects(left: CelList, right: CelList): CelResult {
  for (let i = 0; i < left.size; i++) if (includes(right, left.at(i)) === true) return true;
  return false;
}

function includes(list: CelList, item: CelResult): CelResult {
  if (isCelError(item)) return item;
  for (let i = 0; i < list.size; i++) {
    const element = list.at(i);
    if (isCelError(element)) return element;
    if (equal(element, item) === true) return true;
  }
  return false;
}
