/** The refusal of an apply: which fields others have, and who they are, in upstream's words. */
import { quote } from '../go-text.ts';
import { applyConflict, type StatusError } from '../status.ts';
import { pathsOf } from './field-set.ts';
import type { Manager } from './managers.ts';
import type { Conflict } from './ownership.ts';

/**
 * `Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas`; several are listed by manager. Each field is
 * a cause of its own.
 */
export function conflictError(conflicts: readonly Conflict[]): StatusError {
  const found = conflicts.map(({ manager, fields }) => ({ who: managerText(manager), paths: pathsOf(fields) }));
  const causes = found.flatMap(({ who, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
  );
  const [first] = causes;
  if (first && causes.length === 1) {
    return applyConflict(causes, `Apply failed with 1 conflict: ${first.message}: ${first.field}`);
  }
  const lines = found.flatMap(({ who, paths }) => [`conflicts with ${who}:`, ...paths.map((path) => `- ${path}`)]);
  return applyConflict(causes, `Apply failed with ${causes.length} conflicts: ${lines.join('\n')}`);
}

function managerText({ manager, operation, apiVersion, subresource }: Manager): string {
  const who = subresource === '' ? quote(manager) : `${quote(manager)} with subresource ${quote(subresource)}`;
  return operation === 'Update' ? `${who} using ${apiVersion}` : who;
}
