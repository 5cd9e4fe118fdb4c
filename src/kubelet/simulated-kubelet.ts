/**
 * A kubelet on a machine and a runtime that are not there: for embedded control planes, `--runtime simulated` and the simulator. All
 * that differs from a real node is what is passed to `startKubelet`.
 */
import type { ComponentContext } from '../reconcile/component.ts';
import type { KubeletConfiguration } from './configuration.ts';
import type { MachineFacts } from './host/host.ts';
import { type SimulatedHostOptions, simulatedHost } from './host/simulated-host.ts';
import { type Kubelet, startKubelet } from './kubelet.ts';
import { type SimulatedDelays, SimulatedRuntime } from './runtime/simulated/simulated-runtime.ts';

export interface SimulatedKubeletOptions {
  readonly nodeName: string;
  readonly configuration?: Partial<KubeletConfiguration> | undefined;
  readonly facts?: Partial<MachineFacts> | undefined;
  readonly addresses?: readonly string[] | undefined;
  readonly delays?: Partial<SimulatedDelays> | undefined;
  readonly probe?: SimulatedHostOptions['probe'];
  readonly version?: string | undefined;
  /** Follow ConfigMaps, Secrets and Services as a real node does; default: no, for the sake of thousands. */
  readonly watches?: boolean | undefined;
}

export interface SimulatedKubelet extends Kubelet {
  /** The runtime with its levers: `crash`, `logOf`. */
  readonly runtime: SimulatedRuntime;
}

export async function startSimulatedKubelet(
  context: ComponentContext,
  options: SimulatedKubeletOptions,
): Promise<SimulatedKubelet> {
  const { nodeName, configuration, facts, addresses, delays, probe, version, watches = false } = options;
  let kubelet: Kubelet | undefined;
  const runtime = new SimulatedRuntime({
    clock: context.clock,
    random: context.random,
    delays,
    // Known once a controller has given the node its range; until then Pods get addresses of a range that no node has.
    podCidr: () => kubelet?.node?.spec?.podCIDR || configuration?.podCidr || undefined,
  });
  const host = simulatedHost({ facts, addresses, probe, logOf: (path) => runtime.logOf(path) });
  const quiet: Partial<KubeletConfiguration> = { syncFrequencyMs: 0, ...configuration };
  kubelet = await startKubelet(context, {
    nodeName,
    runtime,
    host,
    configuration: quiet,
    version,
    watches,
    evicts: false,
  });
  context.signal.addEventListener('abort', () => runtime.close(), { once: true });
  return kubelet as SimulatedKubelet;
}
