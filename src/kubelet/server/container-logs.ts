/** `/containerLogs/NAMESPACE/POD/CONTAINER`: what `kubectl logs` shows, with upstream's parameters and refusals. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { parseTime } from '../../apimachinery/time.ts';
import type { LogOptions } from '../logs/container-log.ts';
import type { KubeletView } from './kubelet-view.ts';
import { failure, Refusal, type Reply, wrongMethod } from './replies.ts';

export interface LogRequest {
  readonly method: string;
  /** What stands after `/containerLogs/`. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  /** Aborted when the reader has gone. */
  readonly signal: AbortSignal;
}

export async function containerLogs(view: KubeletView, request: LogRequest): Promise<Reply> {
  if (request.method !== 'GET') return wrongMethod();
  const [namespace = '', name = '', container = ''] = request.segments;
  const options = logOptions(request.query);
  const pod = view.pod(namespace, name);
  if (!pod) return failure(404, `pod ${JSON.stringify(name)} does not exist`);
  if (!containerNames(pod).includes(container)) {
    return failure(404, `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(name)}`);
  }
  try {
    const body = await view.containerLog(pod, container, { ...options, signal: request.signal });
    return { status: 200, headers: { 'content-type': 'text/plain' }, body: untilFailure(body, request.signal) };
  } catch (error) {
    return failure(400, messageOf(error));
  }
}

/** The names of all containers that a Pod defines, of whichever sort. */
function containerNames({ spec }: Pod): string[] {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  return [...initContainers, ...containers, ...ephemeralContainers].map((container) => container.name);
}

/** The answer has begun when a log turns out to be unreadable: the reader finds the reason at its end, as upstream's do. */
async function* untilFailure(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncIterable<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    if (!signal.aborted) yield Buffer.from(messageOf(error));
  }
}

/** Throws a `Refusal` for parameters without sense. */
function logOptions(query: URLSearchParams): LogOptions {
  const undecodable = () => new Refusal(400, '{"message": "Unable to decode query."}');
  const invalid = () => new Refusal(422, '{"message": "Invalid request."}');
  const whole = (name: string, least: number): number | undefined => {
    const text = query.get(name);
    if (text === null) return undefined;
    if (!/^[+-]?\d+$/.test(text)) throw undecodable();
    if (Number(text) < least) throw invalid();
    return Number(text);
  };
  const flag = (name: string) => {
    const value = query.get(name);
    return value !== null && value !== '0' && value.toLowerCase() !== 'false';
  };
  const sinceTime = query.get('sinceTime') || undefined;
  if (sinceTime !== undefined && parseTime(sinceTime) === undefined) throw undecodable();
  const tail = query.get('tail');
  if (tail) {
    if (tail === 'all') query.delete('tailLines');
    else query.set('tailLines', tail);
  }
  const sinceSeconds = whole('sinceSeconds', 1);
  if (sinceSeconds !== undefined && sinceTime !== undefined) throw invalid();
  const stream = query.get('stream') ?? undefined;
  if (stream !== undefined && !['All', 'Stdout', 'Stderr'].includes(stream)) throw invalid();
  return {
    follow: flag('follow'),
    previous: flag('previous'),
    timestamps: flag('timestamps'),
    tailLines: whole('tailLines', 0),
    limitBytes: whole('limitBytes', 1),
    sinceSeconds,
    sinceTime,
    stream,
  };
}
