/** Annotations of Pods that once were the only place for a setting and still bind: profiles, tolerations, deletion cost. */
import { type FieldError, type FieldPath, forbidden, invalid } from '../../../apimachinery/field-error.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import type { PodSpec, SeccompProfile, Toleration } from '../../gen/core-v1.ts';
import { entriesOf, largestInt32 } from '../../validation.ts';
import { mirrorPodAnnotation } from './mirror-pod.ts';
import { validateDescendingPath } from './paths.ts';
import { validateTolerations } from './scheduling-validation.ts';
import { forEachContainer } from './security-validation.ts';

type Annotations = Readonly<Record<string, string>> | undefined;

const deletionCost = 'controller.kubernetes.io/pod-deletion-cost';
const tolerationsKey = 'scheduler.alpha.kubernetes.io/tolerations';
const seccompPod = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainer = 'container.seccomp.security.alpha.kubernetes.io/';
const appArmorContainer = 'container.apparmor.security.beta.kubernetes.io/';

export function validatePodAnnotations(at: FieldPath, annotations: Annotations, spec: PodSpec): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of entriesOf(annotations)) {
    const here = at.key(key);
    if (key === mirrorPodAnnotation && !spec.nodeName) {
      errors.push(invalid(here, value, 'must set spec.nodeName if mirror pod annotation is set'));
    } else if (key === tolerationsKey && value !== '') errors.push(...validateTolerationsText(at, value));
    else if (key === deletionCost && !isDeletionCost(value)) {
      errors.push(invalid(here, value, 'must be a 32bit integer'));
    } else if (key === seccompPod || key.startsWith(seccompContainer)) {
      errors.push(...validateSeccompText(at.child(key), value));
    } else if (key.startsWith(appArmorContainer)) {
      const name = key.slice(appArmorContainer.length);
      if (!hasContainer(spec, name)) errors.push(invalid(here, name, 'container not found'));
      const known = value === '' || value === 'runtime/default' || value === 'unconfined';
      if (!known && !value.startsWith('localhost/')) {
        errors.push(invalid(here, value, `invalid AppArmor profile name: ${quote(value)}`));
      }
    }
  }
  return errors;
}

/** Empty, or a number without a sign of plus and without leading zeros. */
function isDeletionCost(text: string): boolean {
  if (!/^(0|-?[1-9][0-9]*)$/.test(text)) return false;
  const cost = Number(text);
  return cost >= -largestInt32 - 1 && cost <= largestInt32;
}

function validateTolerationsText(at: FieldPath, text: string): FieldError[] {
  try {
    return validateTolerations(at.child(tolerationsKey), JSON.parse(text) as readonly Toleration[]);
  } catch (error) {
    return [invalid(at, tolerationsKey, error instanceof Error ? error.message : String(error))];
  }
}

function validateSeccompText(at: FieldPath, profile: string): FieldError[] {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(profile)) return [];
  if (profile.startsWith('localhost/')) return validateDescendingPath(at, profile.slice('localhost/'.length));
  return [invalid(at, profile, 'must be a valid seccomp profile')];
}

function hasContainer(spec: PodSpec, name: string): boolean {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec;
  return [...initContainers, ...containers, ...ephemeralContainers].some((container) => container.name === name);
}

/** Where a field and an annotation both name a profile, they must name the same one. */
export function validateProfileAnnotations(at: FieldPath, annotations: Annotations, spec: PodSpec): FieldError[] {
  const errors: FieldError[] = [];
  const compare = (kind: 'seccomp' | 'apparmor', here: FieldPath, key: string, profile: SeccompProfile | undefined) => {
    if (!profile || !annotations || !Object.hasOwn(annotations, key)) return;
    errors.push(...compareProfile(kind, here, annotations[key]!, profile));
  };
  compare('seccomp', at.child('securityContext', 'seccompProfile'), seccompPod, spec.securityContext?.seccompProfile);
  forEachContainer(at, spec, ({ name, securityContext }, here) => {
    const context = here.child('securityContext');
    compare('seccomp', context.child('seccompProfile'), seccompContainer + name, securityContext?.seccompProfile);
    if (spec.os?.name === 'windows') return;
    const profile = securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile;
    compare('apparmor', context.child('appArmorProfile'), appArmorContainer + name, profile);
  });
  return errors;
}

function compareProfile(
  kind: 'seccomp' | 'apparmor',
  at: FieldPath,
  annotation: string,
  { type, localhostProfile }: SeccompProfile,
): FieldError[] {
  const wrongType = [forbidden(at.child('type'), `${kind} type in annotation and field must match`)];
  if (type === 'Unconfined') return annotation === 'unconfined' ? [] : wrongType;
  if (type === 'RuntimeDefault') {
    const same = annotation === 'runtime/default' || (kind === 'seccomp' && annotation === 'docker/default');
    return same ? [] : wrongType;
  }
  if (type !== 'Localhost') return [];
  if (!annotation.startsWith('localhost/')) return wrongType;
  if (annotation.slice('localhost/'.length) === localhostProfile) return [];
  return [forbidden(at.child('localhostProfile'), `${kind} profile in annotation and field must match`)];
}
