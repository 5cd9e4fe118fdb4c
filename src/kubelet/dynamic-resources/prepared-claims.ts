/**
 * The ResourceClaims that Pods of this node use: which drivers have devices in each, what the drivers made ready for containers, and who uses
 * it. All of it is in the file `dra_manager_state`, as upstream's kubelet writes and reads it, before a driver is asked for anything, so
 * that a kubelet that starts anew gives back what an earlier one took:
 *
 *     {"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/v1\",\"ClaimInfoStateList\":[...]}","Checksum":123}
 */
import { crc32 } from 'node:zlib';
import { messageOf } from '../../apimachinery/status.ts';
import type { StateFiles } from '../host/host.ts';

export interface PreparedDevice {
  readonly pool: string;
  readonly device: string;
  /** Of a device that is shared. */
  readonly shareId: string | undefined;
  /** Empty: of all requests. */
  readonly requests: readonly string[];
  /** By names of the Container Device Interface. */
  readonly cdiIds: readonly string[];
}

export interface PreparedClaim {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly podUids: Set<string>;
  /** Drivers that have devices in it, whether or not they have made any ready. */
  readonly drivers: Map<string, readonly PreparedDevice[]>;
  /** All drivers have done so since this kubelet started. */
  isReady: boolean;
}

const file = 'dra_manager_state';

export class PreparedClaims {
  readonly #state: StateFiles;
  readonly #claims = new Map<string, PreparedClaim>();
  #saving: Promise<void> = Promise.resolve();

  constructor(state: StateFiles) {
    this.#state = state;
  }

  /** Rejects for a file that others changed: what drivers made ready would never be given back. */
  async restore(): Promise<void> {
    const text = await this.#state.read(file);
    if (text === undefined) return;
    try {
      for (const claim of parse(text)) this.add(claim);
    } catch (error) {
      throw new Error(`create ResourceClaim cache: GetOrCreate() on checkpoint state: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  get(namespace: string, name: string): PreparedClaim | undefined {
    return this.#claims.get(`${namespace}/${name}`);
  }

  add(claim: PreparedClaim): void {
    this.#claims.set(`${claim.namespace}/${claim.name}`, claim);
  }

  delete({ namespace, name }: PreparedClaim): void {
    this.#claims.delete(`${namespace}/${name}`);
  }

  all(): readonly PreparedClaim[] {
    return [...this.#claims.values()];
  }

  usedBy(podUid: string): readonly PreparedClaim[] {
    return this.all().filter(({ podUids }) => podUids.has(podUid));
  }

  /** As it is when this is called, or newer. */
  save(): Promise<void> {
    const text = format(this.all());
    const written = this.#saving.then(() => this.#state.write(file, text));
    this.#saving = written.catch(() => undefined);
    return written;
  }
}

interface FileClaim {
  readonly ClaimUID: string;
  readonly ClaimName: string;
  readonly Namespace: string;
  /** A set in Go. */
  readonly PodUIDs: Readonly<Record<string, object>> | null;
  readonly DriverState: Readonly<Record<string, { readonly Devices: readonly FileDevice[] | null }>> | null;
}

interface FileDevice {
  readonly PoolName: string;
  readonly DeviceName: string;
  readonly ShareID: string | null;
  readonly RequestNames: readonly string[] | null;
  readonly CDIDeviceIDs: readonly string[] | null;
}

function format(claims: readonly PreparedClaim[]): string {
  const list = claims.map(
    (claim): FileClaim => ({
      ClaimUID: claim.uid,
      ClaimName: claim.name,
      Namespace: claim.namespace,
      PodUIDs: Object.fromEntries([...claim.podUids].map((uid) => [uid, {}])),
      DriverState: Object.fromEntries(
        [...claim.drivers].map(([driver, devices]) => [
          driver,
          { Devices: devices.length > 0 ? devices.map(fileDevice) : null },
        ]),
      ),
    }),
  );
  const data = JSON.stringify({
    kind: 'DRACheckpoint',
    apiVersion: 'checkpoint.dra.kubelet.k8s.io/v1',
    ClaimInfoStateList: list,
  });
  return JSON.stringify({ Data: data, Checksum: crc32(data) });
}

function fileDevice({ cdiIds, device, pool, requests, shareId }: PreparedDevice): FileDevice {
  return {
    PoolName: pool,
    DeviceName: device,
    ShareID: shareId ?? null,
    RequestNames: requests.length > 0 ? requests : null,
    CDIDeviceIDs: cdiIds.length > 0 ? cdiIds : null,
  };
}

function parse(text: string): readonly PreparedClaim[] {
  const { Checksum: checksum, Data: data } = JSON.parse(text) as { readonly Data: string; readonly Checksum: number };
  if (crc32(data) !== checksum) throw new Error('checkpoint is corrupted');
  const { ClaimInfoStateList: list } = JSON.parse(data) as { readonly ClaimInfoStateList: readonly FileClaim[] | null };
  return (list ?? []).map((claim) => ({
    uid: claim.ClaimUID,
    name: claim.ClaimName,
    namespace: claim.Namespace,
    podUids: new Set(Object.keys(claim.PodUIDs ?? {})),
    drivers: new Map(
      Object.entries(claim.DriverState ?? {}).map(([driver, { Devices }]) => [
        driver,
        (Devices ?? []).map((one) => ({
          pool: one.PoolName,
          device: one.DeviceName,
          shareId: one.ShareID ?? undefined,
          requests: one.RequestNames ?? [],
          cdiIds: one.CDIDeviceIDs ?? [],
        })),
      ]),
    ),
    isReady: false,
  }));
}
