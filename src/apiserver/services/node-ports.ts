/** Node ports: one per service port that needs one, shared by ports of the same number over different protocols. */
import type { Service, ServicePort } from '../../api/gen/core-v1.ts';
import { invalid as invalidValue, path } from '../../apimachinery/field-error.ts';
import type { Draft } from '../../apimachinery/meta.ts';
import { internalError, invalid, type StatusError } from '../../apimachinery/status.ts';
import type { Random } from '../../base/random.ts';
import { lowerBandOf, NumberRange } from './number-range.ts';
import type { Reservation } from './reservation.ts';

export interface PortRange {
  readonly first: number;
  /** Included. */
  readonly last: number;
}

export const defaultNodePortRange: PortRange = { first: 30000, last: 32767 };

export function nodePortNumbers({ first, last }: PortRange, random: Random): NumberRange {
  const lowerBand = lowerBandOf(BigInt(last - first + 1), { step: 32n, least: 16n, most: 128n });
  return new NumberRange({ first: BigInt(first), last: BigInt(last), lowerBand, random });
}

/** Node ports of a new Service, or of one that had none. */
export function takeNodePorts(service: Draft<Service>, numbers: NumberRange, reservation: Reservation): void {
  const ports = service.spec.ports ?? [];
  /** Service port to node port. */
  const settled = new Map<number, number>();
  ports.forEach((port, i) => {
    if (!port.nodePort && !allocatesNodePorts(service)) return;
    const shared = settled.get(port.port);
    if (shared !== undefined) {
      if (!port.nodePort) port.nodePort = shared;
      else if (port.nodePort !== shared) takeRequested(service, i, { numbers, reservation });
      return;
    }
    port.nodePort = ports.find((candidate) => candidate.port === port.port && candidate.nodePort)?.nodePort;
    if (port.nodePort) takeRequested(service, i, { numbers, reservation });
    else port.nodePort = takeAnyPort(numbers, reservation);
    settled.set(port.port, port.nodePort);
  });
}

/** Node ports after a change: kept ones stay, new ones are taken, those no longer named are given back when the write succeeds. */
export function updateNodePorts(
  service: Draft<Service>,
  previous: Service,
  { numbers, reservation }: { readonly numbers: NumberRange; readonly reservation: Reservation },
): void {
  const before = new Set(usedNodePorts(previous));
  const taken = new Set<number>();
  const seen = new Set<string>();
  (service.spec.ports ?? []).forEach((port, i) => {
    if (!port.nodePort && !allocatesNodePorts(service)) return;
    if (!port.nodePort) port.nodePort = takeAnyPort(numbers, reservation);
    else if (!before.has(port.nodePort) && !taken.has(port.nodePort))
      takeRequested(service, i, { numbers, reservation });
    taken.add(port.nodePort);
    const key = `{${port.protocol ?? 'TCP'} ${port.nodePort}}`;
    if (seen.has(key)) throw internalError(`duplicate nodePort: ${key}`);
    seen.add(key);
  });
  const after = new Set(usedNodePorts(service as Service));
  for (const port of before) if (!after.has(port)) reservation.releaseLater(numbers, BigInt(port));
}

export function takeHealthCheckPort(service: Draft<Service>, numbers: NumberRange, reservation: Reservation): void {
  const { spec } = service;
  if (!spec.healthCheckNodePort) {
    const port = reservation.takeAny(numbers);
    if (port === undefined) throw internalError('failed to allocate a HealthCheck NodePort 0: range is full');
    spec.healthCheckNodePort = Number(port);
    return;
  }
  const problem = takeProblem(spec.healthCheckNodePort, numbers, reservation);
  if (problem)
    throw internalError(`failed to allocate requested HealthCheck NodePort ${spec.healthCheckNodePort}: ${problem}`);
}

/** A load balancer that must find out by itself which nodes have endpoints asks them on this port. */
export function needsHealthCheckPort({ spec }: Service | Draft<Service>): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
}

export function hasNodePorts({ spec }: Service | Draft<Service>): boolean {
  return spec.type === 'NodePort' || spec.type === 'LoadBalancer';
}

/** Whether ports without a node port get one. */
export function allocatesNodePorts({ spec }: Service | Draft<Service>): boolean {
  return spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
}

export function usedNodePorts({ spec }: Service): readonly number[] {
  return (spec.ports ?? []).map((port: ServicePort) => port.nodePort ?? 0).filter((port) => port !== 0);
}

function takeRequested(
  service: Draft<Service>,
  index: number,
  { numbers, reservation }: { readonly numbers: NumberRange; readonly reservation: Reservation },
): void {
  const port = service.spec.ports![index]!.nodePort!;
  const problem = takeProblem(port, numbers, reservation);
  if (!problem) return;
  const at = path('spec', 'ports').index(index).child('nodePort');
  throw invalid({ group: '', kind: 'Service' }, service.metadata.name ?? '', [invalidValue(at, port, problem)]);
}

function takeProblem(port: number, numbers: NumberRange, reservation: Reservation): string | undefined {
  if (!numbers.contains(BigInt(port))) {
    return `provided port is not in the valid range. The range of valid ports is ${numbers.first}-${numbers.last}`;
  }
  return reservation.take(numbers, BigInt(port)) ? undefined : 'provided port is already allocated';
}

function takeAnyPort(numbers: NumberRange, reservation: Reservation): number {
  const port = reservation.takeAny(numbers);
  if (port === undefined) throw nodePortsFull();
  return Number(port);
}

function nodePortsFull(): StatusError {
  return internalError('failed to allocate a nodePort: range is full');
}
