/**
 * Defaults of a PodSpec, wherever it stands: in a Pod or in the template of a controller. What is defaulted in Pods alone
 * (requests from limits, host ports) is in `pod.ts`.
 */
import type { Draft } from '../../../apimachinery/meta.ts';
import { fillAbsent, fillEmpty, partOf } from '../../defaulting.ts';
import type {
  Container,
  EphemeralContainer,
  LifecycleHandler,
  PodSpec,
  PodTemplateSpec,
  Probe,
} from '../../gen/core-v1.ts';
import { defaultPullPolicy } from './image-reference.ts';
import { defaultResources, roundToMilli } from './resource-defaults.ts';
import { defaultVolume } from './volume-defaults.ts';

/** Fills the PodSpec of a template. */
export function defaultPodTemplate(template: Draft<PodTemplateSpec>): void {
  defaultPodSpec(partOf(template, 'spec'));
}

export function defaultPodSpec(spec: Draft<PodSpec>): void {
  fillEmpty(spec, 'dnsPolicy', 'ClusterFirst');
  fillEmpty(spec, 'restartPolicy', 'Always');
  fillAbsent(spec, 'securityContext', {});
  fillAbsent(spec, 'terminationGracePeriodSeconds', 30);
  fillEmpty(spec, 'schedulerName', 'default-scheduler');
  defaultServiceAccount(spec);
  spec.volumes?.forEach(defaultVolume);
  spec.initContainers?.forEach(defaultContainer);
  spec.containers?.forEach(defaultContainer);
  spec.ephemeralContainers?.forEach(defaultContainer);
  roundToMilli(spec.overhead);
  defaultResources(spec.resources);
}

/** The old and the new name of the field always agree in what is served; the new one wins. */
function defaultServiceAccount(spec: Draft<PodSpec>): void {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (!name) return;
  if (spec.serviceAccountName !== name) spec.serviceAccountName = name;
  if (spec.serviceAccount !== name) spec.serviceAccount = name;
}

function defaultContainer(container: Draft<Container> | Draft<EphemeralContainer>): void {
  fillEmpty(container, 'imagePullPolicy', defaultPullPolicy(container.image ?? ''));
  fillEmpty(container, 'terminationMessagePath', '/dev/termination-log');
  fillEmpty(container, 'terminationMessagePolicy', 'File');
  for (const port of container.ports ?? []) fillEmpty(port, 'protocol', 'TCP');
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef) fillEmpty(valueFrom.fieldRef, 'apiVersion', 'v1');
    if (valueFrom?.fileKeyRef) fillAbsent(valueFrom.fileKeyRef, 'optional', false);
  }
  defaultResources(container.resources);
  defaultProbe(container.livenessProbe);
  defaultProbe(container.readinessProbe);
  defaultProbe(container.startupProbe);
  defaultHandler(container.lifecycle?.postStart);
  defaultHandler(container.lifecycle?.preStop);
}

function defaultProbe(probe: Draft<Probe> | undefined | null): void {
  if (!probe) return;
  fillEmpty(probe, 'timeoutSeconds', 1);
  fillEmpty(probe, 'periodSeconds', 10);
  fillEmpty(probe, 'successThreshold', 1);
  fillEmpty(probe, 'failureThreshold', 3);
  defaultHandler(probe);
  if (probe.grpc) fillAbsent(probe.grpc, 'service', '');
}

function defaultHandler(handler: Draft<LifecycleHandler> | Draft<Probe> | undefined | null): void {
  if (!handler?.httpGet) return;
  fillEmpty(handler.httpGet, 'path', '/');
  fillEmpty(handler.httpGet, 'scheme', 'HTTP');
}
