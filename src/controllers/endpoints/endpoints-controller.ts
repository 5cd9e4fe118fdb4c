/**
 * Keeps the Endpoints object of every Service that selects Pods: the older form of EndpointSlices, one object a Service, which
 * many clients still read. Objects of Services without selector belong to whoever made them.
 */
import { type Endpoints, endpoints, type Pod, pods as podType, type Service, services } from '../../api/gen/core-v1.ts';
import { labelMatcherOfSet } from '../../apimachinery/labels.ts';
import { keyOf, splitKey } from '../../apimachinery/meta.ts';
import { compareResourceVersions } from '../../apimachinery/resource-version.ts';
import {
  isAlreadyExists,
  isForbidden,
  isNamespaceTerminating,
  isNotFound,
  messageOf,
} from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type Controller, createController } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { withKind } from '../common/events.ts';
import {
  endpointsChanged,
  headlessLabel,
  isHeadless,
  lastChangeTriggerAnnotation,
  selectsPods,
  triggerTime,
} from '../common/service-endpoints.ts';
import { watchServicePods } from '../common/service-watch.ts';
import { equalOnWire } from '../common/wire-equality.ts';
import { planSubsets } from './subsets.ts';

const managedByLabel = 'endpoints.kubernetes.io/managed-by';
const electionAnnotation = 'control-plane.alpha.kubernetes.io/leader';
const overCapacityAnnotation = 'endpoints.kubernetes.io/over-capacity';

export interface EndpointsControllerOptions {
  readonly workers?: number | undefined;
}

export async function runEndpointsController(
  context: ComponentContext,
  options: EndpointsControllerOptions = {},
): Promise<void> {
  const { client, informers } = context;
  const allServices = informers.of(services);
  const allPods = informers.of(podType);
  const all = informers.of(endpoints);
  const events = context.eventRecorder('endpoint-controller');
  /** Versions written and not yet seen: an older copy must not be taken for the present one. */
  const written = new Map<string, string>();

  const controller = createController(context, {
    name: 'endpoints-controller',
    queue: 'endpoint',
    workers: options.workers ?? 5,
    maxRetries: 15,
    waitFor: [allServices, allPods, all],
    async reconcile(key: string) {
      const service = allServices.get(key);
      if (!service) {
        const made = written.delete(key);
        if (made || all.get(key)) await remove(client, key);
        return undefined;
      }
      if (!selectsPods(service)) return undefined;
      const present = all.get(key);
      const newest = written.get(key);
      if (newest && compareResourceVersions(present?.metadata.resourceVersion, newest) < 0)
        return { againAfterMs: 100 };
      written.delete(key);
      const selector = labelMatcherOfSet(service.spec?.selector ?? {});
      const pods = allPods.list(service.metadata.namespace).filter(({ metadata }) => selector.matches(metadata.labels));
      const wanted = planEndpoints(service, pods, present);
      if (!wanted) return undefined;
      const version = await write(client, wanted, present, events, service);
      if (version) written.set(key, version);
      return undefined;
    },
  });

  controller.watch(allServices);
  all.onChange({
    deleted(gone) {
      written.delete(keyOf(gone));
      controller.enqueue(keyOf(gone));
    },
  });
  watchServicePods(controller, allServices, allPods, endpointsChanged);
  await Promise.all([controller.run(), enqueueLeftovers(context, all, controller)]);
}

/**
 * What outlived its Service while no controller ran goes now. Objects without Service that are made later stay: they are somebody's own,
 * and so are the records of elections of old.
 */
async function enqueueLeftovers(
  { signal }: ComponentContext,
  all: Informer<Endpoints>,
  controller: Controller,
): Promise<void> {
  try {
    await all.whenSynced(signal);
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  for (const object of all.list()) {
    if (object.metadata.annotations?.[electionAnnotation] === undefined) controller.enqueue(keyOf(object));
  }
}

async function remove(client: Client, key: string): Promise<void> {
  try {
    await client.delete(endpoints, splitKey(key));
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function write(
  client: Client,
  wanted: Endpoints,
  present: Endpoints | undefined,
  recorder: EventRecorder,
  service: Service,
): Promise<string | undefined> {
  try {
    const result = present ? await client.update(endpoints, wanted) : await client.create(endpoints, wanted);
    return result.metadata.resourceVersion;
  } catch (error) {
    if (isNamespaceTerminating(error) || (!present && isAlreadyExists(error))) return undefined;
    if (present === undefined && isForbidden(error)) {
      const message = `Failed to create endpoint for service ${keyOf(service)}: ${messageOf(error)}`;
      recorder.record(withKind(endpoints, wanted), 'Warning', 'FailedToCreateEndpoint', message);
    } else {
      const message = `Failed to update endpoint ${keyOf(service)}: ${messageOf(error)}`;
      recorder.record(withKind(endpoints, wanted), 'Warning', 'FailedToUpdateEndpoint', message);
    }
    throw error;
  }
}

/** The object to write, or undefined when the present one says the same already. */
export function planEndpoints(
  service: Service,
  pods: readonly Pod[],
  present: Endpoints | undefined,
): Endpoints | undefined {
  const { subsets, truncated } = planSubsets(service, pods);
  const labels = {
    ...service.metadata.labels,
    [managedByLabel]: 'endpoint-controller',
    ...(isHeadless(service) ? { [headlessLabel]: '' } : {}),
  };
  const before = present?.metadata.annotations;
  const overCapacity = before?.[overCapacityAnnotation] === 'truncated';
  const same =
    present &&
    equalOnWire(present.subsets, subsets) &&
    equalOnWire(present.metadata.labels, labels) &&
    overCapacity === truncated;
  if (same) return undefined;
  const { [lastChangeTriggerAnnotation]: lastTrigger, [overCapacityAnnotation]: _, ...kept } = before ?? {};
  const trigger = triggerTime(service, pods, lastTrigger);
  const annotations = {
    ...kept,
    ...(trigger ? { [lastChangeTriggerAnnotation]: trigger } : {}),
    ...(truncated ? { [overCapacityAnnotation]: 'truncated' } : {}),
  };
  return {
    ...present,
    metadata: {
      ...(present?.metadata ?? { namespace: service.metadata.namespace, name: service.metadata.name }),
      labels,
      annotations,
    },
    subsets,
  };
}
