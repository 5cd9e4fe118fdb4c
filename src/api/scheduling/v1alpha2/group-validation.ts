/**
 * What is refused of PodGroups and of the templates in Workloads. The rules are upstream's declarative ones: what an update leaves
 * as it was is not looked at again, and what may not change is refused before it is judged.
 */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  path,
  required,
  tooMany,
} from '../../../apimachinery/field-error.ts';
import { dns1123Label, dns1123Subdomain, immutableMessage } from '../../../apimachinery/names.ts';
import { validateConditions } from '../../condition-validation.ts';
import { semanticallyEqual } from '../../equality.ts';
import type {
  PodGroup,
  PodGroupResourceClaim,
  PodGroupResourceClaimStatus,
  PodGroupSchedulingPolicy,
  PodGroupSpec,
  PodGroupTemplate,
  PodGroupTemplateReference,
  TypedLocalObjectReference,
  Workload,
} from '../../gen/scheduling-v1alpha2.ts';
import { validateDnsSubdomain, validatePathSegment, validateRequired } from '../../validation.ts';

const mostClaims = 4;
const mostTemplates = 8;

type Rule<T> = (at: FieldPath, value: T, stored: T | undefined) => readonly FieldError[];

interface FieldRule<T> {
  /** The stored value; undefined on creation, where `update` is false too. */
  readonly stored: T | undefined;
  readonly update: boolean;
  readonly immutable?: boolean;
  readonly rule: Rule<NonNullable<T>>;
}

/** One field under the rules that hold for all: unchanged is fine, changed may be too late, absent leaves nothing to judge. */
function field<T>(at: FieldPath, value: T, { stored, update, immutable, rule }: FieldRule<T>): readonly FieldError[] {
  if (update && semanticallyEqual(value, stored)) return [];
  if (update && immutable) return [invalid(at, null, immutableMessage)];
  return value == null ? [] : rule(at, value, stored ?? undefined);
}

export function validatePodGroup({ spec }: PodGroup, previous?: PodGroup): FieldError[] {
  const at = path('spec');
  const stored = previous?.spec;
  const update = previous !== undefined;
  const { podGroupTemplateRef, schedulingPolicy } = spec;
  return [
    ...field(at.child('podGroupTemplateRef'), podGroupTemplateRef, {
      stored: stored?.podGroupTemplateRef,
      update,
      immutable: true,
      rule: validateTemplateReference,
    }),
    ...field(at.child('schedulingPolicy'), schedulingPolicy ?? {}, {
      stored: stored?.schedulingPolicy,
      update,
      immutable: true,
      rule: validatePolicy,
    }),
    ...validateGatedParts(at, spec, stored, { update }),
  ];
}

export function validatePodGroupStatus({ spec, status }: PodGroup, previous: PodGroup): FieldError[] {
  const at = path('status');
  const claims = new Set((spec.resourceClaims ?? []).map(({ name }) => name));
  const claimsAt = at.child('resourceClaimStatuses');
  const claimStatuses = status?.resourceClaimStatuses ?? [];
  const strangers = claimStatuses.flatMap(({ name }, index) =>
    claims.has(name)
      ? []
      : [
          invalid(
            claimsAt.index(index).child('name'),
            name,
            'must match the name of an entry in `spec.resourceClaims`',
          ),
        ],
  );
  return [
    ...validateConditions(at.child('conditions'), status?.conditions ?? []),
    ...strangers,
    ...field(claimsAt, claimStatuses, {
      stored: previous.status?.resourceClaimStatuses ?? [],
      update: true,
      rule: (here, list, stored) => validateNamed(here, list, { most: mostClaims, stored, rule: validateClaimStatus }),
    }),
  ];
}

export function validateWorkload({ spec }: Workload, previous?: Workload): FieldError[] {
  const at = path('spec');
  const stored = previous?.spec;
  const update = previous !== undefined;
  return [
    ...field(at.child('controllerRef'), spec.controllerRef, {
      stored: stored?.controllerRef,
      update,
      immutable: true,
      rule: validateController,
    }),
    ...field(at.child('podGroupTemplates'), spec.podGroupTemplates ?? [], {
      stored: stored?.podGroupTemplates ?? (update ? [] : undefined),
      update,
      immutable: true,
      rule: (here, templates) =>
        templates.length === 0
          ? [required(here)]
          : validateNamed(here, templates, { most: mostTemplates, stored: undefined, rule: validateTemplate }),
    }),
  ];
}

function validateTemplate(at: FieldPath, template: PodGroupTemplate): FieldError[] {
  return [
    ...validateRequired(at.child('name'), template.name, dns1123Label),
    ...validatePolicy(at.child('schedulingPolicy'), template.schedulingPolicy ?? {}),
    ...validateGatedParts(at, template, undefined, { update: false }),
  ];
}

