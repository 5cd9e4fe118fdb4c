/**
 * Infers the type of every part of an expression, and which overloads each call may take, or reports why that cannot be.
 * Local type inference with type variables: what `[]` holds is settled by what it is used with.
 */
import type { Call, Comprehension, Expression, ListLiteral, MapLiteral, ObjectLiteral, Select } from './ast.ts';
import type { FunctionDeclaration, Overload } from './functions.ts';
import type { Issues } from './issues.ts';
import {
  anyType,
  boolType,
  bytesType,
  CelType,
  doubleType,
  dynType,
  errorType,
  intType,
  isOptionalType,
  listOf,
  mapOf,
  nullType,
  optionalOf,
  sameType,
  stringType,
  typeParameter,
  uintType,
} from './types.ts';
import { isDynamic, mostGeneral, Substitutions } from './unification.ts';
import { CelUint } from './values.ts';

/** What names mean outside of an expression. */
export interface Declarations {
  /** The type of a variable, or of a named type (`type(int)`). */
  identifier(name: string): CelType | undefined;
  function(name: string): FunctionDeclaration | undefined;
  /** The type that a literal of an object names. */
  objectType(name: string): CelType | undefined;
}

/** A call as resolved: `ip.isCanonical(x)` is a call of the global function of that whole name. */
export interface ResolvedCall {
  readonly name: string;
  readonly target: Expression | undefined;
  readonly declaration: FunctionDeclaration;
  readonly overloads: readonly Overload[];
}

/** What checking found out, by the id of the node. */
export interface Checked {
  readonly expression: Expression;
  readonly types: ReadonlyMap<number, CelType>;
  /** The variable or type that an identifier, or a chain of selects as a whole, stands for. */
  readonly names: ReadonlyMap<number, string>;
  readonly calls: ReadonlyMap<number, ResolvedCall>;
}

export function check(expression: Expression, declarations: Declarations, issues: Issues): Checked {
  return new Checker(declarations, issues).run(expression);
}

class Checker {
  readonly #declarations: Declarations;
  readonly #issues: Issues;
  readonly #types = new Map<number, CelType>();
  readonly #names = new Map<number, string>();
  readonly #calls = new Map<number, ResolvedCall>();
  readonly #substitutions = new Substitutions();
  /** Variables of comprehensions, innermost last. */
  readonly #scopes: ReadonlyMap<string, CelType>[] = [];
  #variables = 0;
  /** Above zero where literals of lists and maps may hold values of different types. */
  #mixing = 0;

  constructor(declarations: Declarations, issues: Issues) {
    this.#declarations = declarations;
    this.#issues = issues;
  }

  run(expression: Expression): Checked {
    this.#check(expression);
    const types = new Map<number, CelType>();
    for (const [id, type] of this.#types) types.set(id, this.#substitutions.substitute(type, true));
    return { expression, types, names: this.#names, calls: this.#calls };
  }

  #report(at: { readonly offset: number }, message: string): CelType {
    this.#issues.report(at.offset, message);
    return errorType;
  }

  #mismatch(at: Expression, expected: CelType, actual: CelType): CelType {
    return this.#report(at, `expected type '${expected}' but found '${actual}'`);
  }

