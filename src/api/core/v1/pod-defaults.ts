/**
 * Defaults of Pods beyond those of any PodSpec: what is asked follows from what is limited, ports of Pods on the host's network are
 * the host's, and the two names of the Pod's address agree.
 */
import type { Draft } from '../../../apimachinery/meta.ts';
import { fillAbsent, partOf } from '../../defaulting.ts';
import type { Pod, PodSpec, PodStatus } from '../../gen/core-v1.ts';
import { entriesOf } from '../../validation.ts';
import { amountOf, podRequests } from './pod-resources.ts';
import { defaultPodSpec } from './pod-spec-defaults.ts';
import { defaultResources, roundToMilli } from './resource-defaults.ts';
import { isHugePages, quantityOrZero } from './resource-validation.ts';

export function defaultPod(pod: Draft<Pod>): void {
  const spec = partOf(pod, 'spec');
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    const limits = container.resources?.limits;
    if (container.resources && limits) {
      container.resources.requests ??= {};
      fillMissing(container.resources.requests, limits);
    }
    for (const port of spec.hostNetwork ? (container.ports ?? []) : []) {
      if (!port.hostPort && port.containerPort) port.hostPort = port.containerPort;
    }
  }
  if (spec.resources) defaultPodLevelResources(spec);
  fillAbsent(spec, 'enableServiceLinks', true);
  // Of a Pod alone: a template keeps what it says.
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
  defaultPodSpec(spec);
  if (pod.status) defaultStatus(pod.status);
}

function fillMissing(into: Record<string, string>, from: Readonly<Record<string, string>>): void {
  for (const [name, quantity] of Object.entries(from)) if (!Object.hasOwn(into, name)) into[name] = quantity;
}

/** Requests and limits of the Pod as a whole, completed from its containers' where it has any. */
function defaultPodLevelResources(spec: Draft<PodSpec>): void {
  const resources = spec.resources!;
  if (entriesOf(resources.limits).length + entriesOf(resources.requests).length === 0) return;
  for (const { resources: own } of spec.containers ?? []) {
    for (const [name] of entriesOf(own?.limits).filter(([key]) => isHugePages(key))) {
      if (resources.requests?.[name] !== undefined || resources.limits?.[name] !== undefined) continue;
      resources.limits ??= {};
      resources.limits[name] = sumOfLimits(spec, name);
    }
  }
  if (!resources.limits || entriesOf(resources.limits).length === 0) return;
  resources.requests ??= {};
  const pod = { metadata: {}, spec };
  const wanted = podRequests(pod, { withoutPodLevel: true, withoutOverhead: true });
  for (const name of ['cpu', 'memory']) {
    if (resources.requests[name] !== undefined || wanted[name] === undefined) continue;
    resources.requests[name] = quantityOrZero(name === 'cpu' ? `${wanted[name]}m` : `${wanted[name]}`).toString();
  }
  for (const [name, limit] of entriesOf(resources.limits)) {
    const counted = name === 'cpu' || name === 'memory' || isHugePages(name);
    if (counted && resources.requests[name] === undefined) resources.requests[name] = limit;
  }
}

function sumOfLimits(spec: Draft<PodSpec>, name: string): string {
  const sum = spec.containers.reduce((total, { resources }) => {
    const limit = resources?.limits?.[name];
    return limit === undefined ? total : total + amountOf(name, limit);
  }, 0);
  return quantityOrZero(String(sum)).toString();
}

/** Older kubelets set only the first address; where both are given and differ, theirs wins. */
function defaultStatus(status: Draft<PodStatus>): void {
  if (status.podIP && status.podIPs?.[0]?.ip !== status.podIP) status.podIPs = [{ ip: status.podIP }];
  else if (!status.podIP && status.podIPs?.[0]?.ip) status.podIP = status.podIPs[0].ip;
  roundToMilli(status.allocatedResources);
  defaultResources(status.resources);
  for (const list of [status.containerStatuses, status.initContainerStatuses, status.ephemeralContainerStatuses]) {
    for (const container of list ?? []) {
      roundToMilli(container.allocatedResources);
      defaultResources(container.resources);
    }
  }
}
