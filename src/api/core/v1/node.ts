/** Nodes: the machines that run Pods, as they describe themselves. */
import { parseCidr, validateLegacyCidr } from '../../../apimachinery/addresses.ts';
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import { type AvoidPods, type Node, type NodeStatus, nodes, type Taint } from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { entriesOf, shown, validatePositive } from '../../validation.ts';
import { roundToMilli } from './resource-defaults.ts';
import { validateResourceQuantity } from './resource-validation.ts';
import { validateTaints } from './scheduling-validation.ts';

export const nodeBehaviour: KindBehaviour<Node> = {
  resource: nodes,
  defaults,
  statusOnCreate: 'kept',
  countsGeneration: false,
  prepareForCreate: dropConfiguration,
  prepareForUpdate: dropConfiguration,
  validate,
  validateUpdate,
  subresources: { status: { prepareForUpdate: dropConfiguration, validateUpdate } },
  columns: [
    nameColumn,
    text('Status', statusText, { description: 'The status of the node' }),
    text('Roles', rolesText, { description: 'The roles of the node' }),
    ageColumn,
    text('Version', ({ status }) => status?.nodeInfo?.kubeletVersion ?? ''),
    text('Internal-IP', ({ status }) => addressText(status, 'InternalIP'), { wide: true }),
    text('External-IP', ({ status }) => addressText(status, 'ExternalIP'), { wide: true }),
    text('OS-Image', ({ status }) => status?.nodeInfo?.osImage || '<unknown>', { wide: true }),
    text('Kernel-Version', kernelText, { wide: true }),
    text('Container-Runtime', ({ status }) => status?.nodeInfo?.containerRuntimeVersion || '<unknown>', { wide: true }),
  ],
};

function defaults(node: Draft<Node>): void {
  const spec = partOf(node, 'spec');
  // The first of the list also stands alone, for clients that know one range; theirs wins where both differ.
  if (spec.podCIDR && spec.podCIDRs?.[0] !== spec.podCIDR) spec.podCIDRs = [spec.podCIDR];
  else if (!spec.podCIDR && spec.podCIDRs?.[0]) spec.podCIDR = spec.podCIDRs[0];
  const { status } = node;
  if (!status) return;
  if (status.capacity && !status.allocatable) status.allocatable = { ...status.capacity };
  roundToMilli(status.capacity);
  roundToMilli(status.allocatable);
}

/** Configuration of kubelets through the API is gone; what is stored of it is left alone. */
function dropConfiguration(node: Draft<Node>, previous?: unknown): void {
  const stored = previous as Partial<Node> | undefined;
  if (stored?.spec?.configSource === undefined) delete node.spec.configSource;
  if (stored?.status?.config === undefined) delete node.status?.config;
}

function validate(node: Node): FieldError[] {
  const { spec, status } = node;
  const errors = [
    ...validateAnnotations(path('metadata', 'annotations'), node.metadata.annotations),
    ...validateTaints(path('metadata', 'taints'), spec.taints ?? []),
    ...validateStatus(status),
  ];
  const swap = status?.nodeInfo?.swap;
  errors.push(...validatePositive(path('metadata', 'nodeSwapStatus', 'capacity'), swap?.capacity));
  const ranges = spec.podCIDRs ?? [];
  const at = path('spec', 'podCIDRs');
  errors.push(...ranges.flatMap((range, index) => validateLegacyCidr(range, at.index(index))));
  const families = new Set(ranges.map((range) => parseCidr(range)?.family));
  if (ranges.length > 1 && families.size < ranges.length) {
    errors.push(invalid(at, ranges, 'may specify no more than one CIDR for each IP family'));
  }
  return errors;
}

const taintsKey = 'scheduler.alpha.kubernetes.io/taints';
const avoidKey = 'scheduler.alpha.kubernetes.io/preferAvoidPods';

