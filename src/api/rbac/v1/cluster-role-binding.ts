/** ClusterRoleBindings: who has which role, everywhere. */
import { nameIsPathSegment } from '../../../apimachinery/names.ts';
import { type ClusterRoleBinding, clusterRoleBindings } from '../../gen/rbac-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { bindingColumns } from './binding-columns.ts';
import { defaultBinding, validateBinding, validateSameRole } from './rule-validation.ts';

export const clusterRoleBindingBehaviour: KindBehaviour<ClusterRoleBinding> = {
  resource: clusterRoleBindings,
  defaults: defaultBinding,
  allowCreateOnUpdate: true,
  validateName: nameIsPathSegment,
  validate: (binding) => validateBinding(binding, { namespaced: false }),
  validateUpdate: (binding, previous) => [
    ...validateBinding(binding, { namespaced: false }),
    ...validateSameRole(binding, previous),
  ],
  columns: bindingColumns('clusterRoleBinding'),
};
