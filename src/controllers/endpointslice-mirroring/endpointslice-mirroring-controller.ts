/**
 * Mirrors Endpoints that people or programs make for Services without selector into EndpointSlices, which is all that proxies read.
 */
import { type Endpoints, endpoints as endpointsType, type Service, services } from '../../api/gen/core-v1.ts';
import { type EndpointSlice, endpointSlices } from '../../api/gen/discovery-v1.ts';
import { keyOf } from '../../apimachinery/meta.ts';
import { compareResourceVersions } from '../../apimachinery/resource-version.ts';
import { isNamespaceTerminating, isNotFound } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import { controllerName, managedByLabel, planMirror, serviceNameLabel, skipMirrorLabel } from './plan.ts';

const byService = 'endpointslice-mirroring/service';
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader';

export interface EndpointSliceMirroringOptions {
  readonly workers?: number | undefined;
}

export async function runEndpointSliceMirroringController(
  context: ComponentContext,
  options: EndpointSliceMirroringOptions = {},
): Promise<void> {
  const { client, informers } = context;
  const all = informers.of(endpointsType);
  const allServices = informers.of(services);
  const slices = informers.of(endpointSlices);
  slices.addIndex(byService, (slice) => (isMirror(slice) ? [keyFor(slice)] : []));
  /** The newest version written for each Service, until the informer shows it. */
  const written = new Map<string, string>();

  async function reconcile(key: string): Promise<ReconcileResult | undefined> {
    const newest = written.get(key);
    if (newest && compareResourceVersions(slices.resourceVersion, newest) < 0) return { againAfterMs: 100 };
    written.delete(key);
    const source = all.get(key);
    const service = allServices.get(key);
    const mirrored = source && service && shouldMirror(source, service) ? source : undefined;
    const plan = planMirror(mirrored, slices.byIndex(byService, key), 100);
    const wrote = (slice: EndpointSlice) => void written.set(key, slice.metadata.resourceVersion ?? '');
    try {
      for (const slice of plan.create) wrote(await client.create(endpointSlices, slice));
      for (const slice of plan.update) wrote(await client.update(endpointSlices, slice));
      for (const { metadata } of plan.remove) {
        await client
          .delete(endpointSlices, { namespace: metadata.namespace, name: metadata.name ?? '' })
          .catch((error) => {
            if (!isNotFound(error)) throw error;
          });
      }
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error;
    }
    return undefined;
  }

  const controller = createController(context, {
    name: 'endpointslice-mirroring-controller',
    queue: 'endpoint_slice_mirroring',
    workers: options.workers ?? 5,
    maxRetries: 15,
    waitFor: [all, allServices, slices],
    reconcile,
  });
  controller.watch(all);
  controller.watchMapped(allServices, (service) => [keyOf(service)]);
  controller.watchMapped(slices, (slice) => (isMirror(slice) ? [keyFor(slice)] : []));
  await controller.run();
}

function isMirror({ metadata }: EndpointSlice): boolean {
  return metadata.labels?.[managedByLabel] === controllerName;
}

function keyFor({ metadata }: EndpointSlice): string {
  return `${metadata.namespace}/${metadata.labels?.[serviceNameLabel]}`;
}

/** Not what a controller keeps slices for already, not locks of old leader elections, not what asks to be left alone. */
function shouldMirror({ metadata }: Endpoints, { spec }: Service): boolean {
  const hasSelector = Object.keys(spec?.selector ?? {}).length > 0;
  return (
    !hasSelector &&
    metadata.labels?.[skipMirrorLabel] !== 'true' &&
    metadata.annotations?.[leaderAnnotation] === undefined
  );
}
