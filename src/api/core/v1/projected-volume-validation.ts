/** Projected volumes: several sources in one folder, none of whose files may fall on another's. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/field-error.ts';
import { validateLabelSelector } from '../../../apimachinery/labels.ts';
import {
  isKubernetesSigner,
  signerOfTrustBundle,
  trustBundleName,
  validateSignerName,
} from '../../certificates/signer-name.ts';
import type {
  ClusterTrustBundleProjection,
  PodCertificateProjection,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from '../../gen/core-v1.ts';
import { refused } from '../../validation.ts';
import { validateVolumeFilePath } from './paths.ts';
import { validateDownwardFile, validateFileMode, validateKeyToPath } from './volume-items.ts';

export function validateProjected(at: FieldPath, projected: ProjectedVolumeSource): FieldError[] {
  const errors = validateFileMode(at.child('defaultMode'), projected.defaultMode);
  const paths = new Set<string>();
  for (const [index, source] of (projected.sources ?? []).entries()) {
    const here = at.child('sources').index(index);
    errors.push(...validateProjection(at, here, source, paths));
    const count = Object.values(source).filter((value) => value != null).length;
    if (count > 1) errors.push(forbidden(here, 'may not specify more than 1 volume type per source'));
  }
  return errors;
}

/** Reports a path that was taken before; `blamed` is the value upstream shows for it. */
function claimPath(at: FieldPath, paths: Set<string>, path: string, blamed: string = path): FieldError[] {
  if (paths.has(path)) return [invalid(at, blamed, 'conflicting duplicate paths')];
  paths.add(path);
  return [];
}

function validateProjection(
  volumeAt: FieldPath,
  at: FieldPath,
  source: VolumeProjection,
  paths: Set<string>,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const kind of ['secret', 'configMap'] as const) {
    const projection = source[kind];
    if (!projection) continue;
    const here = at.child(kind);
    if (!projection.name) errors.push(required(here.child('name')));
    for (const [index, item] of (projection.items ?? []).entries()) {
      errors.push(...validateKeyToPath(here.child('items').index(index), item));
      if (item.path) errors.push(...claimPath(volumeAt, paths, item.path, projection.name ?? ''));
    }
  }
  for (const file of source.downwardAPI?.items ?? []) {
    errors.push(...validateDownwardFile(at.child('downwardAPI'), file));
    if (file.path) errors.push(...claimPath(volumeAt, paths, file.path));
  }
  if (source.serviceAccountToken) errors.push(...validateToken(volumeAt, at, source.serviceAccountToken));
  if (source.clusterTrustBundle) {
    errors.push(...validateTrustBundle(at.child('clusterTrustBundle'), source.clusterTrustBundle));
    errors.push(...claimPath(volumeAt, paths, source.clusterTrustBundle.path ?? ''));
  }
  if (source.podCertificate) {
    errors.push(...validatePodCertificate(volumeAt, at.child('podCertificate'), source.podCertificate, paths));
  }
  return errors;
}

function validateToken(volumeAt: FieldPath, at: FieldPath, token: ServiceAccountTokenProjection): FieldError[] {
  const errors: FieldError[] = [];
  const seconds = token.expirationSeconds ?? 0;
  const here = at.child('serviceAccountToken', 'expirationSeconds');
  if (seconds < 10 * 60) errors.push(invalid(here, seconds, 'may not specify a duration less than 10 minutes'));
  if (seconds > 2 ** 32) errors.push(invalid(here, seconds, 'may not specify a duration larger than 2^32 seconds'));
  if (!token.path) return [...errors, required(volumeAt.child('path'))];
  return [...errors, ...validateVolumeFilePath(volumeAt.child('path'), token.path)];
}

function validateTrustBundle(at: FieldPath, bundle: ClusterTrustBundleProjection): FieldError[] {
  const errors: FieldError[] = [];
  const { name, signerName, labelSelector, path = '' } = bundle;
  if (name != null && signerName != null) {
    errors.push(invalid(at, bundle, 'only one of name and signerName may be used'));
  } else if (name != null) {
    if (name === '') errors.push(required(at.child('name'), 'must be a valid object name'));
    const messages = trustBundleName(name, false, signerOfTrustBundle(name));
    errors.push(
      ...refused(
        at.child('name'),
        name,
        messages.map((m) => `not a valid clustertrustbundlename: ${m}`),
      ),
    );
    if (labelSelector) {
      const message = 'labelSelector must be unset if name is specified';
      errors.push(invalid(at.child('labelSelector'), labelSelector, message));
    }
  } else if (signerName != null) {
    if (signerName === '') errors.push(required(at.child('signerName'), 'must be a valid signer name'));
    errors.push(...validateSignerName(at.child('signerName'), signerName));
    errors.push(...validateLabelSelector(labelSelector, at.child('labelSelector')));
  } else errors.push(required(at, 'either name or signerName must be specified'));
  if (path === '') errors.push(required(at.child('path')));
  return [...errors, ...validateVolumeFilePath(at.child('path'), path)];
}

const keyTypes = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];
const shortestExpirationSeconds = 3600;
const longestExpirationSeconds = 91 * 24 * 3600;
/** Kubernetes' own signers issue for a day at most. */
const longestKubernetesExpirationSeconds = 24 * 3600;

function validatePodCertificate(
  volumeAt: FieldPath,
  at: FieldPath,
  certificate: PodCertificateProjection,
  paths: Set<string>,
): FieldError[] {
  const errors = validateSignerName(at.child('signerName'), certificate.signerName ?? '');
  if (!keyTypes.includes(certificate.keyType)) {
    errors.push(notSupported(at.child('keyType'), certificate.keyType ?? '', keyTypes));
  }
  const seconds = certificate.maxExpirationSeconds;
  const most = isKubernetesSigner(certificate.signerName ?? '')
    ? longestKubernetesExpirationSeconds
    : longestExpirationSeconds;
  const expirationAt = at.child('maxExpirationSeconds');
  if (seconds != null && seconds < shortestExpirationSeconds) {
    errors.push(invalid(expirationAt, seconds, 'if provided, maxExpirationSeconds must be >= 3600'));
  }
  if (seconds != null && seconds > most) {
    errors.push(invalid(expirationAt, seconds, `if provided, maxExpirationSeconds must be <= ${most}`));
  }
  let named = 0;
  for (const field of ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const) {
    const path = certificate[field];
    if (!path) continue;
    named += 1;
    errors.push(...validateVolumeFilePath(at.child(field), path), ...claimPath(volumeAt, paths, path));
  }
  if (named === 0) {
    const message = 'specify at least one of credentialBundlePath, keyPath, and certificateChainPath';
    errors.push(required(at, message));
  }
  return errors;
}
