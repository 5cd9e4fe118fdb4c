/** Warnings about volumes, claims and what makes them. */
import { type FieldPath, path } from '../../../apimachinery/field-error.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import { isQuantity, parseQuantity } from '../../../apimachinery/quantity.ts';
import { semanticallyEqual } from '../../equality.ts';
import type { PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../gen/core-v1.ts';
import type { CSIDriver, CSIStorageCapacity, StorageClass } from '../../gen/storage-v1.ts';
import type { WarningsOf } from '../../warnings.ts';
import { deprecatedLabel, selectorWarnings, termWarnings } from './node-label-warnings.ts';

const annotationsAt = path('metadata', 'annotations');
const classAnnotation = 'volume.beta.kubernetes.io/storage-class';
const classMessage = 'deprecated since v1.8; use "storageClassName" attribute instead';

const volumeAnnotations = [
  [classAnnotation, classMessage],
  ['volume.beta.kubernetes.io/mount-options', 'deprecated since v1.31; use "mountOptions" attribute instead'],
] as const;

/** Kinds of volumes that are no more, or will not be for long. */
const oldSources = [
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+', 'storageOS'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
] as const;

export const volumeWarnings: WarningsOf<PersistentVolume> = ({ metadata, spec }) => {
  const at = path('spec');
  const warnings = volumeAnnotations
    .filter(([key]) => metadata.annotations?.[key] !== undefined)
    .map(([key, message]) => `${annotationsAt.key(key)}: ${message}`);
  if (spec?.persistentVolumeReclaimPolicy === 'Recycle') {
    const advice = 'Instead, the recommended approach is to use dynamic provisioning.';
    warnings.push(`${at.child('persistentVolumeReclaimPolicy')}: The Recycle reclaim policy is deprecated. ${advice}`);
  }
  const termsAt = at.child('nodeAffinity', 'required', 'nodeSelectorTerms');
  for (const [index, term] of (spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []).entries()) {
    warnings.push(...termWarnings(termsAt.index(index), term, { checkValues: false }));
  }
  for (const [field, message, shown = field] of oldSources) {
    if (spec?.[field]) warnings.push(`${at.child(shown)}: ${message}`);
  }
  return warnings;
};

export const claimWarnings: WarningsOf<PersistentVolumeClaim> = ({ metadata, spec }) => [
  ...(metadata.annotations?.[classAnnotation] === undefined
    ? []
    : [`${annotationsAt.key(classAnnotation)}: ${classMessage}`]),
  ...claimSpecWarnings(path('spec'), spec),
];

export function claimSpecWarnings(at: FieldPath, spec: PersistentVolumeClaimSpec | undefined): string[] {
  const resourcesAt = at.child('resources');
  return [
    ...fractionWarnings(resourcesAt.child('requests'), 'storage', spec?.resources?.requests),
    ...fractionWarnings(resourcesAt.child('limits'), 'storage', spec?.resources?.limits),
  ];
}

/** Bytes are not divided. */
export function fractionWarnings(
  at: FieldPath,
  name: string,
  amounts: Readonly<Record<string, string>> | undefined,
): string[] {
  const text = amounts?.[name];
  // Fractions are written with a dot or in thousandths and less; nearly every amount is neither.
  if (text === undefined || !/[.munEe-]/.test(text) || !isQuantity(text)) return [];
  const amount = parseQuantity(text);
  if (amount.milliValue() % 1000n === 0n) return [];
  return [`${at.key(name)}: fractional byte value ${quote(amount.toString())} is invalid, must be an integer`];
}

export const storageClassWarnings: WarningsOf<StorageClass> = ({ allowedTopologies = [] }) =>
  allowedTopologies.flatMap(({ matchLabelExpressions = [] }, index) =>
    matchLabelExpressions.flatMap(({ key }, i) => {
      const message = deprecatedLabel(key);
      const at = path('allowedTopologies').index(index).child('matchLabelExpressions').index(i).child('key');
      return message === undefined ? [] : [`${at}: ${message}`];
    }),
  );

export const storageCapacityWarnings: WarningsOf<CSIStorageCapacity> = ({ nodeTopology }) =>
  selectorWarnings(path('nodeTopology'), nodeTopology);

/** Told at creation, and again when the tokens asked for change. */
export const driverWarnings: WarningsOf<CSIDriver> = ({ spec }, previous) => {
  const { tokenRequests = [], serviceAccountTokenInSecrets } = spec;
  if (tokenRequests.length === 0 || serviceAccountTokenInSecrets != null) return [];
  if (previous && semanticallyEqual(tokenRequests, previous.spec.tokenRequests ?? [])) return [];
  return [
    'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes',
  ];
};
