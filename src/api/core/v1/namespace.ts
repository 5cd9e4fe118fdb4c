/** Namespaces: rooms for names. One that is being deleted stays until it is empty. */
import { type FieldError, type FieldPath, invalid, path } from '../../../apimachinery/field-error.ts';
import { type Draft, draft } from '../../../apimachinery/meta.ts';
import { nameIsDnsLabel } from '../../../apimachinery/names.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { fillEmpty, partOf } from '../../defaulting.ts';
import { type Namespace, namespaces } from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateQualifiedName } from '../../validation.ts';

/** The finalizer that keeps a namespace until its contents are gone. */
export const namespaceFinalizer = 'kubernetes';
const nameLabel = 'kubernetes.io/metadata.name';
const standardFinalizers: ReadonlySet<string> = new Set([namespaceFinalizer, 'orphan', 'foregroundDeletion']);

export const namespaceBehaviour: KindBehaviour<Namespace> = {
  resource: namespaces,
  defaults(namespace: Draft<Namespace>) {
    partOf(namespace, 'spec');
    if (namespace.metadata.name) partOf(namespace.metadata, 'labels')[nameLabel] = namespace.metadata.name;
    fillEmpty(partOf(namespace, 'status'), 'phase', 'Active');
  },
  validateName: nameIsDnsLabel,
  prepareForCreate(namespace) {
    namespace.status = { phase: 'Active' };
    // A generated name is known only now.
    if (namespace.metadata.name) partOf(namespace.metadata, 'labels')[nameLabel] = namespace.metadata.name;
    const finalizers = partOf(namespace, 'spec').finalizers ?? [];
    if (!finalizers.includes(namespaceFinalizer)) namespace.spec.finalizers = [...finalizers, namespaceFinalizer];
  },
  prepareForUpdate(namespace, previous) {
    keepFinalizers(namespace, previous);
  },
  validate: ({ spec }) =>
    (spec.finalizers ?? []).flatMap((name) => validateFinalizer(path('spec', 'finalizers'), name)),
  validateUpdate: () => [],
  subresources: {
    status: { validateUpdate: validateStatus },
    finalize: {
      prepareForUpdate(namespace, previous) {
        if (previous.status) namespace.status = draft(previous.status);
      },
      validateUpdate: ({ spec }) =>
        (spec.finalizers ?? []).flatMap((name, index) =>
          validateFinalizer(path('spec', 'finalizers').index(index), name),
        ),
    },
  },
  columns: [
    nameColumn,
    text('Status', ({ status }) => status?.phase ?? '', { description: 'The status of the namespace' }),
    ageColumn,
  ],
};

function keepFinalizers(namespace: Draft<Namespace>, previous: Namespace): void {
  const stored = previous.spec?.finalizers;
  if (stored) partOf(namespace, 'spec').finalizers = [...stored];
  else delete partOf(namespace, 'spec').finalizers;
}

function validateFinalizer(at: FieldPath, name: string): FieldError[] {
  const errors = validateQualifiedName(at, name);
  if (name.includes('/') || standardFinalizers.has(name)) return errors;
  const message = 'name is neither a standard finalizer name nor is it fully qualified';
  return [...errors, invalid(at, name, message)];
}

/** The phase says whether the namespace is being deleted, no more and no less. */
function validateStatus({ metadata, status }: Namespace): FieldError[] {
  const at = path('status', 'Phase');
  const phase = status?.phase ?? '';
  if (metadata.deletionTimestamp == null) {
    return phase === 'Active' ? [] : [invalid(at, phase, "may only be 'Active' if `deletionTimestamp` is empty")];
  }
  if (phase === 'Terminating') return [];
  return [invalid(at, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")];
}
