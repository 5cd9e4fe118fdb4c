/** ControllerRevisions: states that a controller may go back to; what is written once stays. */
import { type FieldError, path, required } from '../../../apimachinery/field-error.ts';
import { controllerOf } from '../../../apimachinery/meta.ts';
import { parseApiVersion } from '../../../apimachinery/resource.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { type ControllerRevision, controllerRevisions } from '../../gen/apps-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateImmutable, validateNonNegative } from '../../validation.ts';

export const controllerRevisionBehaviour: KindBehaviour<ControllerRevision> = {
  resource: controllerRevisions,
  countsGeneration: false,
  validate: (revision) => [...validateRevision(revision), ...validateData(revision.data)],
  validateUpdate: (revision, previous) => [
    ...validateRevision(revision),
    ...validateImmutable(path('data'), revision.data, previous.data),
  ],
  columns: [
    nameColumn,
    text('Controller', controllerText, { description: 'Controller of the object' }),
    text('Revision', ({ revision }) => revision ?? 0),
    ageColumn,
  ],
};

function validateRevision({ revision }: ControllerRevision): FieldError[] {
  return validateNonNegative(path('revision'), revision);
}

function validateData(data: unknown): FieldError[] {
  if (data === undefined || data === null) return [required(path('data'), 'data is mandatory')];
  if (typeof data !== 'object' || Array.isArray(data))
    return [required(path('data'), 'data must be a valid JSON object')];
  return [];
}

function controllerText(revision: ControllerRevision): string {
  const owner = controllerOf(revision);
  if (!owner) return '<none>';
  const { group } = parseApiVersion(owner.apiVersion);
  return `${(group ? `${owner.kind}.${group}` : owner.kind).toLowerCase()}/${owner.name}`;
}
