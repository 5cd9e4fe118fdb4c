/**
 * The checkpoint file of devices, `kubelet_internal_checkpoint`, as upstream's kubelet writes and reads it: monitors of devices read it
 * too. Its checksum is FNV-1a over what Go's spew prints of the data, types and all.
 *
 *     {"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"a.b/c","DeviceIDs":{"-1":["d"]},"AllocResp":"..."}],
 *       "RegisteredDevices":{"a.b/c":["d"]}},"Checksum":3660592824}
 */
import { fnv1a } from '../../base/fnv.ts';
import { wire } from './gen/device-plugin-v1beta1.ts';
import type { HeldEntry } from './held-devices.ts';

const allocateResponse = wire.codec('ContainerAllocateResponse');

export interface DeviceCheckpoint {
  readonly held: readonly HeldEntry[];
  /** Healthy devices by resource. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
}

interface Data {
  readonly PodDeviceEntries: readonly FileEntry[] | null;
  readonly RegisteredDevices: Readonly<Record<string, readonly string[] | null>> | null;
}

interface FileEntry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  readonly DeviceIDs: Readonly<Record<string, readonly string[] | null>> | null;
  /** Base64. */
  readonly AllocResp: string | null;
}

export function formatDeviceCheckpoint({ held, registered }: DeviceCheckpoint): string {
  const entries = held.map(({ podUid, container, resource, byNode, response }) => ({
    PodUID: podUid,
    ContainerName: container,
    ResourceName: resource,
    DeviceIDs: Object.fromEntries(byNode),
    AllocResp: allocateResponse.encode(response).toString('base64'),
  }));
  const data: Data = {
    PodDeviceEntries: entries.length > 0 ? entries : null,
    RegisteredDevices: Object.fromEntries(registered),
  };
  return JSON.stringify({ Data: data, Checksum: checksumOf(data) });
}

/** Throws for what is no checkpoint, and for one that was changed by others. */
export function parseDeviceCheckpoint(text: string): DeviceCheckpoint {
  const { Data: data, Checksum: checksum } = JSON.parse(text) as { readonly Data: Data; readonly Checksum: number };
  if (checksumOf(data) !== checksum) throw new Error('checkpoint is corrupted');
  return {
    held: (data.PodDeviceEntries ?? []).map((entry) => ({
      podUid: entry.PodUID,
      container: entry.ContainerName,
      resource: entry.ResourceName,
      byNode: new Map(Object.entries(entry.DeviceIDs ?? {}).map(([node, ids]) => [Number(node), ids ?? []])),
      response: allocateResponse.decode(Buffer.from(entry.AllocResp ?? '', 'base64')),
    })),
    registered: new Map(Object.entries(data.RegisteredDevices ?? {}).map(([name, ids]) => [name, ids ?? []])),
  };
}

function checksumOf({ PodDeviceEntries: entries, RegisteredDevices: registered }: Data): number {
  const strings = (list: readonly string[] | null) => (list ? `[${list.join(' ')}]` : nil);
  const byText = (a: string, b: string) => (a < b ? -1 : 1);
  const byNumber = (a: string, b: string) => Number(a) - Number(b);
  const map = (from: Data['RegisteredDevices'], order: (a: string, b: string) => number) => {
    if (!from) return nil;
    const keys = Object.keys(from).sort(order);
    return `map[${keys.map((key) => `${key}:${strings(from[key] ?? null)}`).join(' ')}]`;
  };
  const bytes = (base64: string | null) =>
    base64 === null ? nil : `[${[...Buffer.from(base64, 'base64')].join(' ')}]`;
  const entry = (one: FileEntry) =>
    `{PodUID:(string)${one.PodUID} ContainerName:(string)${one.ContainerName} ResourceName:(string)${one.ResourceName} ` +
    `DeviceIDs:(checkpoint.DevicesPerNUMA)${map(one.DeviceIDs, byNumber)} AllocResp:([]uint8)${bytes(one.AllocResp)}}`;
  const list = entries ? `[${entries.map(entry).join(' ')}]` : nil;
  return fnv1a(
    `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)${list} ` +
      `RegisteredDevices:(map[string][]string)${map(registered, byText)}}`,
  );
}

const nil = '<nil>';
