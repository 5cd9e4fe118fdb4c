/** Templates of Pods in the specs of controllers, and how a controller's selector must fit its template. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/field-error.ts';
import type { LabelSelector } from '../../../apimachinery/gen/meta-v1.ts';
import { labelMatcherOf, SelectorError, validateLabelSelector, validateLabels } from '../../../apimachinery/labels.ts';
import type { PodTemplateSpec } from '../../gen/core-v1.ts';
import { validateAnnotations } from '../../metadata-validation.ts';
import { validatePodAnnotations, validateProfileAnnotations } from './pod-annotation-validation.ts';
import { validatePodSpec } from './pod-spec-validation.ts';

export function validatePodTemplate(at: FieldPath, { metadata, spec }: PodTemplateSpec): FieldError[] {
  const errors = [
    ...validateLabels(metadata?.labels, at.child('labels')),
    ...validateAnnotations(at.child('annotations'), metadata?.annotations),
    ...validatePodAnnotations(at.child('annotations'), metadata?.annotations, spec),
    ...validatePodSpec(at.child('spec'), spec),
    ...validateProfileAnnotations(at.child('spec'), metadata?.annotations, spec),
  ];
  if (spec.ephemeralContainers?.length) {
    errors.push(forbidden(at.child('spec', 'ephemeralContainers'), 'ephemeral containers not allowed in pod template'));
  }
  return errors;
}

/** `kind` as the messages name it. A selector that is missing or asks nothing would take every Pod. */
export function validateSelector(at: FieldPath, selector: LabelSelector | undefined, kind: string): FieldError[] {
  if (!selector) return [required(at)];
  const errors = validateLabelSelector(selector, at);
  return selectsAll(selector) ? [...errors, invalid(at, selector, `empty selector is invalid for ${kind}`)] : errors;
}

export function selectsAll({ matchLabels, matchExpressions }: LabelSelector): boolean {
  return Object.keys(matchLabels ?? {}).length + (matchExpressions?.length ?? 0) === 0;
}

/** Whether a selector takes these labels; undefined when it cannot be understood. An absent selector takes nothing. */
export function selectorMatches(
  selector: LabelSelector | undefined,
  labels: Readonly<Record<string, string>> | undefined,
): boolean | undefined {
  try {
    return labelMatcherOf(selector).matches(labels);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}

/** A controller must select what it makes, or it makes Pods for ever. */
export function validateTemplateLabels(at: FieldPath, { metadata }: PodTemplateSpec): FieldError {
  return invalid(
    at.child('metadata', 'labels'),
    metadata?.labels ?? null,
    '`selector` does not match template `labels`',
  );
}

/** What runs for ever restarts always, and has no deadline. `kind` is the controller's. */
export function validateEndlessTemplate(at: FieldPath, { spec }: PodTemplateSpec, kind: string): FieldError[] {
  const errors: FieldError[] = [];
  if (spec.restartPolicy !== 'Always') {
    errors.push(notSupported(at.child('spec', 'restartPolicy'), spec.restartPolicy ?? '', ['Always']));
  }
  if (spec.activeDeadlineSeconds != null) {
    const message = `activeDeadlineSeconds in ${kind} is not Supported`;
    errors.push(forbidden(at.child('spec', 'activeDeadlineSeconds'), message));
  }
  return errors;
}
