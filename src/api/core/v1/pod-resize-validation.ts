/** The `resize` subresource: cpu and memory of running containers, and nothing else; a Pod's class of service stays. */
import { type FieldError, type FieldPath, forbidden, invalid, path } from '../../../apimachinery/field-error.ts';
import { semanticallyEqual } from '../../equality.ts';
import type { Container, Pod, PodSpec, ResourceRequirements } from '../../gen/core-v1.ts';
import { isMirrorPod } from './mirror-pod.ts';
import { isSidecar } from './pod-status.ts';
import { validateMetadataAndSpec } from './pod-validation.ts';
import { computeQosClass, qosClass } from './quality-of-service.ts';

type Quantities = Readonly<Record<string, string>> | undefined;

export function validatePodResize(pod: Pod, previous: Pod): FieldError[] {
  const root = path();
  const specAt = path('spec');
  if (isMirrorPod(previous)) return [forbidden(root, 'static pods cannot be resized')];
  if (previous.spec.os?.name === 'windows') return [forbidden(root, 'windows pods cannot be resized')];
  const errors = validateMetadataAndSpec(pod);
  if (qosClass(previous) !== computeQosClass(pod.spec)) {
    errors.push(invalid(specAt, pod.status?.qosClass ?? '', 'Pod QOS Class may not change as a result of resizing'));
  }
  const running = previous.status?.containerStatuses?.find(({ state }) => state?.running);
  if (running && !running.resources) {
    errors.push(forbidden(specAt, 'Pod running on node without support for resize'));
  }
  errors.push(...validatePodLevel(specAt, pod.spec, previous.spec));
  if (previous.status?.nodeAllocatableResourceClaimStatuses?.length) {
    errors.push(forbidden(specAt, 'pods with node allocatable resource claims cannot be resized'));
  }
  const order = validateOrder(specAt, pod.spec, previous.spec);
  if (order.length > 0) return [...errors, ...order];
  for (const field of ['initContainers', 'containers'] as const) {
    for (const [index, container] of (pod.spec[field] ?? []).entries()) {
      const here = specAt.child(field).index(index);
      errors.push(...validateContainer(specAt, here, field, container, previous.spec[field]![index]!));
    }
  }
  return errors;
}

function validateContainer(
  specAt: FieldPath,
  at: FieldPath,
  list: 'initContainers' | 'containers',
  next: Container,
  stored: Container,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const side of ['requests', 'limits'] as const) {
    if (!removes(next.resources?.[side], stored.resources?.[side])) continue;
    errors.push(forbidden(at.child('resources', side), `resource ${side} cannot be removed`));
  }
  const rest = { ...next, resources: withStoredCompute(next.resources, stored.resources) };
  const onlyCompute = semanticallyEqual(rest, stored);
  if (list === 'containers') {
    if (!onlyCompute) errors.push(forbidden(specAt, 'only cpu and memory resources are mutable'));
    return errors;
  }
  if (!onlyCompute) {
    errors.push(forbidden(at, 'only cpu and memory resources for init or sidecar containers are mutable'));
  }
  if (!isSidecar(next) && !semanticallyEqual(next, stored)) {
    const message = 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized';
    for (const { restartPolicy } of next.resizePolicy ?? []) {
      if (restartPolicy === 'RestartContainer') errors.push(forbidden(at, message));
    }
  }
  return errors;
}

function validatePodLevel(at: FieldPath, next: PodSpec, stored: PodSpec): FieldError[] {
  if (!stored.resources && !next.resources) return [];
  if (stored.resources && !next.resources) {
    return [forbidden(at.child('resources'), 'pod-level resources cannot be removed')];
  }
  const errors: FieldError[] = [];
  for (const side of ['requests', 'limits'] as const) {
    if (!removes(next.resources?.[side], stored.resources?.[side])) continue;
    errors.push(forbidden(at.child('resources', side), `pod-level resource ${side} cannot be removed`));
  }
  if (!semanticallyEqual(withStoredCompute(next.resources, stored.resources), stored.resources)) {
    errors.push(forbidden(at, 'only cpu and memory resources are mutable at pod-level'));
  }
  return errors;
}

function validateOrder(at: FieldPath, next: PodSpec, stored: PodSpec): FieldError[] {
  return (['containers', 'initContainers'] as const).flatMap((field) => {
    const before = stored[field] ?? [];
    const after = next[field] ?? [];
    if (before.length !== after.length) {
      return [forbidden(at.child(field), `${field} may not be added or removed on resize`)];
    }
    return before.flatMap(({ name }, index) => {
      if (after[index]!.name === name) return [];
      const here = at.child(field).index(index).child('name');
      return [forbidden(here, `${field} may not be renamed or reordered on resize`)];
    });
  });
}

function removes(next: Quantities, stored: Quantities): boolean {
  return Object.keys(stored ?? {}).some((name) => !Object.hasOwn(next ?? {}, name));
}

/** `next` with cpu and memory as they are stored. */
function withStoredCompute(
  next: ResourceRequirements | undefined,
  stored: ResourceRequirements | undefined,
): ResourceRequirements {
  const side = (which: 'requests' | 'limits') => {
    const { cpu: _cpu, memory: _memory, ...others } = next?.[which] ?? {};
    const { cpu, memory } = stored?.[which] ?? {};
    return { ...others, ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) };
  };
  return { ...next, requests: side('requests'), limits: side('limits') };
}
