/**
 * The container runtime under a node of ours: a private containerd, started, taken over or started again when it dies, with the pause
 * image in it; or one of the user's own, which is left as it is.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { Readable } from 'node:stream';
import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { pauseImageArchive, pauseImageReference } from '../../kubelet/images/pause-image.ts';
import { connectRuntime } from '../../kubelet/runtime/cri/cri-runtime.ts';
import type { ContainerRuntime } from '../../kubelet/runtime/runtime.ts';
import { CommandError } from '../command-error.ts';
import type { ComponentSupervisor } from '../processes/component-supervisor.ts';
import { isRunning, type ProcessIdentity, processGone } from '../processes/processes.ts';
import { importImages } from './images.ts';
import type { NodeProcessOptions } from './node-process-options.ts';
import { type PrivateContainerd, startPrivateContainerd } from './private-containerd.ts';

export interface NodeRuntime {
  readonly connection: ContainerRuntime;
  readonly endpoint: string;
}

/** Resolves once the runtime answers and has the pause image. */
export async function openNodeRuntime(
  options: NodeProcessOptions,
  components: ComponentSupervisor,
): Promise<NodeRuntime> {
  const { clock, config } = options;
  const own = config.containerRuntimeEndpoint;
  if (own !== undefined) {
    try {
      return { connection: await connectRuntime({ clock, endpoint: own }), endpoint: own };
    } catch (error) {
      throw new CommandError(
        `no container runtime answers at ${own}: ${messageOf(error)}`,
        'Start it, give another --container-runtime-endpoint, or use --runtime simulated.',
      );
    }
  }
  const containerd = await startPrivate(options);
  const endpoint = `unix://${containerd.socket}`;
  const connection = await connectStarting(endpoint, containerd.process, clock);
  components.run('containerd', async (signal) => {
    // After a failure this runs again, and starts what has died.
    const { process } = await startPrivate(options);
    await processGone(clock, process, signal);
    throw new Error('containerd ended');
  });
  await ensurePauseImage(options, connection, containerd);
  return { connection, endpoint };
}

/** Waits as long as the process lives: the socket answers a moment before the interface behind it is ready. */
export async function connectStarting(
  endpoint: string,
  process: ProcessIdentity,
  clock: Clock,
): Promise<ContainerRuntime> {
  const deadline = clock.monotonic() + interfaceReadyMs;
  for (;;) {
    try {
      // Nobody could bring the pause image back if it were collected.
      return await connectRuntime({ clock, endpoint, pinnedImages: [pauseImageReference] });
    } catch (error) {
      if (!isRunning(process) || clock.monotonic() > deadline)
        throw new CommandError(
          `containerd does not answer at ${endpoint}: ${messageOf(error)}`,
          'Its log is run/containerd.log in the data directory.',
        );
      await sleep(clock, 20);
    }
  }
}

const interfaceReadyMs = 20_000;

function startPrivate({ directory, machine, clock }: NodeProcessOptions): Promise<PrivateContainerd> {
  // Nobody else may look into these: Secrets are mounted below.
  for (const folder of [directory.kubeletRoot, directory.podLogs, directory.staticPods])
    if (!existsSync(folder)) mkdirSync(folder, { recursive: true, mode: 0o750 });
  return startPrivateContainerd(directory, { clock, machine });
}

/** Imported from our own bytes, so that nothing is pulled to start a node. */
async function ensurePauseImage(
  { clock, machine }: NodeProcessOptions,
  connection: ContainerRuntime,
  containerd: PrivateContainerd,
): Promise<void> {
  const present = async () => (await connection.imageStatus({ image: pauseImageReference })) !== undefined;
  if (await present()) return;
  const content = Readable.from([pauseImageArchive()]);
  await importImages(machine, containerd.socket, { name: pauseImageReference, content });
  // The runtime learns of the import by an event of its own.
  while (!(await present())) await sleep(clock, 20);
}
