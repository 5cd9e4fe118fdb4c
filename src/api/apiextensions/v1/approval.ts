/** Groups of the Kubernetes community: a definition in one of them says who approved it, or that nobody did. */
import { type FieldError, invalid, path, required } from '../../../apimachinery/field-error.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import { isRequestUri } from '../../../apimachinery/go-url.ts';
import type { CustomResourceDefinition } from '../../gen/apiextensions-v1.ts';

export const approvalAnnotation = 'api-approved.kubernetes.io';

type Approval = 'missing' | 'bypassed' | 'approved' | 'invalid';

function isProtectedGroup(group: string): boolean {
  return ['k8s.io', 'kubernetes.io'].some((domain) => group === domain || group.endsWith(`.${domain}`));
}

function approvalOf({ metadata }: CustomResourceDefinition): Approval {
  const text = metadata.annotations?.[approvalAnnotation] ?? '';
  if (text === '') return 'missing';
  if (text.startsWith('unapproved')) return 'bypassed';
  return isRequestUri(text) && /^[a-zA-Z][a-zA-Z0-9+\-.]*:\/\/[^/?]/.test(text) ? 'approved' : 'invalid';
}

/** Why a definition's approval is not enough; also the message of its condition. */
function approvalProblem(approval: 'missing' | 'invalid'): string {
  const how = approval === 'invalid' ? ' with either a URL or a reason starting with "unapproved"' : '';
  return `protected groups must have approval annotation ${quote(approvalAnnotation)}${how}, see https://github.com/kubernetes/enhancements/pull/1111`;
}

/** What was let in stays: only a change of state is judged. */
export function validateApproval(
  definition: CustomResourceDefinition,
  previous: CustomResourceDefinition | undefined,
): FieldError[] {
  if (!isProtectedGroup(definition.spec.group ?? '')) return [];
  const approval = approvalOf(definition);
  if (previous && approvalOf(previous) === approval) return [];
  const at = path('metadata', 'annotations').key(approvalAnnotation);
  if (approval === 'missing') return [required(at, approvalProblem(approval))];
  if (approval !== 'invalid') return [];
  return [invalid(at, definition.metadata.annotations?.[approvalAnnotation], approvalProblem(approval))];
}
