/**
 * Ends of containers, told by containerd's own event service: releases before 1.7 have no events in the Container Runtime Interface,
 * and asking once a second would make every short-lived container half a second late. The service is behind the same socket.
 */
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { type Clock, sleep } from '../../../base/clock.ts';
import { type ContainerEvent, type ContainerRuntime, isRuntimeNotFound, runtimeLabels } from '../runtime.ts';
import type { CriConnection } from './connection.ts';

const path = '/containerd.services.events.v1.Events/Subscribe';
/** How long the interface may take to learn what the event already says. */
const settleMs = [0, 5, 10, 20, 50, 100, 200, 400, 800];

export async function* containerdEvents(
  runtime: ContainerRuntime,
  connection: CriConnection,
  clock: Clock,
  signal: AbortSignal | undefined,
): AsyncIterable<ContainerEvent> {
  const request = new BinaryWriter().tag(1, 2).string('topic=="/tasks/exit",namespace=="k8s.io"').finish();
  for await (const exit of connection.rawStream(path, Buffer.from(request), decodeExit, signal)) {
    // The end of a process that was executed in a container is not the container's.
    if (!exit || exit.processId !== exit.containerId) continue;
    const podUid = await ownerOnceEnded(runtime, exit.containerId, clock, signal);
    if (podUid) yield { containerId: exit.containerId, type: 'stopped', createdAtMs: clock.now(), podUid };
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

interface TaskExit {
  readonly containerId: string;
  readonly processId: string;
}

/** Envelope: the event is field 4, an Any whose value is field 2; in it field 1 is the container, field 2 the process. */
function decodeExit(envelope: Buffer): TaskExit | undefined {
  const any = bytesField(envelope, 4);
  const event = any && bytesField(any, 2);
  if (!event) return undefined;
  return { containerId: text(bytesField(event, 1)), processId: text(bytesField(event, 2)) };
}

const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();

function bytesField(message: Uint8Array, wanted: number): Uint8Array | undefined {
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [tag, wireType] = reader.tag();
    if (tag === wanted && wireType === 2) return reader.bytes();
    reader.skip(wireType, tag);
  }
  return undefined;
}
