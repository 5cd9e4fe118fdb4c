/**
 * One CSI driver of this node, as the kubelet calls it. Each call is limited to two minutes and counted; it rejects with a `GrpcError`
 * in the driver's words. What the driver can do is asked each time, for a driver may be replaced without registering anew.
 */

import type { Clock } from '../../base/clock.ts';
import { GrpcError, grpcCodes } from '../../base/grpc/index.ts';
import { grpcMethod, type Outgoing, type RequestOf, type ResponseOf } from '../grpc/codec.ts';
import { DriverSocket } from '../grpc/driver-socket.ts';
import type { CsiCallObserver } from './csi-metrics.ts';
import type { CsiVolume } from './csi-volume.ts';
import {
  type NodeMethods,
  type NodeServiceCapabilityRPCType,
  nodeService,
  type VolumeCapability,
  type VolumeCapabilityAccessModeMode,
} from './gen/csi-v1.ts';

export type CsiCapabilities = ReadonlySet<NodeServiceCapabilityRPCType>;

export interface CsiDriverOptions {
  readonly name: string;
  readonly endpoint: string;
  readonly clock: Clock;
  readonly observe: CsiCallObserver;
}

const callTimeoutMs = 120_000;

export class CsiDriver {
  readonly name: string;
  readonly #socket: DriverSocket;

  constructor({ name, endpoint, clock, observe }: CsiDriverOptions) {
    this.name = name;
    this.#socket = new DriverSocket({
      what: `CSI driver ${name}`,
      endpoint,
      clock,
      callTimeoutMs,
      onCall: (path, code, tookMs) => observe(name, path, code, tookMs / 1000),
    });
  }

  call<M extends keyof NodeMethods & string>(
    method: M,
    request: Outgoing<RequestOf<NodeMethods, M>>,
  ): Promise<ResponseOf<NodeMethods, M>> {
    return this.#socket.call(grpcMethod(nodeService, method), request);
  }

  async capabilities(): Promise<CsiCapabilities> {
    const { capabilities } = await this.call('NodeGetCapabilities', {});
    return new Set(capabilities.flatMap(({ rpc }) => (rpc ? [rpc.type] : [])));
  }

  /** Nothing is asked of it from now on. */
  close(): void {
    this.#socket.close();
  }
}

/** How a volume is to be used, in the driver's terms. `fsGroup`: where the driver itself gives files to a group. */
export function volumeCapability(
  volume: CsiVolume,
  capabilities: CsiCapabilities,
  fsGroup?: number,
): Outgoing<VolumeCapability> {
  const { accessModes, isBlock, fsType, mountOptions } = volume;
  const modes = capabilities.has('SINGLE_NODE_MULTI_WRITER') ? finerAccessModes : accessModesOfAll;
  const accessMode = { mode: modes[accessModes[0] ?? 'ReadWriteOnce'] ?? 'UNKNOWN' };
  if (isBlock) return { accessMode, block: {} };
  const volumeMountGroup = fsGroup === undefined ? '' : String(fsGroup);
  return { accessMode, mount: { fsType, mountFlags: mountOptions, volumeMountGroup } };
}

const accessModesOfAll: Readonly<Record<string, VolumeCapabilityAccessModeMode>> = {
  ReadWriteOnce: 'SINGLE_NODE_WRITER',
  ReadOnlyMany: 'MULTI_NODE_READER_ONLY',
  ReadWriteMany: 'MULTI_NODE_MULTI_WRITER',
  ReadWriteOncePod: 'SINGLE_NODE_WRITER',
};

/** Of drivers that tell one Pod from several on a node. */
const finerAccessModes: Readonly<Record<string, VolumeCapabilityAccessModeMode>> = {
  ...accessModesOfAll,
  ReadWriteOnce: 'SINGLE_NODE_MULTI_WRITER',
  ReadWriteOncePod: 'SINGLE_NODE_SINGLE_WRITER',
};

const uncertainCodes: ReadonlySet<number> = new Set([
  grpcCodes.cancelled,
  grpcCodes.deadlineExceeded,
  grpcCodes.unavailable,
  grpcCodes.resourceExhausted,
  grpcCodes.aborted,
]);

/** Whether a failed call has surely left nothing under way: what was prepared for it can be taken away. */
export function isFinal(error: unknown): boolean {
  return error instanceof GrpcError && !uncertainCodes.has(error.code);
}
