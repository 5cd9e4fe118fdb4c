/**
 * A CSI driver of the tests, on a real socket: it keeps what it is asked, makes a folder where it shall publish a volume and takes it
 * away again. A test scripts single calls: to fail, to hang, or to answer something else.
 */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { GrpcError, type GrpcServer } from '../../base/grpc/index.ts';
import type { RequestOf, ResponseOf } from '../grpc/codec.ts';
import { type GrpcHandlers, handleTable } from '../grpc/table-handlers.ts';
import {
  type NodeMethods,
  type NodeServiceCapabilityRPCType,
  nodeService,
  type VolumeCapability,
} from './gen/csi-v1.ts';

type Method = keyof NodeMethods & string;
type Script<M extends Method> = (request: RequestOf<NodeMethods, M>) => Promise<ResponseOf<NodeMethods, M>>;

export interface CsiCall {
  readonly method: Method;
  readonly request: Readonly<Record<string, unknown>> & { readonly volumeCapability?: VolumeCapability };
}

export class ScriptedCsiDriver {
  /** What it was asked, its capabilities aside; oldest first. */
  readonly calls: CsiCall[] = [];
  capabilities: readonly NodeServiceCapabilityRPCType[] = ['STAGE_UNSTAGE_VOLUME'];
  nodeId = 'node-id';
  maxVolumes = 0;
  topology: Readonly<Record<string, string>> = {};
  readonly #scripts = new Map<Method, Script<never>>();

  /** From now on; without a script: as it does by itself. */
  script<M extends Method>(method: M, script?: Script<M>): void {
    if (script) this.#scripts.set(method, script as Script<never>);
    else this.#scripts.delete(method);
  }

  fail(method: Method, code: number, message: string): void {
    this.#scripts.set(method, () => Promise.reject(new GrpcError(code, message)));
  }

  /** Methods that it was asked for since the last time, capabilities aside. */
  asked(): readonly Method[] {
    return this.calls.splice(0).map(({ method }) => method);
  }

  readonly serve = (server: GrpcServer): void => {
    const answers: { [M in Method]: Script<M> } = {
      NodeGetCapabilities: async () => ({ capabilities: this.capabilities.map((type) => ({ rpc: { type } })) }),
      NodeGetInfo: async () => ({
        nodeId: this.nodeId,
        maxVolumesPerNode: BigInt(this.maxVolumes),
        accessibleTopology: { segments: this.topology },
      }),
      NodeStageVolume: async () => ({}),
      NodeUnstageVolume: async () => ({}),
      NodePublishVolume: async ({ targetPath, volumeCapability }) => {
        if (volumeCapability?.block) await writeFile(targetPath, '');
        else await mkdir(targetPath, { recursive: true });
        return {};
      },
      NodeUnpublishVolume: async ({ targetPath }) => {
        await rm(targetPath, { recursive: true, force: true });
        return {};
      },
      NodeExpandVolume: async ({ capacityRange }) => ({ capacityBytes: capacityRange?.requiredBytes ?? 0n }),
      NodeGetVolumeStats: async () => ({ usage: [], volumeCondition: undefined }),
    };
    const handlers = Object.fromEntries(
      Object.keys(answers).map((name) => {
        const method = name as Method;
        const handle = (request: never) => {
          if (method !== 'NodeGetCapabilities') this.calls.push({ method, request });
          return (this.#scripts.get(method) ?? (answers[method] as Script<never>))(request);
        };
        return [method, handle];
      }),
    );
    handleTable(server, nodeService, handlers as GrpcHandlers<NodeMethods>);
  };
}
