/** LeaseCandidates: components that stand for a Lease, and the versions they run. */
import { type FieldError, invalid, path, required } from '../../../apimachinery/field-error.ts';
import { configMapKey } from '../../../apimachinery/names.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import { type LeaseCandidate, leaseCandidates } from '../../gen/coordination-v1beta1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateImmutable } from '../../validation.ts';
import { oldestEmulationVersion, validateStrategy } from '../strategy-validation.ts';

export const leaseCandidateBehaviour: KindBehaviour<LeaseCandidate> = {
  resource: leaseCandidates,
  defaults(candidate) {
    partOf(candidate, 'spec');
  },
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  validateName: (name) => configMapKey(name),
  validate,
  validateUpdate: (candidate, previous) => [
    ...validate(candidate),
    ...validateImmutable(path('spec', 'leaseName'), candidate.spec?.leaseName, previous.spec?.leaseName),
  ],
  columns: [
    nameColumn,
    text('LeaseName', ({ spec }) => spec?.leaseName ?? ''),
    text('BinaryVersion', ({ spec }) => spec?.binaryVersion ?? ''),
    text('EmulationVersion', ({ spec }) => spec?.emulationVersion ?? ''),
    ageColumn,
  ],
};

function validate({ spec }: LeaseCandidate): FieldError[] {
  const at = path('spec');
  const errors: FieldError[] = [];
  const { leaseName, binaryVersion = '', emulationVersion = '', strategy } = spec ?? {};
  if (!leaseName) errors.push(required(at.child('leaseName')));
  const emulated = parseVersion(emulationVersion);
  const binary = parseVersion(binaryVersion);
  const malformed = 'must be a valid semantic version';
  if (emulationVersion && !emulated) errors.push(invalid(at.child('emulationVersion'), emulationVersion, malformed));
  if (!binaryVersion) errors.push(required(at.child('binaryVersion')));
  else if (!binary) errors.push(invalid(at.child('binaryVersion'), binaryVersion, malformed));
  if (binary && emulated && isLower(binary, emulated)) {
    const message = 'must be greater than or equal to `emulationVersion`';
    errors.push(invalid(at.child('binaryVersion'), binaryVersion, message));
  }
  if (!strategy) return [...errors, required(at.child('strategy'))];
  if (strategy === oldestEmulationVersion && !emulated) {
    const message = "must be specified when `strategy` is 'OldestEmulationVersion'";
    errors.push(required(at.child('emulationVersion'), message));
  }
  return [...errors, ...validateStrategy(at.child('strategy'), strategy)];
}

type Version = readonly [major: number, minor: number, patch: number];

function parseVersion(text: string): Version | undefined {
  const found = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/.exec(text);
  return found ? [Number(found[1]), Number(found[2]), Number(found[3])] : undefined;
}

function isLower(a: Version, b: Version): boolean {
  const index = a.findIndex((part, i) => part !== b[i]);
  return index >= 0 && a[index]! < b[index]!;
}
