/**
 * What the server says of a CustomResourceDefinition: which of its names are its own, whether its resource is served, whether its group
 * may be used at all. Pure functions from definitions to their next status; reasons and messages are upstream's.
 */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionStatus,
} from '../../api/gen/apiextensions-v1.ts';
import { findCondition, isConditionTrue, withCondition } from '../../apimachinery/conditions.ts';
import { aggregate, quote } from '../../apimachinery/go-text.ts';
import { jsonEqual } from '../../apimachinery/patch/merge-patch.ts';

type Condition = CustomResourceDefinitionCondition;

export function hasCondition({ status }: CustomResourceDefinition, type: string): boolean {
  return isConditionTrue(status?.conditions, type);
}

/** Undefined when the status says everything already. `others`: the definitions of the same group. */
export function nextStatus(
  definition: CustomResourceDefinition,
  others: () => readonly CustomResourceDefinition[],
  nowMs: number,
): CustomResourceDefinitionStatus | undefined {
  const status = definition.status ?? {};
  const approval = approvalCondition(definition);
  const named = namedStatus(definition, others, nowMs) ?? establishedStatus(definition, nowMs) ?? status;
  const conditions = approval ? withCondition(named.conditions, approval, nowMs) : named.conditions;
  if (named === status && conditions === status.conditions) return undefined;
  return { ...named, conditions };
}

function namedStatus(
  definition: CustomResourceDefinition,
  others: () => readonly CustomResourceDefinition[],
  nowMs: number,
): CustomResourceDefinitionStatus | undefined {
  const { spec, status = {} } = definition;
  if (jsonEqual(spec.names, status.acceptedNames)) return undefined;
  const { acceptedNames, problem } = acceptNames(spec.names, status.acceptedNames ?? noNames, takenNames(others()));
  const named: Condition = problem
    ? { type: 'NamesAccepted', status: 'False', ...problem }
    : { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' };
  const old = findCondition(status.conditions, 'NamesAccepted');
  const isSame = old?.status === named.status && old.reason === named.reason && old.message === named.message;
  if (isSame && jsonEqual(acceptedNames, status.acceptedNames)) return undefined;
  const conditions = withCondition(status.conditions, named, nowMs);
  return { ...status, acceptedNames, conditions: withCondition(conditions, installing(status, !problem), nowMs) };
}

/** Once established, a definition stays so: later conflicts concern its new names only. */
function installing({ conditions }: CustomResourceDefinitionStatus, accepted: boolean): Condition {
  const old = findCondition(conditions, 'Established');
  if (old?.status === 'True' || (old && !accepted)) return old;
  return accepted
    ? {
        type: 'Established',
        status: 'False',
        reason: 'Installing',
        message: 'the initial names have been accepted',
      }
    : { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
}

function establishedStatus(
  definition: CustomResourceDefinition,
  nowMs: number,
): CustomResourceDefinitionStatus | undefined {
  if (!hasCondition(definition, 'NamesAccepted') || hasCondition(definition, 'Established')) return undefined;
  const { status = {}, spec } = definition;
  const condition: Condition = hasBrokenBundle(spec.conversion?.webhook?.clientConfig?.caBundle)
    ? {
        type: 'Established',
        status: 'False',
        reason: 'InvalidCABundle',
        message: 'The conversion webhook CABundle is invalid',
      }
    : {
        type: 'Established',
        status: 'True',
        reason: 'InitialNamesAccepted',
        message: 'the initial names have been accepted',
      };
  const conditions = withCondition(status.conditions, condition, nowMs);
  return conditions === status.conditions ? undefined : { ...status, conditions };
}

/** Whether something is there that holds no certificate. */
function hasBrokenBundle(bundle: string | undefined): boolean {
  if (!bundle) return false;
  const text = Buffer.from(bundle, 'base64').toString('latin1');
  return text.trim() !== '' && !text.includes('-----BEGIN CERTIFICATE-----');
}

interface Taken {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

const noNames: CustomResourceDefinitionNames = { plural: '', kind: '' };

function takenNames(others: readonly CustomResourceDefinition[]): Taken {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { status } of others) {
    const { plural, singular, shortNames = [], kind, listKind } = status?.acceptedNames ?? noNames;
    for (const name of [plural, singular, ...shortNames]) if (name) resources.add(name);
    for (const name of [kind, listKind]) if (name) kinds.add(name);
  }
  return { resources, kinds };
}

/** The names that are taken over, and the last of the conflicts, as upstream reports them. */
function acceptNames(
  wanted: CustomResourceDefinitionNames,
  accepted: CustomResourceDefinitionNames,
  { resources, kinds }: Taken,
) {
  let problem: { readonly reason: string; readonly message: string } | undefined;
  const isFree = (name: string | undefined, old: string | undefined, taken: ReadonlySet<string>) =>
    (name ?? '') === (old ?? '') || !taken.has(name ?? '');
  const inUse = (name: string | undefined) => `${quote(name ?? '')} is already in use`;
  const settle = (field: 'plural' | 'singular' | 'kind' | 'listKind', reason: string, taken: ReadonlySet<string>) => {
    if (isFree(wanted[field], accepted[field], taken)) return wanted[field];
    problem = { reason, message: inUse(wanted[field]) };
    return accepted[field];
  };
  const plural = settle('plural', 'PluralConflict', resources) ?? '';
  const singular = settle('singular', 'SingularConflict', resources);
  const conflicts = (wanted.shortNames ?? []).filter(
    (name) => !accepted.shortNames?.includes(name) && resources.has(name),
  );
  if (conflicts.length > 0) problem = { reason: 'ShortNamesConflict', message: aggregate(conflicts.map(inUse)) };
  const shortNames = conflicts.length > 0 ? accepted.shortNames : wanted.shortNames;
  const kind = settle('kind', 'KindConflict', kinds) ?? '';
  const listKind = settle('listKind', 'ListKindConflict', kinds);
  const { categories } = wanted;
  const acceptedNames: CustomResourceDefinitionNames = {
    plural,
    ...(singular === undefined ? {} : { singular }),
    ...(shortNames ? { shortNames } : {}),
    kind,
    ...(listKind === undefined ? {} : { listKind }),
    ...(categories ? { categories } : {}),
  };
  return { acceptedNames, problem };
}

const approvalAnnotation = 'api-approved.kubernetes.io';
const approvalPage = 'see https://github.com/kubernetes/enhancements/pull/1111';

/** Groups of the community need its approval, which an annotation tells. */
function approvalCondition({ metadata, spec }: CustomResourceDefinition): Condition | undefined {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(spec.group)) return undefined;
  const type = 'KubernetesAPIApprovalPolicyConformant';
  const needed = `protected groups must have approval annotation ${quote(approvalAnnotation)}`;
  const annotation = metadata.annotations?.[approvalAnnotation] ?? '';
  if (annotation === '') {
    return { type, status: 'False', reason: 'MissingAnnotation', message: `${needed}, ${approvalPage}` };
  }
  if (annotation.startsWith('unapproved')) {
    return { type, status: 'False', reason: 'UnapprovedAnnotation', message: `not approved: ${quote(annotation)}` };
  }
  if (URL.parse(annotation)?.host) {
    return { type, status: 'True', reason: 'ApprovedAnnotation', message: `approved in ${annotation}` };
  }
  const message = `${needed} with either a URL or a reason starting with "unapproved", ${approvalPage}`;
  return { type, status: 'False', reason: 'InvalidAnnotation', message };
}
