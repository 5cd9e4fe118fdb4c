/**
 * Runs probes and hooks: one attempt of an exec, HTTP, TCP or gRPC check against a running container, in upstream's words. When and
 * how often is `probe-worker.ts`'s matter.
 */
import type { Container, HTTPGetAction, Pod, Probe } from '../../api/gen/core-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { formatDuration } from '../../apimachinery/time.ts';
import { hostPort } from '../../base/host-port.ts';
import { expand } from '../containers/expansion.ts';
import type { NetworkProber, ProbeOutcome } from '../host/host.ts';
import { type ContainerRuntime, RuntimeError } from '../runtime/runtime.ts';

export interface ProbeTarget {
  readonly pod: Pod;
  readonly container: Container;
  readonly containerId: string;
  /** Of the Pod, or of the node for a Pod on the host's network. */
  readonly ip: string;
}

const maxOutputBytes = 10 * 1024;

export class Prober {
  readonly #runtime: ContainerRuntime;
  readonly #network: NetworkProber;

  constructor(runtime: ContainerRuntime, network: NetworkProber) {
    this.#runtime = runtime;
    this.#network = network;
  }

  async probe(probe: Probe, target: ProbeTarget, signal: AbortSignal): Promise<ProbeOutcome> {
    const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
    if (probe.exec) return this.exec(target, probe.exec.command ?? [], timeoutMs, signal);
    if (probe.httpGet)
      return this.#network.http(httpTarget(probe.httpGet, target, 'kube-probe/1.36'), timeoutMs, signal);
    if (probe.tcpSocket) {
      const port = portNumber(probe.tcpSocket.port, target.container);
      return this.#network.tcp(probe.tcpSocket.host || target.ip, port, timeoutMs, signal);
    }
    if (probe.grpc) return this.#network.grpc(target.ip, probe.grpc.port, probe.grpc.service ?? '', timeoutMs, signal);
    return { result: 'unknown', output: `missing probe handler for ${podText(target.pod)}:${target.container.name}` };
  }

  async exec(
    target: ProbeTarget,
    command: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ProbeOutcome> {
    const environment = new Map((target.container.env ?? []).map(({ name, value }) => [name, value ?? '']));
    const expanded = command.map((part) => expand(part, (name) => environment.get(name)));
    try {
      const { exitCode, stdout, stderr } = await this.#runtime.execSync(target.containerId, expanded, {
        timeoutSeconds: timeoutMs / 1000,
        signal,
      });
      const output = Buffer.concat([stdout, stderr]).subarray(0, maxOutputBytes).toString();
      return { result: exitCode === 0 ? 'success' : 'failure', output };
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error;
      if (error.code === 'deadlineExceeded') {
        return {
          result: 'failure',
          output: `command timed out: ${quote(expanded.join(' '))} timed out after ${formatDuration(timeoutMs)}`,
        };
      }
      return { result: 'unknown', output: error.message };
    }
  }

  httpGet(action: HTTPGetAction, target: ProbeTarget, signal: AbortSignal): Promise<ProbeOutcome> {
    return this.#network.http(httpTarget(action, target, 'kube-lifecycle/1.36'), 30_000, signal);
  }
}

export function podText(pod: Pod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
}

function httpTarget(action: HTTPGetAction, target: ProbeTarget, userAgent: string) {
  const host = action.host || target.ip;
  const scheme = (action.scheme ?? 'HTTP').toLowerCase();
  const port = portNumber(action.port, target.container);
  const path = (action.path ?? '/').replace(/^([^/])/, '/$1');
  const own = action.httpHeaders ?? [];
  const has = (name: string) => own.some((header) => header.name.toLowerCase() === name);
  const headers = [
    ...own,
    ...(has('user-agent') ? [] : [{ name: 'User-Agent', value: userAgent }]),
    ...(has('accept') ? [] : [{ name: 'Accept', value: '*/*' }]),
  ];
  return { url: `${scheme}://${hostPort({ host, port })}${path}`, headers };
}

/** A number, or the name of one of the container's ports. */
function portNumber(port: number | string, container: Container): number {
  if (typeof port === 'number') return port;
  const named = container.ports?.find(({ name }) => name === port)?.containerPort ?? Number(port);
  if (!Number.isInteger(named) || named < 1 || named > 65535)
    throw new Error(`couldn't find port: ${quote(port)} in container ${container.name}`);
  return named;
}