  #undeclared(at: Expression, name: string): CelType {
    return this.#report(at, `undeclared reference to '${name}' (in container '')`);
  }

  #newVariable(): CelType {
    return typeParameter(`_var${this.#variables++}`);
  }

  #check(expression: Expression): CelType {
    const type = this.#infer(expression);
    this.#types.set(expression.id, type);
    return type;
  }

  #infer(expression: Expression): CelType {
    switch (expression.kind) {
      case 'literal':
        return literalType(expression.value);
      case 'identifier':
        return this.#named(expression, expression.name) ?? this.#undeclared(expression, expression.name);
      case 'select':
        return this.#select(expression);
      case 'call':
        return this.#call(expression);
      case 'list':
        return this.#list(expression);
      case 'map':
        return this.#map(expression);
      case 'object':
        return this.#object(expression);
      case 'comprehension':
        return this.#comprehension(expression);
    }
  }

  #named(at: Expression, name: string): CelType | undefined {
    const local = name.startsWith('.') ? undefined : this.#local(name);
    const global = name.startsWith('.') ? name.slice(1) : name;
    const type = local ?? this.#declarations.identifier(global);
    if (type) this.#names.set(at.id, local ? name : global);
    return type;
  }

  #local(name: string): CelType | undefined {
    for (let i = this.#scopes.length - 1; i >= 0; i--) {
      const type = this.#scopes[i]!.get(name);
      if (type) return type;
    }
    return undefined;
  }

  #select(expression: Select): CelType {
    const name = qualifiedName(expression);
    const named = name === undefined ? undefined : this.#named(expression, name);
    if (named) return named;
    const type = this.#field(expression, expression.operand, expression.field);
    return expression.testOnly ? boolType : this.#substitutions.substitute(type, false);
  }

  /** The type of a field of `operand`, optional where the operand is. */
  #field(at: Expression, operand: Expression, name: string): CelType {
    const operandType = this.#substitutions.substitute(this.#check(operand), false);
    if (isOptionalType(operandType)) return optionalOf(this.#fieldOf(at, operandType.parameters[0]!, name));
    return this.#fieldOf(at, operandType, name);
  }

  #fieldOf(at: Expression, type: CelType, name: string): CelType {
    switch (type.kind) {
      case 'map':
        return type.parameters[1]!;
      case 'object':
        if (!type.field) return this.#report(at, `unexpected failed resolution of '${type.name}'`);
        return type.field(name)?.type ?? this.#report(at, `undefined field '${name}'`);
      case 'parameter':
        this.#substitutions.assignable(dynType, type);
        return dynType;
      default:
        if (!isDynamic(type)) this.#report(at, `type '${type}' does not support field selection`);
        return dynType;
    }
  }

  #call(expression: Call): CelType {
    const { name, args, target } = expression;
    if (name === '_?._') return this.#optionalSelect(expression);
    // Arguments of `format` may be of as many types as there are clauses.
    if (name === 'format') this.#mixing++;
    for (const arg of args) this.#check(arg);
    if (name === 'format') this.#mixing--;
    if (!target) return this.#resolve(expression, name.startsWith('.') ? name.slice(1) : name, undefined);
    const prefix = qualifiedName(target);
    const whole = prefix === undefined ? undefined : `${prefix}.${name}`.replace(/^\./, '');
    if (whole !== undefined && this.#declarations.function(whole)) return this.#resolve(expression, whole, undefined);
    this.#check(target);
    return this.#resolve(expression, name, target);
  }

  #optionalSelect(expression: Call): CelType {
    const [operand, field] = expression.args;
    const name = field?.kind === 'literal' && typeof field.value === 'string' ? field.value : '';
    const type = this.#field(expression, operand!, name);
    const declaration = this.#declarations.function(expression.name);
    if (declaration) {
      const { overloads } = declaration;
      this.#calls.set(expression.id, { name: expression.name, target: undefined, declaration, overloads });
    }
    return this.#substitutions.substitute(isOptionalType(type) ? type : optionalOf(type), false);
  }

  #resolve(call: Call, name: string, target: Expression | undefined): CelType {
    const declaration = this.#declarations.function(name);
    if (!declaration) return this.#undeclared(call, name);
    const args = target ? [target, ...call.args] : call.args;
    if (name === '_&&_' || name === '_||_') return this.#logical(call, declaration);
    const types = args.map((arg) => this.#types.get(arg.id)!);
    const fitting: Overload[] = [];
    let result: CelType | undefined;
    for (const overload of declaration.overloads) {
      if ((overload.member ?? false) !== (target !== undefined)) continue;
      const { parameters, result: declared } = this.#instantiate(overload);
      if (!this.#substitutions.assignableAll(types, parameters)) continue;
      fitting.push(overload);
      const type = this.#substitutions.substitute(declared, false);
      if (result === undefined) result = type;
      else if (result.kind !== 'dyn' && !sameType(type, result)) result = dynType;
    }
    if (result === undefined) {
      const final = types.map((type) => this.#substitutions.substitute(type, true));
      const receiver = target ? `${final.shift()}.` : '';
      return this.#report(
        call,
        `found no matching overload for '${name}' applied to '${receiver}(${final.join(', ')})'`,
      );
    }
    this.#calls.set(call.id, { name, target, declaration, overloads: fitting });
    return result;
  }

  /** Says which operand is not a bool, where other operators say only that nothing fits. */
  #logical(call: Call, declaration: FunctionDeclaration): CelType {
    let result: CelType = boolType;
    for (const arg of call.args) {
      const type = this.#types.get(arg.id)!;
      if (!this.#substitutions.assignable(type, boolType)) result = this.#mismatch(arg, boolType, type);
    }
    const { overloads } = declaration;
    this.#calls.set(call.id, { name: call.name, target: undefined, declaration, overloads });
    return result;
  }

  /** The overload's types with type variables of this call's own. */
  #instantiate(overload: Overload): { readonly parameters: readonly CelType[]; readonly result: CelType } {
    const fresh = new Map<string, CelType>();
    const instantiate = (type: CelType): CelType => {
      if (type.kind === 'parameter') {
        const variable = fresh.get(type.name) ?? this.#newVariable();
        fresh.set(type.name, variable);
        return variable;
      }
      if (type.parameters.length === 0) return type;
      const parameters = type.parameters.map(instantiate);
      return new CelType(type.kind, type.name, { parameters });
    };
    return { parameters: overload.parameters.map(instantiate), result: instantiate(overload.result) };
  }

  /** The type of an element that stands for an optional one. */
  #unwrapped(element: Expression, type: CelType, optional: boolean): CelType {
    if (!optional) return type;
    if (isOptionalType(type)) return type.parameters[0]!;
    if (!isDynamic(type)) this.#mismatch(element, optionalOf(type), type);
    return type;
  }

  #join(at: Expression, previous: CelType | undefined, current: CelType): CelType {
    if (previous === undefined) return current;
    if (this.#substitutions.assignable(previous, current)) return mostGeneral(previous, current);
    return this.#mixing > 0 ? dynType : this.#mismatch(at, previous, current);
  }

  #list(expression: ListLiteral): CelType {
    let element: CelType | undefined;
    expression.elements.forEach((part, index) => {
      const type = this.#unwrapped(part, this.#check(part), expression.optionals.includes(index));
      element = this.#join(part, element, type);
    });
    return listOf(element ?? this.#newVariable());
  }

  #map(expression: MapLiteral): CelType {
    let key: CelType | undefined;
    let value: CelType | undefined;
    for (const entry of expression.entries) {
      key = this.#join(entry.key, key, this.#check(entry.key));
      const type = this.#unwrapped(entry.value, this.#check(entry.value), entry.optional);
      value = this.#join(entry.value, value, type);
    }
    return mapOf(key ?? this.#newVariable(), value ?? this.#newVariable());
  }

  #object(expression: ObjectLiteral): CelType {
    const name = expression.typeName.replace(/^\./, '');
    const type = this.#declarations.objectType(name);
    if (!type && !this.#declarations.identifier(name)) return this.#undeclared(expression, expression.typeName);
    this.#objectFields(expression, type ?? this.#notAnObject(expression, name));
    return type ?? errorType;
  }

  #objectFields(expression: ObjectLiteral, type: CelType): void {
    for (const field of expression.fields) {
      const given = this.#unwrapped(field.value, this.#check(field.value), field.optional);
      if (type.kind !== 'object') continue;
      const declared = type.field?.(field.name)?.type;
      if (!declared) this.#report(field, `undefined field '${field.name}'`);
      else if (!this.#substitutions.assignable(declared, given)) {
        const message = `expected type of field '${field.name}' is '${declared}' but provided type is '${given}'`;
        this.#report(field, message);
      }
    }
  }

  #notAnObject(expression: ObjectLiteral, name: string): CelType {
    const named = this.#declarations.identifier(name)!;
    const type = named.kind === 'type' ? named.parameters[0]! : undefined;
    return this.#report(expression, type ? `'${type.name}' is not a message type` : `'${named.name}' is not a type`);
  }

  #comprehension(loop: Comprehension): CelType {
    this.#check(loop.range);
    const accumulator = this.#check(loop.initial);
    const range = this.#substitutions.substitute(this.#types.get(loop.range.id)!, false);
    const [first, second] = this.#loopVariables(loop, range);
    this.#scopes.push(new Map([[loop.accumulator, accumulator]]));
    const variables = new Map([[loop.variable, first]]);
    if (loop.variable2 !== undefined) variables.set(loop.variable2, second);
    this.#scopes.push(variables);
    this.#assertType(loop.condition, boolType);
    this.#assertType(loop.step, accumulator);
    this.#scopes.pop();
    const result = this.#check(loop.result);
    this.#scopes.pop();
    return this.#substitutions.substitute(result, false);
  }

  #assertType(expression: Expression, expected: CelType): void {
    const type = this.#check(expression);
    if (!this.#substitutions.assignable(expected, type)) this.#mismatch(expression, expected, type);
  }

  #loopVariables(loop: Comprehension, range: CelType): readonly [CelType, CelType] {
    const two = loop.variable2 !== undefined;
    switch (range === anyType ? 'opaque' : range.kind) {
      case 'list':
        return two ? [intType, range.parameters[0]!] : [range.parameters[0]!, errorType];
      case 'map':
        return [range.parameters[0]!, range.parameters[1]!];
      case 'dyn':
      case 'error':
      case 'parameter':
        this.#substitutions.assignable(dynType, range);
        return [dynType, dynType];
      default: {
        const allowed = '(must be list, map, or dynamic)';
        this.#report(loop.range, `expression of type '${range}' cannot be range of a comprehension ${allowed}`);
        return [errorType, errorType];
      }
    }
  }
}

function literalType(value: unknown): CelType {
  switch (typeof value) {
    case 'string':
      return stringType;
    case 'bigint':
      return intType;
    case 'number':
      return doubleType;
    case 'boolean':
      return boolType;
    default:
      if (value === null) return nullType;
      return value instanceof CelUint ? uintType : bytesType;
  }
}

/** `a.b.c` of selects from an identifier. */
function qualifiedName(expression: Expression): string | undefined {
  if (expression.kind === 'identifier') return expression.name;
  if (expression.kind !== 'select' || expression.testOnly) return undefined;
  const prefix = qualifiedName(expression.operand);
  return prefix === undefined ? undefined : `${prefix}.${expression.field}`;
}
