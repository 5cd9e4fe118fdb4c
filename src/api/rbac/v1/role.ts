/** Roles: what may be done in one namespace. */
import { nameIsPathSegment } from '../../../apimachinery/names.ts';
import { type Role, roles } from '../../gen/rbac-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateRules } from './rule-validation.ts';

export const roleBehaviour: KindBehaviour<Role> = {
  resource: roles,
  allowCreateOnUpdate: true,
  validateName: nameIsPathSegment,
  validate: ({ rules }) => validateRules(rules, { namespaced: true }),
};
