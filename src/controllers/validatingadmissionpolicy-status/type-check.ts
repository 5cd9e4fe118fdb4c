/**
 * The expressions of a policy checked against the kinds that its rules name. What is named by a star could be anything, and a kind whose
 * type cannot be learned is passed over: the check never stands in a policy's way.
 */
import { PolicyCompiler, type VariableTypes } from '../../api/admissionregistration/expressions/compile.ts';
import type {
  ExpressionWarning,
  NamedRuleWithOperations,
  ParamKind,
  ValidatingAdmissionPolicy,
} from '../../api/gen/admissionregistration-v1.ts';
import type { CelType } from '../../apimachinery/cel/index.ts';
import { apiVersionOf, type GroupVersionKind, parseApiVersion } from '../../apimachinery/resource.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Log } from '../../base/log.ts';
import type { KindTypes } from './kind-types.ts';

/** As upstream: a rule that names more ends the search. */
const mostKinds = 10;

/** In the order of the expressions; empty for a policy whose expressions fit. */
export async function typeCheckWarnings(
  policy: ValidatingAdmissionPolicy,
  types: KindTypes,
  log: Log,
): Promise<readonly ExpressionWarning[]> {
  const { validations = [], matchConstraints, paramKind } = policy.spec;
  const known = (kind: GroupVersionKind) =>
    types.typeOf(kind).catch((error) => {
      log.debug('the type of a kind cannot be learned', { kind: kindText(kind), error: messageOf(error) });
      return undefined;
    });
  const params = paramKind && (await known(kindOfParams(paramKind)));
  const checked: { readonly kind: GroupVersionKind; readonly compiler: PolicyCompiler }[] = [];
  for (const kind of await kindsOf(matchConstraints?.resourceRules ?? [], types)) {
    const object = await known(kind);
    if (object) checked.push({ kind, compiler: compilerFor(policy, typesOfVariables(object, params)) });
  }
  const scope = { params: paramKind !== undefined, authorizer: true };
  const warningFor = (fieldRef: string, expression: string): readonly ExpressionWarning[] => {
    const texts = checked.flatMap(({ kind, compiler }) => {
      const problem = compiler.check(expression, scope);
      return problem === undefined ? [] : [`${kindText(kind)}: ${problem}\n`];
    });
    return texts.length === 0 ? [] : [{ fieldRef, warning: texts.join('\n') }];
  };
  return validations.flatMap(({ expression, messageExpression }, index) => [
    ...warningFor(`spec.validations[${index}].expression`, expression),
    ...(messageExpression ? warningFor(`spec.validations[${index}].messageExpression`, messageExpression) : []),
  ]);
}

function typesOfVariables(object: CelType, params: CelType | undefined): VariableTypes {
  return { object, oldObject: object, ...(params ? { params } : {}) };
}

function compilerFor({ spec }: ValidatingAdmissionPolicy, types: VariableTypes): PolicyCompiler {
  const compiler = new PolicyCompiler(types);
  const scope = { params: spec.paramKind !== undefined, authorizer: true };
  for (const { name, expression } of spec.variables ?? []) compiler.addVariable(name, expression, scope);
  return compiler;
}

function kindOfParams({ apiVersion = '', kind = '' }: ParamKind): GroupVersionKind {
  return { ...parseApiVersion(apiVersion), kind };
}

/** Each once, by group, version and kind. */
async function kindsOf(
  rules: readonly NamedRuleWithOperations[],
  types: KindTypes,
): Promise<readonly GroupVersionKind[]> {
  const found = new Map<string, GroupVersionKind>();
  for (const rule of rules) {
    let count = 0;
    for (const resource of resourcesOf(rule)) {
      for (const { group, version, kind } of await types.kindsOf(resource)) {
        found.set(`${group}/${version}/${kind}`, { group, version, kind });
        count++;
        if (count === mostKinds) return inOrder(found.values());
      }
    }
  }
  return inOrder(found.values());
}

/** None where a group or version is a star; subresources have no kinds of their own here. */
function resourcesOf({ apiGroups = [], apiVersions = [], resources = [] }: NamedRuleWithOperations) {
  if ([...apiGroups, ...apiVersions].some((name) => name.includes('*'))) return [];
  const names = resources.filter((name) => !/[*/]/.test(name)).sort(compare);
  return [...apiGroups]
    .sort(compare)
    .flatMap((group) =>
      [...apiVersions].sort(compare).flatMap((version) => names.map((resource) => ({ group, version, resource }))),
    );
}

function inOrder(kinds: Iterable<GroupVersionKind>): readonly GroupVersionKind[] {
  return [...kinds].sort(
    (a, b) => compare(a.group, b.group) || compare(a.version, b.version) || compare(a.kind, b.kind),
  );
}

/** `apps/v1, Kind=Deployment`; the core group is empty before the slash. */
function kindText(kind: GroupVersionKind): string {
  const groupVersion = kind.group === '' ? `/${kind.version}` : apiVersionOf(kind);
  return `${groupVersion}, Kind=${kind.kind}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
