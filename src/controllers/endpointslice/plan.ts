/**
 * Which slices to create, change and delete so that together they hold exactly the wanted endpoints, with as few writes as can be:
 * slices whose content stays are left alone, even when they are half empty. Pure.
 *
 *     max 3, present [a b c] [d]; wanted a c d e  ->  [a c e] updated, [d] untouched
 */
import type { Service } from '../../api/gen/core-v1.ts';
import { services } from '../../api/gen/core-v1.ts';
import type { Endpoint, EndpointSlice } from '../../api/gen/discovery-v1.ts';
import { controllerReference } from '../../apimachinery/meta.ts';
import { headlessLabel, isHeadless, lastChangeTriggerAnnotation } from '../common/service-endpoints.ts';
import { equalOnWire } from '../common/wire-equality.ts';
import { type AddressType, addressTypesOf, type EndpointGroup, portsKey } from './endpoints.ts';

export const serviceNameLabel = 'kubernetes.io/service-name';
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';
export const controllerName = 'endpointslice-controller.k8s.io';

export interface SlicePlan {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}

export interface SliceOptions {
  readonly maxEndpointsPerSlice: number;
  /** What the writes carry as the moment that caused them. */
  readonly triggerTime: string | undefined;
}

export function planSlices(
  service: Service,
  groups: readonly EndpointGroup[],
  present: readonly EndpointSlice[],
  options: SliceOptions,
): SlicePlan {
  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  const remove: EndpointSlice[] = [];
  for (const addressType of familiesToPlan(service, present)) {
    const wantedHere = addressTypesOf(service).includes(addressType);
    const mine = present.filter((slice) => slice.addressType === addressType);
    const wanted = wantedHere ? groups.filter((group) => group.addressType === addressType) : [];
    const plan = planFamily(service, wanted, mine, options);
    create.push(...plan.create);
    update.push(...plan.update);
    const left = mine.length - plan.remove.length + plan.create.length;
    const kept = wantedHere && left === 0 ? placeholder(service, addressType, plan.remove, options) : undefined;
    if (kept?.create) create.push(kept.create);
    remove.push(...plan.remove.filter((slice) => slice !== kept?.keep));
  }
  return { create, update, remove };
}

/** Slices of a family that the Service no longer has are to go. */
function familiesToPlan(service: Service, present: readonly EndpointSlice[]): readonly AddressType[] {
  return [...new Set([...addressTypesOf(service), ...present.map((slice) => slice.addressType as AddressType)])];
}

/** A Service without endpoints has one empty slice, so that it can be told from one nobody has looked at yet. */
function placeholder(
  service: Service,
  addressType: AddressType,
  removed: readonly EndpointSlice[],
  options: SliceOptions,
): { readonly keep?: EndpointSlice; readonly create?: EndpointSlice } {
  const [only] = removed;
  const wanted = newSlice(service, { addressType, ports: [], endpoints: [] }, [], options);
  const same =
    only &&
    removed.length === 1 &&
    (only.endpoints?.length ?? 0) === 0 &&
    (only.ports?.length ?? 0) === 0 &&
    equalOnWire(only.metadata.labels, wanted.metadata.labels);
  return same ? { keep: only } : { create: wanted };
}

function planFamily(
  service: Service,
  groups: readonly EndpointGroup[],
  present: readonly EndpointSlice[],
  options: SliceOptions,
): SlicePlan {
  const byPorts = new Map<string, EndpointSlice[]>();
  const remove: EndpointSlice[] = [];
  const wantedKeys = new Set(groups.map((group) => portsKey(group.addressType, group.ports)));
  for (const slice of present) {
    const key = portsKey(slice.addressType, slice.ports);
    if (!wantedKeys.has(key) || !isOwnedBy(slice, service)) remove.push(slice);
    else byPorts.set(key, [...(byPorts.get(key) ?? []), slice]);
  }
  const plans = groups.map((group) =>
    planGroup(service, group, byPorts.get(portsKey(group.addressType, group.ports)) ?? [], options),
  );
  return {
    create: plans.flatMap((plan) => plan.create),
    update: plans.flatMap((plan) => plan.update),
    remove: [...remove, ...plans.flatMap((plan) => plan.remove)],
  };
}

function isOwnedBy(slice: EndpointSlice, service: Service): boolean {
  return slice.metadata.ownerReferences?.some(({ uid }) => uid === service.metadata.uid) ?? false;
}

