/** A question to the authorizers as the SubjectAccessReview that says the same: what webhooks are sent, and their conditions look at. */
import type { SubjectAccessReviewSpec } from '../../api/gen/authorization-v1.ts';
import { parseFieldSelector } from '../../apimachinery/fields.ts';
import { type LabelOperator, parseLabelSelector, SelectorError } from '../../apimachinery/labels.ts';
import type { RequestInfo } from '../request.ts';
import type { AuthorizationAttributes } from './authorizer.ts';

export function reviewSpec({ user, info }: AuthorizationAttributes): SubjectAccessReviewSpec {
  const { path, verb } = info;
  return {
    ...(info.isResource
      ? { resourceAttributes: resourceAttributes(info) }
      : { nonResourceAttributes: given({ path, verb }) }),
    ...given({ user: user.name }),
    ...(user.groups.length > 0 ? { groups: user.groups } : {}),
    ...(user.extra ? { extra: user.extra } : {}),
    ...given({ uid: user.uid }),
  };
}

type ResourceAttributes = NonNullable<SubjectAccessReviewSpec['resourceAttributes']>;

function resourceAttributes(info: RequestInfo): ResourceAttributes {
  const { namespace, verb, group, version, resource, subresource, name } = info;
  const fields = fieldRequirements(info.fieldSelector);
  const labels = labelRequirements(info.labelSelector);
  return {
    ...given({ namespace, verb, group, version, resource, subresource, name }),
    ...(fields.length > 0 ? { fieldSelector: { requirements: fields } } : {}),
    ...(labels.length > 0 ? { labelSelector: { requirements: labels } } : {}),
  };
}

/** A selector that cannot be read asks for more, never for less: the question is then about everything. */
function fieldRequirements(text = '') {
  return readable(() =>
    parseFieldSelector(text).requirements.map(({ field, operator, value }) => ({
      key: field,
      operator: operator === '=' ? 'In' : 'NotIn',
      values: [value],
    })),
  );
}

const labelOperators: Readonly<Partial<Record<LabelOperator, string>>> = {
  in: 'In',
  '=': 'In',
  '==': 'In',
  notin: 'NotIn',
  '!=': 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
};

function labelRequirements(text = '') {
  return readable(() =>
    parseLabelSelector(text).requirements.flatMap(({ key, operator, values }) => {
      const name = labelOperators[operator];
      return name === undefined ? [] : [{ key, operator: name, ...(values.length > 0 ? { values } : {}) }];
    }),
  );
}

function readable<T>(parse: () => readonly T[]): readonly T[] {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SelectorError) return [];
    throw error;
  }
}

/** Without what is empty. */
function given<T extends Readonly<Record<string, string | undefined>>>(fields: T): { [K in keyof T]?: string } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value)) as { [K in keyof T]?: string };
}