function validateController(at: FieldPath, { apiGroup, kind, name }: TypedLocalObjectReference): FieldError[] {
  return [
    ...(apiGroup ? validateDnsSubdomain(at.child('apiGroup'), apiGroup) : []),
    ...validatePathSegment(at.child('kind'), kind),
    ...validatePathSegment(at.child('name'), name),
  ];
}

function validateTemplateReference(at: FieldPath, { workload }: PodGroupTemplateReference): FieldError[] {
  if (!workload) return validateUnion(at, { workload });
  const here = at.child('workload');
  return [
    ...validateRequired(here.child('workloadName'), workload.workloadName, dns1123Subdomain),
    ...validateRequired(here.child('podGroupTemplateName'), workload.podGroupTemplateName, dns1123Label),
  ];
}

function validatePolicy(at: FieldPath, { basic, gang }: PodGroupSchedulingPolicy): FieldError[] {
  const errors = validateUnion(at, { basic, gang });
  if (!gang) return errors;
  const here = at.child('gang').child('minCount');
  if (!gang.minCount) return [...errors, required(here)];
  return gang.minCount < 1 ? [...errors, invalid(here, gang.minCount, 'must be greater than or equal to 1')] : errors;
}

/** Exactly one of the members is there. */
function validateUnion(at: FieldPath, members: Readonly<Record<string, unknown>>): FieldError[] {
  const all = Object.keys(members);
  const given = all.filter((name) => members[name] != null);
  if (given.length === 1) return [];
  if (given.length === 0) return [invalid(at, '', `must specify one of: ${all.join(', ')}`)];
  return [invalid(at, `{${given.join(', ')}}`, `must specify exactly one of: ${all.join(', ')}`)];
}

type Gated = Pick<
  PodGroupSpec,
  'schedulingConstraints' | 'resourceClaims' | 'disruptionMode' | 'priorityClassName' | 'priority'
>;

/** The parts whose gates are off: they are dropped before they come here, unless they are stored, and then they may not change. */
function validateGatedParts(
  at: FieldPath,
  parts: Gated,
  stored: Gated | undefined,
  { update }: { readonly update: boolean },
): FieldError[] {
  const off = <N extends keyof Gated>(name: N) =>
    field(at.child(name), parts[name], {
      stored: stored?.[name],
      update,
      rule: (here, value) => (value === '' ? [] : [forbidden(here, '')]),
    });
  return [
    ...off('schedulingConstraints'),
    ...field(at.child('resourceClaims'), parts.resourceClaims ?? [], {
      stored: stored?.resourceClaims ?? (update ? [] : undefined),
      update,
      immutable: true,
      rule: (here, claims) => validateNamed(here, claims, { most: mostClaims, stored: undefined, rule: validateClaim }),
    }),
    ...off('disruptionMode'),
    ...off('priorityClassName'),
    ...off('priority'),
  ];
}

function validateClaim(at: FieldPath, claim: PodGroupResourceClaim): FieldError[] {
  const { name, resourceClaimName, resourceClaimTemplateName } = claim;
  const sources = { resourceClaimName, resourceClaimTemplateName };
  return [
    ...validateUnion(at, sources),
    ...validateRequired(at.child('name'), name, dns1123Label),
    ...Object.entries(sources).flatMap(([source, value]) =>
      value == null ? [] : validateDnsSubdomain(at.child(source), value),
    ),
  ];
}

function validateClaimStatus(at: FieldPath, { resourceClaimName }: PodGroupResourceClaimStatus): FieldError[] {
  return resourceClaimName == null ? [] : validateDnsSubdomain(at.child('resourceClaimName'), resourceClaimName);
}

interface ListRule<T> {
  readonly most: number;
  readonly stored: readonly T[] | undefined;
  readonly rule: (at: FieldPath, item: T) => readonly FieldError[];
}

/** A list whose items go by their names; too long a list is not read further. */
function validateNamed<T extends { readonly name: string }>(
  at: FieldPath,
  list: readonly T[],
  { most, stored, rule }: ListRule<T>,
): FieldError[] {
  if (list.length > most) return [tooMany(at, list.length, most)];
  const firsts = new Set<string>();
  const repeated = list.flatMap((item, index) => {
    if (firsts.has(item.name)) return [duplicate(at.index(index), item)];
    firsts.add(item.name);
    return [];
  });
  const errors = list.flatMap((item, index) => {
    const before = stored?.find(({ name }) => name === item.name);
    return before && semanticallyEqual(item, before) ? [] : rule(at.index(index), item);
  });
  return [...repeated, ...errors];
}
