/** Counts that the statuses of all replicated kinds report: none is negative, none exceeds the whole. */
import { type FieldError, type FieldPath, invalid, path } from '../../../apimachinery/field-error.ts';
import { validateNonNegative } from '../../validation.ts';

type Counts = Readonly<Record<string, unknown>>;

/** `atMostReplicas` may not exceed `status.replicas`; available ones are ready ones. */
export function validateReplicaCounts(
  status: object,
  fields: {
    readonly counts: readonly string[];
    readonly atMostReplicas: readonly string[];
    readonly readyName?: string;
  },
): FieldError[] {
  const at = path('status');
  const counts = status as Counts;
  const errors = validateCounts(at, status, fields.counts);
  const replicas = countOf(counts, 'replicas');
  for (const field of fields.atMostReplicas) {
    const count = countOf(counts, field);
    if (count > replicas) errors.push(invalid(at.child(field), count, 'cannot be greater than status.replicas'));
  }
  const available = countOf(counts, 'availableReplicas');
  if (available > countOf(counts, 'readyReplicas')) {
    const message = `cannot be greater than ${fields.readyName ?? 'readyReplicas'}`;
    errors.push(invalid(at.child('availableReplicas'), available, message));
  }
  return errors;
}

export function validateCounts(at: FieldPath, status: object, fields: readonly string[]): FieldError[] {
  return fields.flatMap((field) => validateNonNegative(at.child(field), countOf(status as Counts, field)));
}

/** The count of hash collisions only grows: names made with it must not come again. */
export function validateCollisionCount(
  next: { readonly collisionCount?: number | undefined } | undefined,
  previous: { readonly collisionCount?: number | undefined } | undefined,
): FieldError[] {
  if (previous?.collisionCount == null || (next?.collisionCount ?? -1) >= previous.collisionCount) return [];
  return [invalid(path('status', 'collisionCount'), next?.collisionCount ?? 0, 'cannot be decremented')];
}

function countOf(counts: Counts, field: string): number {
  const count = counts[field];
  return typeof count === 'number' ? count : 0;
}
