/**
 * Keeps the EndpointSlices of every Service that selects Pods. Which Pods, under which ports and in which state is
 * `endpoints.ts`, how they are spread over slices is `plan.ts`; this file watches and writes, and waits with counting until its own
 * last writes are visible.
 */
import { nodes as nodeType, pods as podType, services } from '../../api/gen/core-v1.ts';
import { type EndpointSlice, endpointSlices } from '../../api/gen/discovery-v1.ts';
import { labelMatcherOfSet } from '../../apimachinery/labels.ts';
import { keyOf } from '../../apimachinery/meta.ts';
import { compareResourceVersions } from '../../apimachinery/resource-version.ts';
import { isNamespaceTerminating, isNotFound, messageOf } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import { withKind } from '../common/events.ts';
import {
  endpointsChanged,
  lastChangeTriggerAnnotation,
  selectsPods,
  triggerTime,
} from '../common/service-endpoints.ts';
import { watchServicePods } from '../common/service-watch.ts';
import { planEndpoints, zoneLabel } from './endpoints.ts';
import { controllerName, managedByLabel, planSlices, type SlicePlan, serviceNameLabel } from './plan.ts';

const byService = 'endpointslice/service';

export interface EndpointSliceControllerOptions {
  readonly workers?: number | undefined;
  readonly maxEndpointsPerSlice?: number | undefined;
}

export async function runEndpointSliceController(
  context: ComponentContext,
  options: EndpointSliceControllerOptions = {},
): Promise<void> {
  const { client, informers } = context;
  const allServices = informers.of(services);
  const pods = informers.of(podType);
  const nodes = informers.of(nodeType);
  const slices = informers.of(endpointSlices);
  slices.addIndex(byService, (slice) => (isManaged(slice) ? [serviceKey(slice)] : []));
  const events = context.eventRecorder('endpoint-slice-controller');
  const writes = new PendingWrites();

  const controller = createController(context, {
    name: 'endpointslice-controller',
    queue: 'endpoint_slice',
    workers: options.workers ?? 5,
    maxRetries: 15,
    waitFor: [allServices, pods, nodes, slices],
    async reconcile(key: string) {
      const service = allServices.get(key);
      if (!service) {
        // The slices are the garbage collector's: they have the Service as owner.
        writes.forget(key);
        return undefined;
      }
      if (!selectsPods(service)) return undefined;
      const present = slices.byIndex(byService, key).filter(({ metadata }) => !metadata.deletionTimestamp);
      if (!writes.visibleIn(key, present)) return { againAfterMs: 100 };
      const selector = labelMatcherOfSet(service.spec?.selector ?? {});
      const selected = pods
        .list(service.metadata.namespace)
        .filter(({ metadata }) => selector.matches(metadata.labels));
      const { groups, unknownNodes } = planEndpoints(service, selected, (name) => nodes.get(name));
      const plan = planSlices(service, groups, present, {
        maxEndpointsPerSlice: options.maxEndpointsPerSlice ?? 100,
        triggerTime: triggerTime(service, selected, newestTrigger(present)),
      });
      try {
        await execute(client, key, plan, writes);
      } catch (error) {
        if (isNamespaceTerminating(error)) return undefined;
        const message = `Error updating Endpoint Slices for Service ${key}: ${messageOf(error)}`;
        events.record(withKind(services, service), 'Warning', 'FailedToUpdateEndpointSlices', message);
        throw error;
      }
      if (unknownNodes.length > 0)
        throw new Error(`skipping Pods on unknown nodes ${unknownNodes.join(', ')} for Service ${key}`);
      return undefined;
    },
  });

  controller.watch(allServices);
  watchServicePods(controller, allServices, pods, endpointsChanged);
  controller.watchMapped(slices, (slice) => (isManaged(slice) ? [serviceKey(slice)] : []));
  slices.onChange({ deleted: (slice) => writes.gone(serviceKey(slice), slice) });
  nodes.onChange({
    updated: (node, previous) => {
      if (node.metadata.labels?.[zoneLabel] === previous.metadata.labels?.[zoneLabel]) return;
      for (const service of allServices.list()) controller.enqueue(keyOf(service));
    },
  });
  await controller.run();
}

async function execute(client: Client, key: string, plan: SlicePlan, writes: PendingWrites): Promise<void> {
  for (const slice of plan.create) writes.wrote(key, await client.create(endpointSlices, slice));
  for (const slice of plan.update) writes.wrote(key, await client.update(endpointSlices, slice));
  for (const slice of plan.remove) {
    const { namespace, name = '' } = slice.metadata;
    try {
      await client.delete(endpointSlices, { namespace, name });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    writes.removed(key, slice);
  }
}

function isManaged({ metadata }: EndpointSlice): boolean {
  return metadata.labels?.[managedByLabel] === controllerName;
}

function serviceKey({ metadata }: EndpointSlice): string {
  return `${metadata.namespace}/${metadata.labels?.[serviceNameLabel]}`;
}

function newestTrigger(slices: readonly EndpointSlice[]): string | undefined {
  return slices
    .map(({ metadata }) => metadata.annotations?.[lastChangeTriggerAnnotation])
    .filter((time) => time !== undefined)
    .sort()
    .at(-1);
}

/** What was written for each Service and how the informer must look before it may be trusted again. */
class PendingWrites {
  /** Service to slice name to the version written; undefined: deleted. */
  readonly #byService = new Map<string, Map<string, string | undefined>>();

  wrote(key: string, { metadata }: EndpointSlice): void {
    this.#of(key).set(metadata.name ?? '', metadata.resourceVersion);
  }

  removed(key: string, { metadata }: EndpointSlice): void {
    this.#of(key).set(metadata.name ?? '', undefined);
  }

  visibleIn(key: string, slices: readonly EndpointSlice[]): boolean {
    const pending = this.#byService.get(key);
    if (!pending) return true;
    const present = new Map(slices.map(({ metadata }) => [metadata.name ?? '', metadata.resourceVersion]));
    for (const [name, version] of pending) {
      const visible =
        version === undefined ? !present.has(name) : compareResourceVersions(present.get(name), version) >= 0;
      if (!visible) return false;
    }
    this.#byService.delete(key);
    return true;
  }

  /** The informer saw it go, whoever deleted it. */
  gone(key: string, { metadata }: EndpointSlice): void {
    this.#byService.get(key)?.delete(metadata.name ?? '');
  }

  forget(key: string): void {
    this.#byService.delete(key);
  }

  #of(key: string): Map<string, string | undefined> {
    const present = this.#byService.get(key) ?? new Map<string, string | undefined>();
    this.#byService.set(key, present);
    return present;
  }
}
