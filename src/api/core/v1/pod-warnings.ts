/**
 * What the server warns of in Pods and in templates of Pods: what is deprecated, what has no effect, what is there twice. Written for the
 * common case, a Pod of which nothing is to be said: places are put together only where they are told.
 */
import { ipWarnings } from '../../../apimachinery/addresses.ts';
import { type FieldPath, path } from '../../../apimachinery/field-error.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import { dns1123Label } from '../../../apimachinery/names.ts';
import { semanticallyEqual } from '../../equality.ts';
import type { Container, EnvVar, Pod, PodSpec, PodTemplateSpec, Volume } from '../../gen/core-v1.ts';
import type { WarningsOf } from '../../warnings.ts';
import { deprecatedLabel, keyWarnings, termWarnings } from './node-label-warnings.ts';
import { overlapWarnings } from './overlapping-paths.ts';
import { appArmorPrefix, appArmorProfile, appArmorWarning } from './pod-strategy.ts';
import { portWarnings } from './port-warnings.ts';
import { forEachContainer } from './security-validation.ts';
import { claimSpecWarnings, fractionWarnings } from './storage-warnings.ts';

const deprecatedAnnotations = [
  ['scheduler.alpha.kubernetes.io/critical-pod', 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
] as const;

const seccompMessage = 'non-functional in v1.27+; use the "seccompProfile" field instead';
const seccompPod = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainer = 'container.seccomp.security.alpha.kubernetes.io/';

/** Kinds of volumes that are no more, or will not be for long, by the name that messages have for them. */
const oldVolumes: readonly (readonly [field: keyof Volume, message: string, shown?: string])[] = [
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+', 'storageOS'],
  ['quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

type Annotations = Readonly<Record<string, string>>;

/** Told of a new Pod alone: people seldom change Pods themselves. */
export const podWarnings: WarningsOf<Pod> = ({ metadata, spec }, previous) => {
  if (previous) return [];
  const named = dns1123Label(metadata.name ?? '');
  const advice = `this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended`;
  return [
    ...(named.length > 0 ? [`metadata.name: ${advice}: [${named.join(' ')}]`] : []),
    ...podSpecWarnings(path(), { spec, annotations: metadata.annotations, isTemplate: false }),
  ];
};

export function podTemplateWarnings(at: FieldPath, template: PodTemplateSpec | undefined): string[] {
  if (!template?.spec) return [];
  return podSpecWarnings(at, {
    spec: template.spec,
    annotations: template.metadata?.annotations,
    isTemplate: true,
  });
}

interface Subject {
  readonly spec: PodSpec;
  readonly annotations: Annotations | undefined;
  readonly isTemplate: boolean;
}

function podSpecWarnings(at: FieldPath, { spec, annotations = {}, isTemplate }: Subject): string[] {
  const specAt = at.child('spec');
  const annotationsAt = at.child('metadata', 'annotations');
  return [
    ...placementWarnings(specAt, spec),
    ...deprecatedAnnotations
      .filter(([key]) => annotations[key] !== undefined)
      .map(([key, message]) => `${annotationsAt.key(key)}: ${message}`),
    ...volumeWarnings(specAt.child('volumes'), spec.volumes ?? []),
    ...repeated(specAt.child('hostAliases'), 'ip', spec.hostAliases),
    ...repeated(specAt.child('imagePullSecrets'), 'name', spec.imagePullSecrets),
    ...(spec.imagePullSecrets ?? []).flatMap(({ name }, index) =>
      name ? [] : [`${specAt.child('imagePullSecrets').index(index).child('name')}: invalid empty name ""`],
    ),
    ...byteWarnings(specAt.child('overhead'), spec.overhead),
    ...(annotations[seccompPod] !== undefined && !spec.securityContext?.seccompProfile
      ? [`${annotationsAt.key(seccompPod)}: ${seccompMessage}`]
      : []),
    ...containerWarnings(specAt, { spec, annotations, isTemplate }, annotationsAt),
    ...portWarnings(specAt, spec),
    ...(spec.terminationGracePeriodSeconds != null && spec.terminationGracePeriodSeconds < 0
      ? [
          `${specAt.child('terminationGracePeriodSeconds')}: must be >= 0; negative values are invalid and will be treated as 1`,
        ]
      : []),
    ...affinityWarnings(specAt.child('affinity'), spec.affinity),
    ...(spec.dnsConfig?.nameservers ?? []).flatMap((address, index) =>
      ipWarnings(address, specAt.child('dnsConfig', 'nameservers').index(index)),
    ),
    ...(spec.hostAliases ?? []).flatMap(({ ip }, index) =>
      ipWarnings(ip, specAt.child('hostAliases').index(index).child('ip')),
    ),
  ];
}

/** Which nodes are asked for, by labels that may have newer names. */
function placementWarnings(at: FieldPath, { nodeSelector, affinity, topologySpreadConstraints = [] }: PodSpec) {
  const warnings: string[] = [];
  for (const key of Object.keys(nodeSelector ?? {})) {
    const message = deprecatedLabel(key);
    if (message !== undefined) warnings.push(`${at.child('nodeSelector').key(key)}: ${message}`);
  }
  const during = 'DuringSchedulingIgnoredDuringExecution';
  const nodesAt = at.child('affinity', 'nodeAffinity');
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const preferred = affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  for (const [index, term] of required.entries()) {
    const here = nodesAt.child(`required${during}`, 'nodeSelectorTerms').index(index);
    warnings.push(...termWarnings(here, term, { checkValues: false }));
  }
  for (const [index, { preference }] of preferred.entries()) {
    const here = nodesAt.child(`preferred${during}`).index(index).child('preference');
    warnings.push(...termWarnings(here, preference, { checkValues: true }));
  }
  for (const [index, { topologyKey, labelSelector }] of topologySpreadConstraints.entries()) {
    const here = at.child('topologySpreadConstraints').index(index);
    warnings.push(...keyWarnings(here.child('topologyKey'), topologyKey));
    if (!labelSelector) warnings.push(selectsNothing(here.child('labelSelector')));
  }
  return warnings;
}

function affinityWarnings(at: FieldPath, affinity: PodSpec['affinity']): string[] {
  return (['podAffinity', 'podAntiAffinity'] as const).flatMap((kind) => {
    const required = affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const preferred = affinity?.[kind]?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    const requiredAt = at.child(kind, 'requiredDuringSchedulingIgnoredDuringExecution');
    const preferredAt = at.child(kind, 'preferredDuringSchedulingIgnoredDuringExecution');
    return [
      ...required.flatMap(({ labelSelector }, index) =>
        labelSelector ? [] : [selectsNothing(requiredAt.index(index).child('labelSelector'))],
      ),
      ...preferred.flatMap(({ podAffinityTerm }, index) =>
        podAffinityTerm.labelSelector
          ? []
          : [selectsNothing(preferredAt.index(index).child('podAffinityTerm', 'labelSelector'))],
      ),
    ];
  });
}

function selectsNothing(at: FieldPath): string {
  return `${at}: a null labelSelector results in matching no pod`;
}

function volumeWarnings(at: FieldPath, volumes: readonly Volume[]): string[] {
  const warnings: string[] = [];
  for (const [index, volume] of volumes.entries()) {
    for (const [field, message, shown = field] of oldVolumes) {
      if (volume[field]) warnings.push(`${at.index(index).child(shown)}: ${message}`);
    }
    const claim = volume.ephemeral?.volumeClaimTemplate;
    const claimAt = at.index(index).child('ephemeral', 'volumeClaimTemplate', 'spec');
    if (claim) warnings.push(...claimSpecWarnings(claimAt, claim.spec));
  }
  return [...warnings, ...volumes.flatMap(overlapWarnings)];
}

/** Entries whose `field` stood there before. */
function repeated<K extends string>(
  at: FieldPath,
  field: K,
  entries: readonly { readonly [key in K]?: string | undefined }[] = [],
): string[] {
  const seen = new Set<string>();
  return entries.flatMap((entry, index) => {
    const value: string = entry[field] ?? '';
    if (seen.has(value)) return [`${at.index(index).child(field)}: duplicate ${field} ${quote(value)}`];
    seen.add(value);
    return [];
  });
}

function byteWarnings(at: FieldPath, amounts: Readonly<Record<string, string>> | undefined): string[] {
  if (!amounts) return [];
  return ['memory', 'ephemeral-storage'].flatMap((name) => fractionWarnings(at, name, amounts));
}

function containerWarnings(specAt: FieldPath, subject: Subject, annotationsAt: FieldPath): string[] {
  const { spec, annotations = {}, isTemplate } = subject;
  const warnings: string[] = [];
  forEachContainer(specAt, spec, (container, at) => {
    const { name, securityContext, resources } = container;
    const seccomp = `${seccompContainer}${name}`;
    if (annotations[seccomp] !== undefined && !securityContext?.seccompProfile) {
      warnings.push(`${annotationsAt.key(seccomp)}: ${seccompMessage}`);
    }
    if (isTemplate) warnings.push(...appArmorWarnings(annotationsAt, subject, container));
    for (const name of ['memory', 'ephemeral-storage']) {
      warnings.push(
        ...fractionWarnings(at.child('resources', 'limits'), name, resources?.limits),
        ...fractionWarnings(at.child('resources', 'requests'), name, resources?.requests),
      );
    }
    warnings.push(...variableWarnings(at.child('env'), container.env ?? []));
  });
  return warnings;
}

/** An annotation that says no more than the Pod's own profile is let be. */
function appArmorWarnings(at: FieldPath, { spec, annotations = {} }: Subject, { name, securityContext }: Container) {
  const annotation = annotations[`${appArmorPrefix}${name}`];
  if (annotation === undefined || securityContext?.appArmorProfile) return [];
  const whole = spec.securityContext?.appArmorProfile;
  return whole && semanticallyEqual(whole, appArmorProfile(annotation)) ? [] : [appArmorWarning(at, name)];
}

/** A variable may be set again in terms of itself (`PATH=$(PATH):/opt`), else its first value is lost. */
function variableWarnings(at: FieldPath, variables: readonly EnvVar[]): string[] {
  if (variables.length < 2) return [];
  const seen = new Set<string>();
  return variables.flatMap(({ name, value = '', valueFrom }, index) => {
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    const reference = `$(${name})`;
    if (!valueFrom && value !== reference && value.includes(reference)) return [];
    return [`${at.index(index)}: hides previous definition of ${quote(name)}, which may be dropped when using apply`];
  });
}
