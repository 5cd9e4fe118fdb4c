/** ClusterRoles: what may be done everywhere, or in any namespace; some are put together from others. */
import { type FieldError, invalid, path, required } from '../../../apimachinery/field-error.ts';
import { validateLabelSelector } from '../../../apimachinery/labels.ts';
import { nameIsPathSegment } from '../../../apimachinery/names.ts';
import { type ClusterRole, clusterRoles } from '../../gen/rbac-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateRules } from './rule-validation.ts';

export const clusterRoleBehaviour: KindBehaviour<ClusterRole> = {
  resource: clusterRoles,
  allowCreateOnUpdate: true,
  validateName: nameIsPathSegment,
  validate: (role) => [...validateRules(role.rules, { namespaced: false }), ...validateAggregation(role)],
};

function validateAggregation({ aggregationRule }: ClusterRole): FieldError[] {
  if (!aggregationRule) return [];
  const at = path('aggregationRule', 'clusterRoleSelectors');
  const selectors = aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length === 0) {
    return [required(at, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  }
  return selectors.flatMap((selector, index) => {
    const here = at.index(index);
    const errors = validateLabelSelector(selector, here);
    return errors.length === 0 ? [] : [...errors, invalid(here, null, 'invalid label selector.')];
  });
}
