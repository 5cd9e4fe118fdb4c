/**
 * The Common Expression Language, as Kubernetes' API speaks it: validation rules of custom resources, admission policies,
 * match conditions of webhooks, structured authentication and authorization. Parsed, type-checked and evaluated here, with cost
 * counted as upstream counts it, so that no expression can hold up the server.
 *
 * Worked example, the match condition of a webhook:
 *
 *     const environment = Environment.standard({ libraries: [urls, lists], variables: { object: dynType } });
 *     const compiled = environment.compile('object.spec.replicas > 3 && has(object.metadata.labels)');
 *     if (!compiled.program) throw invalid(compiled.text);
 *     // "ERROR: <input>:1:8: undeclared reference to ..." with the line and a caret under the place
 *
 *     compiled.program.resultType;                                  // bool
 *     const { value, cost } = compiled.program.evaluate({ object }); // JSON, read only where the expression looks
 *     if (isCelError(value)) report(value.message);                 // "no such key: replicas"
 *     else if (value === true) callWebhook();
 *
 *     compiled.program.estimate(({ path }) => sizeLimits(path)).max; // at most this much, whatever the object
 *
 * A library is a table of functions and macros (`functions.ts`), a type is a `CelType` (`types.ts`), a value what `values.ts` says.
 * A text becomes tokens (`lexer.ts`), a tree (`parser.ts`, `ast.ts`), types and overloads (`checker.ts`), closures
 * (`compiler.ts`), and a `Program`.
 */
export { adapt } from './adapt.ts';
export type { Expression } from './ast.ts';
export { sizeForCost, traversalCost } from './cost.ts';
export { type Compilation, Environment, type EnvironmentOptions } from './environment.ts';
export type { DeclaredSizes } from './estimate.ts';
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
export type { Issue } from './issues.ts';
export { type Evaluation, type EvaluationOptions, Program, perCallCostLimit } from './program.ts';
export { costs, fixed, plus, scaled, times, unbounded, union, unknownRange } from './ranges.ts';
export { codePointCount, compareStrings } from './strings.ts';
export * from './types.ts';
export * from './values.ts';
