/**
 * The rules of one place of a schema (`x-kubernetes-validations`), compiled: ready to run, with what each may cost and what is wrong
 * with it, in upstream's words. Whether a rule may stand where it stands is judged by `rule-validation.ts`.
 */
import type { StructuralSchema, ValidationRule } from '../../structural-schema/schema.ts';
import { type CelType, type Compilation, optionalOf, type Program } from '../index.ts';
import { baseEnvironment, type ExpressionAge } from '../library/environment.ts';
import { type DeclaredType, declaredSize, maxRequestSizeBytes } from './declared-type.ts';
import { resolveFieldPath } from './rule-field-path.ts';

export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Absent for a blank rule and for one with an `error`. */
  readonly program?: Program;
  readonly error?: string;
  readonly usesOldSelf: boolean;
  /** The most that running it once can cost. */
  readonly maxCost: number;
  /** How often values of this place can occur in one request. */
  readonly maxCardinality: number;
  readonly message?: Program;
  readonly messageError?: string;
  readonly messageMaxCost: number;
  /** Where below the value its errors are reported; empty for the value itself. */
  readonly fieldPath: string;
}

/** Whether an expression is new or was accepted before, maybe by a later release. */
export type AgeOf = (expression: string) => ExpressionAge;

export function compileRules(schema: StructuralSchema, declared: DeclaredType, ageOf: AgeOf): CompiledRule[] {
  const maxCardinality = Math.floor(maxRequestSizeBytes / (declared.minSerializedSize + 1));
  return schema.rules.map((rule) => ({ ...compileRule(rule, { schema, declared, ageOf }), maxCardinality }));
}

interface Place {
  readonly schema: StructuralSchema;
  readonly declared: DeclaredType;
  readonly ageOf: AgeOf;
}

type WithoutCardinality = Omit<CompiledRule, 'maxCardinality'>;

function compileRule(rule: ValidationRule, place: Place): WithoutCardinality {
  const blank = { rule, usesOldSelf: false, maxCost: 0, messageMaxCost: 0, fieldPath: '' };
  if (rule.rule.trim() === '') return blank;
  const compiled = compile(rule.rule, rule, place);
  if (!compiled.program) return { ...blank, error: failure(compiled, '') };
  if (compiled.program.resultType.kind !== 'bool') return { ...blank, error: 'cel expression must evaluate to a bool' };
  return {
    ...blank,
    program: compiled.program,
    usesOldSelf: compiled.program.uses('oldSelf'),
    maxCost: mostCost(compiled.program, place),
    ...compileMessage(rule, place),
    fieldPath: normalizedPath(rule.fieldPath, place.schema),
  };
}

function compileMessage(rule: ValidationRule, place: Place): Partial<WithoutCardinality> {
  const { messageExpression = '' } = rule;
  if (messageExpression === '') return {};
  const compiled = compile(messageExpression, rule, place);
  if (!compiled.program) return { messageError: failure(compiled, 'messageExpression ') };
  if (compiled.program.resultType.kind !== 'string')
    return { messageError: 'messageExpression must evaluate to a string' };
  return { message: compiled.program, messageMaxCost: mostCost(compiled.program, place) };
}

function compile(expression: string, rule: ValidationRule, { declared, ageOf }: Place): Compilation {
  const self = declared.type;
  const oldSelf: CelType = rule.optionalOldSelf === true ? optionalOf(self) : self;
  return baseEnvironment(ageOf(expression)).extend({ variables: { self, oldSelf } }).compile(expression);
}

/** An expression that can only fail is found to when its program is made, not when it is compiled. */
function failure(compiled: Compilation & { readonly program: undefined }, of: '' | 'messageExpression '): string {
  if (!compiled.failsAlways) return `${of}compilation failed: ${compiled.text}`;
  return `${of === '' ? 'program ' : of}instantiation failed: ${compiled.text}`;
}

function mostCost(program: Program, { declared }: Place): number {
  return program.estimate(({ path }) => (path && path.length > 0 ? declaredSize(declared, path.slice(1)) : undefined))
    .max;
}

function normalizedPath(fieldPath: string | undefined, schema: StructuralSchema): string {
  if (fieldPath === undefined || fieldPath === '') return '';
  try {
    return resolveFieldPath(fieldPath, schema).toString();
  } catch {
    // A path that leads nowhere was refused with the schema; an older one is overlooked.
    return '';
  }
}