/** Two annotations from before their fields, which are no longer read but still must make sense. */
function validateAnnotations(at: FieldPath, annotations: Node['metadata']['annotations']): FieldError[] {
  const { [taintsKey]: taints, [avoidKey]: avoided } = annotations ?? {};
  const errors: FieldError[] = [];
  if (taints) {
    const found = parsed<readonly Taint[] | null>(taints);
    if ('problem' in found) errors.push(invalid(at, taintsKey, found.problem));
    else errors.push(...validateTaints(at.child(taintsKey), found.value ?? []));
  }
  if (!avoided) return errors;
  const found = parsed<AvoidPods | null>(avoided);
  if ('problem' in found) return [...errors, invalid(at.child('AvoidPods'), avoidKey, found.problem)];
  for (const [index, { podSignature }] of (found.value?.preferAvoidPods ?? []).entries()) {
    const here = at.child(avoidKey).index(index).child('PodSignature');
    const owner = podSignature?.podController;
    if (!owner) errors.push(required(here));
    else if (!owner.controller) {
      errors.push(invalid(here.child('PodController', 'Controller'), false, 'must point to a controller'));
    }
  }
  return errors;
}

function parsed<T>(text: string): { readonly value: T } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) as T };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

const declaredFeature = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;

function validateStatus(status: NodeStatus | undefined): FieldError[] {
  const errors: FieldError[] = [];
  for (const list of ['capacity', 'allocatable'] as const) {
    for (const [name, quantity] of entriesOf(status?.[list])) {
      errors.push(...validateResourceQuantity(path('status', list, name), name, quantity));
    }
  }
  const features = status?.declaredFeatures ?? [];
  for (const [index, feature] of features.entries()) {
    const here = path('status', 'declaredFeatures').index(index);
    if (!declaredFeature.test(feature)) {
      const rule =
        "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes";
      errors.push(invalid(here, feature, `invalid feature name ${quote(feature)}: ${rule}`));
    }
    const before = features[index - 1];
    if (before === feature) errors.push(duplicate(here, feature));
    else if (before !== undefined && before > feature) {
      errors.push(invalid(here, feature, 'list must be sorted alphabetically'));
    }
  }
  return errors;
}

function validateUpdate(node: Node, previous: Node): FieldError[] {
  const errors = [
    ...validateAnnotations(path('metadata', 'annotations'), node.metadata.annotations),
    ...validateStatus(node.status),
  ];
  const seen = new Set<string>();
  for (const [index, { type, address }] of (node.status?.addresses ?? []).entries()) {
    const identity = `${type}/${address}`;
    if (seen.has(identity)) {
      errors.push(duplicate(path('status', 'addresses').index(index), shown({ Type: type, Address: address })));
    }
    seen.add(identity);
  }
  const stored = previous.spec;
  if (stored.podCIDRs?.length && !semanticallyEqual(stored.podCIDRs, node.spec.podCIDRs)) {
    const message = 'node updates may not change podCIDR except from "" to valid';
    errors.push(forbidden(path('spec', 'podCIDRs'), message));
  }
  if (stored.providerID && stored.providerID !== node.spec.providerID) {
    const message = 'node updates may not change providerID except from "" to valid';
    errors.push(forbidden(path('spec', 'providerID'), message));
  }
  errors.push(...validateTaints(path('metadata', 'taints'), node.spec.taints ?? []));
  if ((node.spec.externalID ?? '') !== (stored.externalID ?? '')) {
    errors.push(forbidden(path('spec', 'externalID'), 'may not be updated'));
  }
  return errors;
}

function statusText({ spec, status }: Node): string {
  const ready = status?.conditions?.findLast(({ type }) => type === 'Ready');
  const words = [ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'];
  if (spec.unschedulable) words.push('SchedulingDisabled');
  return words.join(',');
}

const rolePrefix = 'node-role.kubernetes.io/';

function rolesText({ metadata }: Node): string {
  const roles = entriesOf(metadata.labels).flatMap(([key, value]) => {
    if (key.startsWith(rolePrefix)) return [key.slice(rolePrefix.length)];
    return key === 'kubernetes.io/role' ? [value] : [];
  });
  const distinct = [...new Set(roles.filter((role) => role !== ''))].sort();
  return distinct.join(',') || '<none>';
}

function addressText(status: NodeStatus | undefined, wanted: string): string {
  return status?.addresses?.find(({ type }) => type === wanted)?.address || '<none>';
}

function kernelText({ status }: Node): string {
  const { kernelVersion, architecture } = status?.nodeInfo ?? {};
  return `${kernelVersion || '<unknown>'}${architecture ? ` (${architecture})` : ''}`;
}
