/**
 * A controller of a custom resource: a Fleet (`fleet.yaml`) owns a ConfigMap for each of its boats, named `herring-0`, `herring-1` and so
 * on, and tells in its status how many are afloat. Boats that somebody sinks are built anew; those of a fleet that is deleted go with it,
 * by their owner reference.
 *
 *     kubectl apply -f examples/04-custom-resource/fleet.yaml -f examples/04-custom-resource/herring.yaml
 *     kubectl scale fleet herring --replicas=5
 *     kubectl get fleets -o wide
 */
import { configMaps } from 'coracle/api/core-v1';
import { customResource, type KubeObject, splitKey } from 'coracle/client';
import { type ComponentContext, createController } from 'coracle/reconcile';

export interface Fleet extends KubeObject {
  readonly spec: { readonly boats: number; readonly berths?: number; readonly colour?: string };
  readonly status?: { readonly boats: number; readonly phase: string; readonly selector: string };
}

const gvk = { group: 'example.com', version: 'v1', kind: 'Fleet' };
export const fleets = customResource<Fleet>(gvk, { resource: 'fleets', namespaced: true });

const fleetLabel = 'example.com/fleet';

export async function runFleetController(context: ComponentContext): Promise<void> {
  const { client, informers } = context;
  const wanted = informers.of(fleets);
  const boats = informers.of(configMaps, { labelSelector: fleetLabel });

  async function reconcile(key: string): Promise<void> {
    const fleet = wanted.get(key);
    if (!fleet || fleet.metadata.deletionTimestamp) return;
    const { namespace, name } = splitKey(key);
    const afloat = new Set(
      boats
        .list(namespace)
        .filter(({ metadata }) => metadata.labels?.[fleetLabel] === name)
        .map(({ metadata }) => metadata.name ?? ''),
    );
    const names = Array.from({ length: fleet.spec.boats }, (_, number) => `${name}-${number}`);
    for (const boat of names) if (!afloat.has(boat)) await client.create(configMaps, boatOf(fleet, boat));
    for (const boat of afloat) if (!names.includes(boat)) await client.delete(configMaps, { namespace, name: boat });

    const count = names.filter((boat) => afloat.has(boat)).length;
    const phase = count === names.length ? 'Afloat' : 'Building';
    const status = { boats: count, phase, selector: `${fleetLabel}=${name}` };
    if (fleet.status?.boats === count && fleet.status.phase === phase) return;
    await client.updateStatus(fleets, { ...fleet, status });
  }

  const controller = createController(context, { name: 'fleet-controller', reconcile });
  controller.watch(wanted);
  controller.watchOwned(boats, { group: gvk.group, kind: gvk.kind, namespaced: true });
  await controller.run();
}

function boatOf({ metadata: { namespace, name = '', uid = '' }, spec }: Fleet, boat: string) {
  const owner = { apiVersion: 'example.com/v1', kind: gvk.kind, name, uid, controller: true, blockOwnerDeletion: true };
  return {
    metadata: { namespace, name: boat, labels: { [fleetLabel]: name }, ownerReferences: [owner] },
    data: { colour: spec.colour ?? 'tarred' },
  };
}
