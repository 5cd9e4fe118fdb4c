/**
 * What a kubelet must know before it does anything: its machine, its runtime, and what an earlier kubelet gave to Pods that may still run.
 * All of it is read again from the node's own files, so that a restart takes nothing away and gives nothing twice.
 */
import { messageOf } from '../apimachinery/status.ts';
import type { ComponentContext } from '../reconcile/component.ts';
import { isGateOn } from '../serving/feature-gates.ts';
import type { KubeletConfiguration } from './configuration.ts';
import type { NodeDevices } from './devices/node-devices.ts';
import { restoredDevices } from './devices/restored-devices.ts';
import { PreparedClaims } from './dynamic-resources/prepared-claims.ts';
import type { MachineFacts, NodeHost } from './host/host.ts';
import { PulledImages } from './images/pulled-images.ts';
import { KubeletMetrics } from './metrics/kubelet-metrics.ts';
import { Allocations } from './resize/allocations.ts';
import { NodeResources } from './resource-managers/node-resources.ts';
import type { ContainerRuntime, RuntimeVersion } from './runtime/runtime.ts';
import { UserNamespaces } from './user-namespaces.ts';

export interface KnownAtStart {
  readonly facts: MachineFacts;
  readonly version: RuntimeVersion;
  readonly devices: NodeDevices | undefined;
  readonly resources: NodeResources | undefined;
  readonly allocations: Allocations;
  readonly pulled: PulledImages | undefined;
  readonly users: UserNamespaces;
  /** Absent where there can be no drivers. */
  readonly claims: PreparedClaims | undefined;
  readonly metrics: KubeletMetrics;
}

export interface StartOptions {
  readonly configuration: KubeletConfiguration;
  readonly host: NodeHost;
  readonly runtime: ContainerRuntime;
}

/** Rejects when the runtime does not answer, or what an earlier kubelet noted does not fit the configuration. */
export async function knownAtStart(context: ComponentContext, options: StartOptions): Promise<KnownAtStart> {
  const { host, runtime } = options;
  const { log, signal } = context;
  const [facts, version] = await Promise.all([host.facts(), runtime.version({ signal })]);
  const metrics = new KubeletMetrics();
  const devices = await restoredDevices({ ...context, metrics }, host);
  const resources = await nodeResources(context, options, devices);
  const allocations = new Allocations({ state: host.state, log });
  await allocations.restore();
  const pulled = pulledImages(context, { ...options, metrics });
  await pulled?.restore(() => runtime.listImages({ signal }));
  const users = await userNamespaces(options);
  await users.restore();
  const claims = host.pluginSockets && new PreparedClaims(host.state);
  await claims?.restore();
  return { facts, version, devices, resources, allocations, pulled, users, claims, metrics };
}

async function userNamespaces({ configuration, host }: StartOptions): Promise<UserNamespaces> {
  const { maxPods, userNamespaceIdsPerPod: idsPerPod } = configuration;
  const range = await host.subordinateIds?.().catch((error) => {
    throw new Error(`create user namespace manager: kubelet mappings: ${messageOf(error)}`, { cause: error });
  });
  return new UserNamespaces({ state: host.state, idsPerPod, maxPods, range });
}

/** Undefined where an image that is here is for every Pod. */
function pulledImages(
  { clock, log }: ComponentContext,
  { configuration, host, metrics }: StartOptions & { readonly metrics: KubeletMetrics },
): PulledImages | undefined {
  if (!isGateOn(configuration.featureGates, 'KubeletEnsureSecretPulledImages')) return undefined;
  const verification = {
    policy: configuration.imagePullCredentialsVerificationPolicy,
    allowlist: configuration.preloadedImagesVerificationAllowlist,
  };
  return new PulledImages({ state: host.state, clock, log, verification, metrics });
}

/** Undefined where containers have nothing for themselves. Rejects when the checkpoint does not fit the configuration. */
async function nodeResources(
  { log }: ComponentContext,
  { configuration, host }: StartOptions,
  devices: NodeDevices | undefined,
): Promise<NodeResources | undefined> {
  if (!host.topology) return undefined;
  const topology = await host.topology();
  const resources = new NodeResources({ configuration, topology, state: host.state, log, devices });
  await resources.restore();
  return resources.isActive || devices ? resources : undefined;
}
