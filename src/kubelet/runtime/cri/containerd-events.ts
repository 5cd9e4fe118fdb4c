/**
 * Ends of containers, told by containerd's own event service: releases before 1.7 have no events in the Container Runtime Interface,
 * and asking once a second would make every short-lived container half a second late. The service is behind the same socket.
 */
import { type Clock, sleep } from '../../../base/clock.ts';
import { messageCodec } from '../../../base/protobuf/message-codec.ts';
import { type ContainerEvent, type ContainerRuntime, isRuntimeNotFound, runtimeLabels } from '../runtime.ts';
import type { CriConnection } from './connection.ts';

const subscribe = {
  path: '/containerd.services.events.v1.Events/Subscribe',
  request: messageCodec({ filters: [1, ['string']] } as const),
  /** The event within is a `TaskExit`, since no other is asked for. */
  response: messageCodec({ event: [4, { value: [2, 'bytes'] }] } as const),
};
const taskExit = messageCodec({ containerId: [1, 'string'], processId: [2, 'string'] } as const);
const exits = { filters: ['topic=="/tasks/exit",namespace=="k8s.io"'] };
/** How long the interface may take to learn what the event already says. */
const settleMs = [0, 5, 10, 20, 50, 100, 200, 400, 800];

export async function* containerdEvents(
  runtime: ContainerRuntime,
  connection: CriConnection,
  clock: Clock,
  signal: AbortSignal | undefined,
): AsyncIterable<ContainerEvent> {
  for await (const { event } of connection.otherStream(subscribe, exits, signal)) {
    if (!event?.value.length) continue;
    const { containerId, processId } = taskExit.decode(event.value);
    // The end of a process that was executed in a container is not the container's.
    if (processId !== containerId) continue;
    const podUid = await ownerOnceEnded(runtime, containerId, clock, signal);
    if (podUid) yield { containerId, type: 'stopped', createdAtMs: clock.now(), podUid };
  }
}

/** The Pod's uid, as soon as the runtime shows the container, or the sandbox of that id, as ended. */
async function ownerOnceEnded(
  runtime: ContainerRuntime,
  id: string,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  let uid: string | undefined;
  for (const delayMs of settleMs) {
    if (delayMs > 0) await sleep(clock, delayMs, signal);
    try {
      const status = await runtime.containerStatus(id, { signal });
      uid = status.labels[runtimeLabels.podUid];
      if (status.state === 'exited') return uid;
    } catch (error) {
      if (!isRuntimeNotFound(error)) throw error;
      const sandbox = await runtime.podSandboxStatus(id, { signal }).catch(() => undefined);
      if (!sandbox) return uid;
      uid = sandbox.labels[runtimeLabels.podUid];
      if (sandbox.state === 'notReady') return uid;
    }
  }
  return uid;
}
