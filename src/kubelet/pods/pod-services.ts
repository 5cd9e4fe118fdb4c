/** What every Pod worker of a kubelet shares. */
import type { Pod, Service } from '../../api/gen/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { CauseNote } from '../../reconcile/causes.ts';
import type { KubeletConfiguration } from '../configuration.ts';
import type { NodeCsi } from '../csi/node-csi.ts';
import type { NodeDevices } from '../devices/node-devices.ts';
import type { DynamicResources } from '../dynamic-resources/dynamic-resources.ts';
import type { MachineFacts, NodeHost } from '../host/host.ts';
import type { ImagePuller } from '../images/image-puller.ts';
import type { KeyedBackoff } from '../keyed-backoff.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { Prober } from '../probes/prober.ts';
import type { Allocations } from '../resize/allocations.ts';
import type { NodeResources } from '../resource-managers/node-resources.ts';
import type { ContainerRuntime, RuntimeHandler } from '../runtime/runtime.ts';
import type { UserNamespaces } from '../user-namespaces.ts';
import type { ReferencedObjects } from '../volumes/referenced-objects.ts';
import type { VolumeSources } from '../volumes/volume-sources.ts';
import type { StatusWriter } from './status-writer.ts';

export interface PodServices {
  readonly nodeName: string;
  readonly configuration: KubeletConfiguration;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly runtime: ContainerRuntime;
  /** `containerd`: the scheme of container ids. */
  readonly runtimeName: string;
  readonly host: NodeHost;
  readonly metrics: KubeletMetrics;
  readonly statuses: StatusWriter;
  readonly images: ImagePuller;
  readonly userNamespaces: UserNamespaces;
  readonly prober: Prober;
  readonly objects: ReferencedObjects;
  readonly volumeSources: VolumeSources;
  readonly restartBackoff: KeyedBackoff;
  readonly facts: MachineFacts;
  /** What containers were given, which may be other than what they now ask for. */
  readonly allocations: Allocations;
  /** Who has processors, memory and devices for itself; absent: nobody has. */
  readonly resources?: NodeResources | undefined;
  /** Absent where there can be no CSI drivers. */
  readonly csi?: NodeCsi | undefined;
  /** Absent: there are none. */
  readonly devices?: NodeDevices | undefined;
  /** Absent where there can be no drivers of claimed devices. */
  readonly dynamicResources?: DynamicResources | undefined;
  /** The groups above Pods get what they need for the Pods that there are now. What fails is tried again later, and is no Pod's business. */
  ensureNodeCgroups(): Promise<void>;
  /** All Services known; empty until they are. */
  services(): readonly Service[];
  /** Whether Services are known, so that a container's environment can be made. */
  servicesReady(): boolean;
  hostIps(): readonly string[];
  /** Why the node has not enough for what a Pod of its own asks for now. */
  resizeRejection(pod: Pod): { readonly reason: string; readonly message: string } | undefined;
  allocatable(): Readonly<Record<string, string>>;
  /** What the runtime can do when it runs Pods in this way; undefined when it has not told. */
  runtimeHandler(name: string): RuntimeHandler | undefined;
  /** Whether the runtime may have something of a Pod for which this kubelet has made nothing. */
  mayHave(podUid: string): boolean;
  /** Why Pods cannot have a network now; undefined when they can. */
  networkProblem(): string | undefined;
  /** `container` names the container it is about. */
  /** What holds the Pod up from now on, in place of what did before. */
  explain(pod: Pod, causes: readonly CauseNote[]): void;
  event(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string, container?: string): void;
}
