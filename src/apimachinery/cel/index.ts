/**
 * The Common Expression Language, as Kubernetes' API speaks it: validation rules of custom resources, admission policies,
 * match conditions of webhooks, structured authentication and authorization.
 *
 * A library is a table of functions (`functions.ts`), a type is a `CelType` (`types.ts`), a value what `values.ts` says.
 */
export type { Expression } from './ast.ts';
export { sizeForCost, traversalCost } from './cost.ts';
export type {
  CallEstimate,
  EstimatedCall,
  EstimatedNode,
  ExpressionBuilder,
  FunctionDeclaration,
  Library,
  Macro,
  Overload,
} from './functions.ts';
export { MacroError } from './functions.ts';
export { costs, fixed, plus, scaled, times, unbounded, union, unknownRange } from './ranges.ts';
export { codePointCount, compareStrings } from './strings.ts';
export * from './types.ts';
export * from './values.ts';
