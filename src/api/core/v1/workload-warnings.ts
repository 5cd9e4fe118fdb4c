/** Warnings about what makes Pods from templates. An update is worth a warning when its generation is a new one. */
import { path } from '../../../apimachinery/field-error.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import { dns1123Label } from '../../../apimachinery/names.ts';
import { semanticallyEqual } from '../../equality.ts';
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '../../gen/apps-v1.ts';
import type { PodTemplate, ReplicationController } from '../../gen/core-v1.ts';
import type { WarningsOf } from '../../warnings.ts';
import { podTemplateWarnings } from './pod-warnings.ts';
import { claimSpecWarnings } from './storage-warnings.ts';

const templateAt = path('spec', 'template');

/** What is made of a name that is a subdomain, but no label. */
export function nameWarnings({ metadata }: KubeObject): string[] {
  const messages = dns1123Label(metadata.name ?? '');
  if (messages.length === 0) return [];
  const advice =
    'this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended';
  return [`metadata.name: ${advice}: [${messages.join(' ')}]`];
}

export function isNews(object: KubeObject, previous: KubeObject | undefined): boolean {
  return !previous || object.metadata.generation !== previous.metadata.generation;
}

const namedWarnings: WarningsOf<Deployment | ReplicaSet | ReplicationController> = (object, previous) => {
  if (!isNews(object, previous)) return [];
  return [...(previous ? [] : nameWarnings(object)), ...podTemplateWarnings(templateAt, object.spec?.template)];
};

export const deploymentWarnings: WarningsOf<Deployment> = namedWarnings;
export const replicaSetWarnings: WarningsOf<ReplicaSet> = namedWarnings;

/** An update is judged by the template that it replaces, which is upstream's slip. */
export const replicationControllerWarnings: WarningsOf<ReplicationController> = (object, previous) => {
  if (!previous) return namedWarnings(object);
  return isNews(object, previous) ? podTemplateWarnings(templateAt, previous.spec?.template) : [];
};

/** Told when the template changes. */
export const daemonSetWarnings: WarningsOf<DaemonSet> = ({ spec }, previous) =>
  previous && semanticallyEqual(spec.template, previous.spec.template)
    ? []
    : podTemplateWarnings(templateAt, spec.template);

export const statefulSetWarnings: WarningsOf<StatefulSet> = (object, previous) => {
  const { spec } = object;
  const claimsAt = path('spec', 'volumeClaimTemplates');
  return [
    ...(isNews(object, previous) ? podTemplateWarnings(templateAt, spec.template) : []),
    ...(spec.volumeClaimTemplates ?? []).flatMap((claim, index) => {
      const at = claimsAt.index(index);
      // In an update upstream names a field more, in capitals.
      return claimSpecWarnings(previous ? at.child('Spec') : at, claim.spec);
    }),
    ...(spec.revisionHistoryLimit != null && spec.revisionHistoryLimit < 0
      ? ['spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended']
      : []),
  ];
};

export const podTemplateObjectWarnings: WarningsOf<PodTemplate> = (object, previous) =>
  isNews(object, previous) ? podTemplateWarnings(path('template'), object.template) : [];
