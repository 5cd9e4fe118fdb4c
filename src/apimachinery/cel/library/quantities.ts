/** Amounts of resources: `quantity("1.5Gi")`, their order, sums and plain numbers. */
import { parseQuantity, Quantity } from '../../quantity.ts';
import {
  boolType,
  CelError,
  CelOpaque,
  type CelResult,
  type CelType,
  type CelValue,
  doubleType,
  type FunctionDeclaration,
  fixed,
  intType,
  type Library,
  type Overload,
  objectType,
  stringType,
} from '../index.ts';
import { unitCost, walkCost } from './call-costs.ts';

export const quantityType = objectType('kubernetes.Quantity', { equality: { atRunTime: 1, estimate: () => fixed(1) } });

class QuantityValue extends CelOpaque {
  readonly type = quantityType;
  readonly quantity: Quantity;
  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }
  equals(other: CelOpaque): boolean {
    return other instanceof QuantityValue && this.quantity.equals(other.quantity);
  }
}

export const quantities: Library = {
  types: [quantityType],
  functions: [
    {
      name: 'quantity',
      overloads: [{ id: 'string_to_quantity', parameters: [stringType], result: quantityType, call: toQuantity }],
      ...walkCost(),
    },
    {
      name: 'isQuantity',
      overloads: [
        {
          id: 'is_quantity_string',
          parameters: [stringType],
          result: boolType,
          call: (text: string) => !(toQuantity(text) instanceof CelError),
        },
      ],
      ...walkCost(),
    },
    {
      name: 'sign',
      overloads: [
        {
          id: 'quantity_sign',
          parameters: [quantityType],
          result: intType,
          call: (value: QuantityValue) => BigInt(value.quantity.sign),
        },
      ],
      ...unitCost,
    },
    about('asApproximateFloat', 'quantity_get_float', doubleType, (quantity) => quantity.toNumber()),
    about('asInteger', 'quantity_get_int', intType, (quantity) => {
      return quantity.asInt64() ?? new CelError('cannot convert value to integer');
    }),
    about('isInteger', 'quantity_is_integer', boolType, (quantity) => quantity.asInt64() !== undefined),
    between('isGreaterThan', 'quantity_is_greater_than', boolType, (left, right) => left.compare(right) > 0),
    between('isLessThan', 'quantity_is_less_than', boolType, (left, right) => left.compare(right) < 0),
    between('compareTo', 'quantity_compare_to', intType, (left, right) => BigInt(Math.sign(left.compare(right)))),
    arithmetic('add', (left, right) => left.add(right)),
    arithmetic('sub', (left, right) => left.sub(right)),
  ],
};

/** An error value for what is no quantity. */
export function toQuantity(text: string): CelResult {
  try {
    return new QuantityValue(parseQuantity(text));
  } catch (error) {
    return new CelError((error as Error).message);
  }
}

function about(
  name: string,
  id: string,
  result: CelType,
  read: (quantity: Quantity) => CelResult,
): FunctionDeclaration {
  const overload: Overload = {
    id,
    member: true,
    parameters: [quantityType],
    result,
    call: (value: QuantityValue) => read(value.quantity),
  };
  return { name, overloads: [overload], ...unitCost };
}

function between(
  name: string,
  id: string,
  result: CelType,
  read: (left: Quantity, right: Quantity) => CelValue,
): FunctionDeclaration {
  const overload: Overload = {
    id,
    member: true,
    parameters: [quantityType, quantityType],
    result,
    call: (left: QuantityValue, right: QuantityValue) => read(left.quantity, right.quantity),
  };
  return { name, overloads: [overload], ...unitCost };
}

function arithmetic(name: 'add' | 'sub', work: (left: Quantity, right: Quantity) => Quantity): FunctionDeclaration {
  const overloads: Overload[] = [
    {
      id: `quantity_${name}`,
      member: true,
      parameters: [quantityType, quantityType],
      result: quantityType,
      call: (left: QuantityValue, right: QuantityValue) => new QuantityValue(work(left.quantity, right.quantity)),
    },
    {
      id: `quantity_${name}_int`,
      member: true,
      parameters: [quantityType, intType],
      result: quantityType,
      call: (left: QuantityValue, right: bigint) =>
        new QuantityValue(work(left.quantity, new Quantity(right, 0, 'DecimalExponent'))),
    },
  ];
  return { name, overloads, ...unitCost };
}
