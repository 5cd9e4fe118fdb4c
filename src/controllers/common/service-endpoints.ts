/**
 * What Endpoints and EndpointSlices have in common: which Pods back a Service, under which port numbers, and whose changes matter.
 * Pure.
 */
import { isPodReady, isPodTerminal } from '../../api/core/v1/pod-status.ts';
import type { ContainerPort, Pod, Service, ServicePort } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { equalOnWire } from './wire-equality.ts';

export const headlessLabel = 'service.kubernetes.io/headless';
export const lastChangeTriggerAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time';

export function isHeadless({ spec }: Service): boolean {
  return !spec?.clusterIP || spec.clusterIP === 'None';
}

/** Whether controllers keep the Service's endpoints: without a selector its owner does, and an ExternalName has none. */
export function selectsPods({ spec }: Service): boolean {
  return spec?.selector !== undefined && Object.keys(spec.selector).length > 0 && spec.type !== 'ExternalName';
}

/** Finished Pods and those without address serve nobody; Pods being deleted do only where the caller wants them. */
export function belongsInEndpoints(pod: Pod, includeTerminating: boolean): boolean {
  if (isPodTerminal(pod) || podAddresses(pod).length === 0) return false;
  return includeTerminating || pod.metadata.deletionTimestamp === undefined;
}

export function podAddresses({ status }: Pod): readonly string[] {
  const listed = status?.podIPs?.map(({ ip }) => ip).filter((ip) => ip !== '') ?? [];
  if (listed.length > 0) return listed;
  return status?.podIP ? [status.podIP] : [];
}

/** The Pod's port behind a Service's port; undefined when the Pod names no such port. */
export function targetPortOf(pod: Pod, port: ServicePort): number | undefined {
  const target = port.targetPort ?? port.port;
  if (typeof target === 'number') return target === 0 ? port.port : target;
  const sidecars = (pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const named = ({ name, protocol = 'TCP' }: ContainerPort) => name === target && protocol === (port.protocol ?? 'TCP');
  for (const { ports } of [...pod.spec.containers, ...sidecars]) {
    const found = ports?.find(named);
    if (found) return found.containerPort;
  }
  return undefined;
}

/** A Pod is known by its own name below the Service's, when it says so itself. */
export function hostnameFor(pod: Pod, service: Service): string | undefined {
  const { hostname, subdomain } = pod.spec;
  return hostname && subdomain === service.metadata.name && service.metadata.namespace === pod.metadata.namespace
    ? hostname
    : undefined;
}

/** Whether the change of a Pod can change endpoints at all; most status updates cannot. */
export function endpointsChanged(pod: Pod, previous: Pod): boolean {
  const facts = (of: Pod) => [
    of.metadata.uid,
    of.metadata.deletionTimestamp === undefined,
    of.metadata.labels,
    of.spec.nodeName,
    of.spec.hostname,
    of.spec.subdomain,
    of.status?.phase === 'Succeeded' || of.status?.phase === 'Failed',
    podAddresses(of),
    isPodReady(of),
  ];
  return !equalOnWire(facts(pod), facts(previous));
}

/**
 * The earliest moment whose effect a write of endpoints carries: what latency of programming is measured from. The last transition
 * of readiness of the Pods, or the Service's creation when nothing else is known.
 */
export function triggerTime(service: Service, pods: readonly Pod[], since: string | undefined): string | undefined {
  let earliest: number | undefined;
  const sinceMs = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
  const times = [service.metadata.creationTimestamp, ...pods.map(readyTransition)];
  for (const time of times) {
    const ms = time === undefined ? Number.NaN : Date.parse(time);
    if (ms > sinceMs && (earliest === undefined || ms < earliest)) earliest = ms;
  }
  return earliest === undefined ? undefined : formatTime(earliest);
}

function readyTransition({ status }: Pod): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
}
