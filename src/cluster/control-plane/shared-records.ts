/** What API servers that share a store keep in it to agree with each other; loaded only by those that do. */
import type { Endpoints, RangeAllocation } from '../../api/gen/core-v1.ts';
import { isLoopback, parseIp } from '../../apimachinery/addresses.ts';
import { ServerLeases, serverLeases } from '../../apiserver/bootstrap/server-leases.ts';
import type { BytesStore } from '../../apiserver/index.ts';
import { KeptRecords } from '../../apiserver/kept-records.ts';
import { defaultNodePortRange, type PortRange } from '../../apiserver/services/node-ports.ts';
import { runPortRepair } from '../../apiserver/services/port-repair.ts';
import type { ComponentContext } from '../../reconcile/component.ts';

export interface SharedRecords {
  /** Undefined where this server has no address that others could use. */
  readonly servers: ServerLeases | undefined;
  readonly nodePorts: KeptRecords<RangeAllocation>;
  /** Never rejects. */
  repair(context: ComponentContext): Promise<void>;
}

interface Settings {
  /** Of this server. */
  readonly address: string | undefined;
  readonly nodePortRange: PortRange | undefined;
}

export function recordsOver(store: BytesStore, { address, nodePortRange }: Settings): SharedRecords {
  const nodePorts = new KeptRecords<RangeAllocation>(placeOf('services', store), 'v1', 'RangeAllocation');
  const ip = address === undefined ? undefined : parseIp(address);
  return {
    servers:
      address === undefined || !ip || isLoopback(ip)
        ? undefined
        : new ServerLeases({
            records: new KeptRecords<Endpoints>(placeOf(serverLeases, store), 'v1', 'Endpoints'),
            address,
          }),
    nodePorts,
    repair: (context) => runPortRepair(context, { records: nodePorts, range: nodePortRange ?? defaultNodePortRange }),
  };
}

function placeOf(resource: string, home: BytesStore): BytesStore {
  const place = home.further?.find(({ keeps }) => keeps(resource));
  return place ? { ...home, store: place.store } : home;
}
