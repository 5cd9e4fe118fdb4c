/** The contents of a ResourceSlice but for the devices themselves: whose they are, where they are, and what they share. */
import { type FieldError, type FieldPath, invalid } from '../../apimachinery/field-error.ts';
import { dns1123Label, dns1123Subdomain } from '../../apimachinery/names.ts';
import { validateNodeSelector } from '../core/v1/scheduling-validation.ts';
import { validateCsiDriverName } from '../core/v1/volume-validation.ts';
import type { NodeSelector, NodeSelectorRequirement } from '../gen/core-v1.ts';
import type { Device, ResourcePool, ResourceSliceSpec } from '../gen/resource-v1.ts';
import { notPositiveMessage, refused, shown, validateRequired } from '../validation.ts';
import { validateSet } from './claim-validation.ts';
import { validatePoolName } from './device-names.ts';
import { validateCounters, validateDevice, validateOneSet } from './device-validation.ts';

const mostDevices = 128;
/** Where devices have taints, counters or lists, which take more room. */
const mostRichDevices = 64;
const mostCounterSets = 8;

export function validateSlice(
  at: FieldPath,
  spec: Partial<ResourceSliceSpec>,
  previous?: Partial<ResourceSliceSpec>,
): FieldError[] {
  const { driver = '', pool, devices, sharedCounters, perDeviceNodeSelection: selectsNodes = false } = spec;
  const errors = [
    ...validateCsiDriverName(at.child('driver'), driver),
    ...validatePool(at.child('pool'), pool ?? {}),
    ...validateNodes(at, spec),
  ];
  if (sharedCounters && devices) errors.push(invalid(at, '', 'only one of `sharedCounters` or `devices` is allowed'));
  const before = new Map(previous?.devices?.toReversed().map((device) => [device.name, device]));
  return [
    ...errors,
    ...validateSet(at.child('devices'), devices, {
      most: devices?.some(isRich) ? mostRichDevices : mostDevices,
      key: ({ name }) => name ?? '',
      validate: (here, device) => validateDevice(here, device, { previous: before.get(device.name), selectsNodes }),
    }),
    ...validateSet(at.child('sharedCounters'), sharedCounters, {
      most: mostCounterSets,
      key: ({ name }) => name ?? '',
      validate: (here, { name, counters }) => [
        ...validateRequired(here.child('name'), name, dns1123Label),
        ...validateCounters(here.child('counters'), counters),
      ],
    }),
  ];
}

function isRich({ taints = [], consumesCounters = [], attributes = {} }: Device): boolean {
  if (taints.length > 0 || consumesCounters.length > 0) return true;
  return Object.values(attributes).some(({ bools, ints, strings, versions }) => bools ?? ints ?? strings ?? versions);
}

function validatePool(
  at: FieldPath,
  { name, resourceSliceCount = 0, generation = 0 }: Partial<ResourcePool>,
): FieldError[] {
  const errors = validatePoolName(at.child('name'), name);
  if (resourceSliceCount <= 0) {
    errors.push(invalid(at.child('resourceSliceCount'), resourceSliceCount, notPositiveMessage));
  }
  if (generation < 0) {
    errors.push(invalid(at.child('generation'), generation, 'must be greater than or equal to zero'));
  }
  return errors;
}

/** One way to say where the devices are, and only one. */
function validateNodes(at: FieldPath, spec: Partial<ResourceSliceSpec>): FieldError[] {
  const { nodeName, nodeSelector, allNodes, perDeviceNodeSelection } = spec;
  const errors: FieldError[] = [];
  const nodeAt = at.child('nodeName');
  if (nodeName === '') errors.push(invalid(nodeAt, '', 'must be either unset or set to a non-empty string'));
  else if (nodeName != null) errors.push(...refused(nodeAt, nodeName, dns1123Subdomain(nodeName)));
  if (nodeSelector) errors.push(...validateSingleTerm(at.child('nodeSelector'), nodeSelector));
  for (const [name, value] of Object.entries({ allNodes, perDeviceNodeSelection })) {
    if (value === false) errors.push(invalid(at.child(name), false, 'must be either unset or set to true'));
  }
  const none = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  const fields = { nodeName, nodeSelector, allNodes, perDeviceNodeSelection };
  return [...errors, ...validateOneSet(at, fields, { none, several: `${none}, but multiple fields are set` })];
}

/** Of one term each, the selectors of several slices can be made one. */
function validateSingleTerm(at: FieldPath, selector: NodeSelector): FieldError[] {
  const errors = validateNodeSelector(at, selector);
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 1) return errors;
  const requirements = (list: readonly NodeSelectorRequirement[] | undefined) =>
    list?.map(({ key, operator, values }) => shown({ Key: key, Operator: operator, Values: values }));
  const value = selector.nodeSelectorTerms?.map(({ matchExpressions, matchFields }) =>
    shown({ MatchExpressions: requirements(matchExpressions), MatchFields: requirements(matchFields) }),
  );
  const message = 'must have exactly one node selector term';
  return [...errors, invalid(at.child('nodeSelectorTerms'), value ?? null, message)];
}
