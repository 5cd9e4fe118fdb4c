/** Columns of bindings of both scopes: to what, and to whom. */
import { ageColumn, nameColumn, text } from '../../columns.ts';
import type { ClusterRoleBinding, RoleBinding, Subject } from '../../gen/rbac-v1.ts';
import type { Column } from '../../kind.ts';

type Binding = RoleBinding | ClusterRoleBinding;

/** `kind` as the descriptions write it. */
export function bindingColumns(kind: 'roleBinding' | 'clusterRoleBinding'): readonly Column<Binding>[] {
  const subjects = (wanted: string, name: (subject: Subject) => string) => (binding: Binding) =>
    (binding.subjects ?? [])
      .filter((subject) => subject.kind === wanted)
      .map(name)
      .join(', ');
  const plain = ({ name }: Subject) => name;
  const wide = (what: string) => ({ description: `${what} in the ${kind}`, wide: true });
  return [
    nameColumn,
    text('Role', ({ roleRef }) => `${roleRef.kind}/${roleRef.name}`),
    ageColumn,
    text('Users', subjects('User', plain), wide('Users')),
    text('Groups', subjects('Group', plain), wide('Groups')),
    text(
      'ServiceAccounts',
      subjects('ServiceAccount', ({ namespace, name }) => `${namespace ?? ''}/${name}`),
      wide('ServiceAccounts'),
    ),
  ];
}
