/** RoleBindings: who has which role, in one namespace. */
import { nameIsPathSegment } from '../../../apimachinery/names.ts';
import { type RoleBinding, roleBindings } from '../../gen/rbac-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { bindingColumns } from './binding-columns.ts';
import { defaultBinding, validateBinding, validateSameRole } from './rule-validation.ts';

export const roleBindingBehaviour: KindBehaviour<RoleBinding> = {
  resource: roleBindings,
  defaults: defaultBinding,
  allowCreateOnUpdate: true,
  validateName: nameIsPathSegment,
  validate: (binding) => validateBinding(binding, { namespaced: true }),
  validateUpdate: (binding, previous) => [
    ...validateBinding(binding, { namespaced: true }),
    ...validateSameRole(binding, previous),
  ],
  columns: bindingColumns('roleBinding'),
};
