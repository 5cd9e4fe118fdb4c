/**
 * The expressions of a policy checked against the kinds that its rules name. Only kinds of the tables have types here; what is named by a star,
 * and custom resources, could be anything.
 */
import { PolicyCompiler, type VariableTypes } from '../../api/admissionregistration/expressions/compile.ts';
import type {
  ExpressionWarning,
  NamedRuleWithOperations,
  ParamKind,
  ValidatingAdmissionPolicy,
} from '../../api/gen/admissionregistration-v1.ts';
import { builtinResources, builtinSchema } from '../../api/schema.ts';
import type { CelType } from '../../apimachinery/cel/index.ts';
import { BuiltInTypes } from '../../apimachinery/cel/kubernetes/built-in-types.ts';
import { apiVersionOf, type GroupVersionKind } from '../../apimachinery/resource.ts';
import type { ResourceRow } from '../../apimachinery/schema.ts';

/** Of each rule, as upstream. */
const mostKinds = 10;

/** In the order of the expressions; empty for a policy whose expressions fit. */
export function typeCheckWarnings(policy: ValidatingAdmissionPolicy): readonly ExpressionWarning[] {
  const { validations = [], matchConstraints, paramKind } = policy.spec;
  const types = new BuiltInTypes();
  const params = paramKind && typeOfKind(types, paramKind);
  const checked = kindsOf(matchConstraints?.resourceRules ?? []).map((row) => {
    const object = types.of(builtinSchema().type(row.type));
    return { row, compiler: compilerFor(policy, { object, oldObject: object, ...(params ? { params } : {}) }) };
  });
  const scope = { params: paramKind !== undefined, authorizer: true };
  const warningFor = (fieldRef: string, expression: string): readonly ExpressionWarning[] => {
    const texts = checked.flatMap(({ row, compiler }) => {
      const problem = compiler.check(expression, scope);
      return problem === undefined ? [] : [`${kindText(row)}: ${problem}\n`];
    });
    return texts.length === 0 ? [] : [{ fieldRef, warning: texts.join('\n') }];
  };
  return validations.flatMap(({ expression, messageExpression }, index) => [
    ...warningFor(`spec.validations[${index}].expression`, expression),
    ...(messageExpression ? warningFor(`spec.validations[${index}].messageExpression`, messageExpression) : []),
  ]);
}

function compilerFor({ spec }: ValidatingAdmissionPolicy, types: VariableTypes): PolicyCompiler {
  const compiler = new PolicyCompiler(types);
  const scope = { params: spec.paramKind !== undefined, authorizer: true };
  for (const { name, expression } of spec.variables ?? []) compiler.addVariable(name, expression, scope);
  return compiler;
}

function typeOfKind(types: BuiltInTypes, { apiVersion = '', kind = '' }: ParamKind): CelType | undefined {
  const schema = builtinSchema().typeOf(apiVersion, kind);
  return schema && types.of(schema);
}

/** Each once, by group, version and kind. */
function kindsOf(rules: readonly NamedRuleWithOperations[]): readonly ResourceRow[] {
  const found = new Set(rules.flatMap((rule) => rowsOf(rule).slice(0, mostKinds)));
  return [...found].sort(
    (a, b) => compare(a.group, b.group) || compare(a.version, b.version) || compare(a.kind, b.kind),
  );
}

/** None where a group or version is a star. */
function rowsOf({ apiGroups = [], apiVersions = [], resources = [] }: NamedRuleWithOperations): readonly ResourceRow[] {
  const groups = new Set(apiGroups);
  const versions = new Set(apiVersions);
  const names = new Set(resources);
  if (groups.has('*') || versions.has('*')) return [];
  return builtinResources().filter(
    (row) => groups.has(row.group) && versions.has(row.version) && names.has(row.resource),
  );
}

/** `apps/v1, Kind=Deployment`; the core group is empty before the slash. */
function kindText(row: GroupVersionKind): string {
  const groupVersion = row.group === '' ? `/${row.version}` : apiVersionOf(row);
  return `${groupVersion}, Kind=${row.kind}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