interface Page {
  readonly slice: EndpointSlice;
  readonly endpoints: Endpoint[];
  changed: boolean;
}

function planGroup(
  service: Service,
  group: EndpointGroup,
  present: readonly EndpointSlice[],
  options: SliceOptions,
): SlicePlan {
  const left = new Map(group.endpoints.map((endpoint) => [identity(endpoint), endpoint]));
  const labels = labelsOf(service);
  const pages = present.map((slice): Page => {
    const endpoints: Endpoint[] = [];
    let changed = !equalOnWire(slice.metadata.labels, labels);
    for (const endpoint of slice.endpoints ?? []) {
      const wanted = left.get(identity(endpoint));
      if (!wanted) changed = true;
      else {
        endpoints.push(wanted);
        left.delete(identity(endpoint));
        if (!equalOnWire(endpoint, wanted)) changed = true;
      }
    }
    return { slice, endpoints, changed };
  });
  const waiting = [...left.values()];
  fillChanged(pages, waiting, options.maxEndpointsPerSlice);
  const create: EndpointSlice[] = [];
  while (waiting.length > 0) {
    const fitting = bestFit(pages, waiting.length, options.maxEndpointsPerSlice);
    if (fitting) {
      fitting.endpoints.push(...waiting.splice(0));
      fitting.changed = true;
    } else create.push(newSlice(service, group, waiting.splice(0, options.maxEndpointsPerSlice), options));
  }
  return {
    create,
    update: pages
      .filter((page) => page.changed && page.endpoints.length > 0)
      .map(({ slice, endpoints }) => ({
        ...slice,
        metadata: { ...slice.metadata, labels, annotations: annotationsOf(slice.metadata.annotations, options) },
        endpoints,
      })),
    remove: pages.filter((page) => page.endpoints.length === 0).map(({ slice }) => slice),
  };
}

/** Slices that must be written anyway take in what they can. */
function fillChanged(pages: readonly Page[], waiting: Endpoint[], max: number): void {
  for (const page of pages) {
    if (page.changed) page.endpoints.push(...waiting.splice(0, Math.max(0, max - page.endpoints.length)));
  }
}

/** The fullest slice that can take all of them: one write instead of a new object. */
function bestFit(pages: readonly Page[], count: number, max: number): Page | undefined {
  return pages
    .filter(({ endpoints }) => endpoints.length + count <= max)
    .sort((a, b) => b.endpoints.length - a.endpoints.length)[0];
}

function identity({ targetRef, addresses }: Endpoint): string {
  return `${targetRef?.uid ?? ''} ${targetRef?.namespace}/${targetRef?.name} ${addresses.join(',')}`;
}

function newSlice(
  service: Service,
  group: EndpointGroup,
  endpoints: readonly Endpoint[],
  options: SliceOptions,
): EndpointSlice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      generateName: namePrefix(service.metadata.name ?? ''),
      namespace: service.metadata.namespace,
      labels: labelsOf(service),
      annotations: annotationsOf(undefined, options),
      ownerReferences: [controllerReference(service, services)],
    },
    addressType: group.addressType,
    endpoints,
    ports: group.ports,
  };
}

/** The Service's own labels, and those by which slices are found. */
function labelsOf(service: Service): Readonly<Record<string, string>> {
  const {
    [serviceNameLabel]: _name,
    [managedByLabel]: _by,
    [headlessLabel]: _headless,
    ...labels
  } = service.metadata.labels ?? {};
  return {
    ...labels,
    ...(isHeadless(service) ? { [headlessLabel]: '' } : {}),
    [serviceNameLabel]: service.metadata.name ?? '',
    [managedByLabel]: controllerName,
  };
}

function annotationsOf(
  present: Readonly<Record<string, string>> | undefined,
  { triggerTime }: SliceOptions,
): Readonly<Record<string, string>> | undefined {
  const { [lastChangeTriggerAnnotation]: _, ...others } = present ?? {};
  if (triggerTime === undefined) return present === undefined ? undefined : others;
  return { ...others, [lastChangeTriggerAnnotation]: triggerTime };
}

/** The server cuts a generated name to fit; the dash must survive, so long names lose it here already. */
function namePrefix(serviceName: string): string {
  return serviceName.length > 57 ? serviceName : `${serviceName}-`;
}
