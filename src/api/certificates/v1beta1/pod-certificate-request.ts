/**
 * PodCertificateRequests: a kubelet asks a signer for the certificate of a Pod. A request never changes, and its status changes
 * once. Whether the issued certificates fit the request is the signer's to see to.
 */
import {
  type FieldError,
  invalid,
  notSupported,
  omittedValue,
  path,
  required,
  tooLong,
} from '../../../apimachinery/field-error.ts';
import { dns1123Subdomain } from '../../../apimachinery/names.ts';
import { labelsText, nameColumn, text } from '../../columns.ts';
import { validateConditions } from '../../condition-validation.ts';
import { fillAbsent, partOf } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import {
  type PodCertificateRequest,
  type PodCertificateRequestSpec,
  podCertificateRequests,
} from '../../gen/certificates-v1beta1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { statusKeepsMetadata } from '../../strategy.ts';
import { refused, validateImmutable } from '../../validation.ts';
import { isKubernetesSigner, validateSignerName } from '../signer-name.ts';

const daySeconds = 24 * 60 * 60;
const expirationSeconds = { default: daySeconds, least: 60 * 60, most: 91 * daySeconds } as const;
const longestUid = 128;
const verdicts = ['Issued', 'Denied', 'Failed'];

export const podCertificateRequestBehaviour: KindBehaviour<PodCertificateRequest> = {
  resource: podCertificateRequests,
  allowUnconditionalUpdate: false,
  countsGeneration: false,
  defaults(request) {
    fillAbsent(partOf(request, 'spec'), 'maxExpirationSeconds', expirationSeconds.default);
  },
  validate,
  validateUpdate: ({ spec }, previous) => validateImmutable(path('spec'), spec, previous.spec),
  subresources: { status: { ...statusKeepsMetadata, validateUpdate: validateStatus } },
  columns: [
    nameColumn,
    text('PodName', ({ spec }) => spec.podName),
    text('ServiceAccountName', ({ spec }) => spec.serviceAccountName),
    text('NodeName', ({ spec }) => spec.nodeName),
    text('SignerName', ({ spec }) => spec.signerName),
    text('State', (request) => verdictOf(request) ?? 'Pending'),
    text('UnverifiedUserAnnotations', ({ spec }) => labelsText(spec.unverifiedUserAnnotations)),
  ],
};

function verdictOf({ status }: PodCertificateRequest): string | undefined {
  return status?.conditions?.findLast(({ type }) => verdicts.includes(type))?.type;
}

function validate({ spec }: PodCertificateRequest): FieldError[] {
  const at = path('spec');
  const errors = validateSignerName(at.child('signerName'), spec.signerName ?? '');
  for (const owner of ['pod', 'serviceAccount', 'node'] as const) {
    const name = spec[`${owner}Name`] ?? '';
    const uid = spec[`${owner}UID`] ?? '';
    errors.push(...refused(at.child(`${owner}Name`), name, dns1123Subdomain(name)));
    if (uid === '') errors.push(invalid(at.child(`${owner}UID`), uid, 'must not be empty'));
    if (uid.length > longestUid) errors.push(tooLong(at.child(`${owner}UID`), longestUid));
  }
  return [...errors, ...validateExpiration(spec), ...validateProof(spec)];
}

function validateExpiration({ signerName, maxExpirationSeconds: seconds }: PodCertificateRequestSpec): FieldError[] {
  const at = path('spec', 'maxExpirationSeconds');
  if (seconds == null) return [required(at, 'must be set')];
  const { least } = expirationSeconds;
  const most = isKubernetesSigner(signerName ?? '') ? daySeconds : expirationSeconds.most;
  return seconds >= least && seconds <= most ? [] : [invalid(at, seconds, `must be in the range [${least}, ${most}]`)];
}

function validateProof(spec: PodCertificateRequestSpec): FieldError[] {
  const inRequest = Boolean(spec.stubPKCS10Request);
  const apart = [spec.pkixPublicKey, spec.proofOfPossession];
  if (apart.every((part) => Boolean(part) !== inRequest)) return [];
  const message = 'exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set';
  return [invalid(path('spec'), omittedValue, message)];
}

function validateStatus(request: PodCertificateRequest, previous: PodCertificateRequest): FieldError[] {
  const at = path('status');
  const { conditions = [], ...rest } = request.status ?? {};
  const errors: FieldError[] = [];
  let known = 0;
  for (const [index, { type, status }] of conditions.entries()) {
    const here = at.child('conditions').index(index);
    if (!verdicts.includes(type)) errors.push(notSupported(here.child('type'), type, verdicts));
    else if (++known > 1) {
      const message = 'There may be at most one condition with type "Issued", "Denied", or "Failed"';
      errors.push(invalid(here.child('type'), type, message));
    }
    if (verdicts.includes(type) && status !== 'True') errors.push(notSupported(here.child('status'), status, ['True']));
  }
  errors.push(...validateConditions(at.child('conditions'), conditions));
  if (errors.length > 0) return errors;
  const refuse = (message: string) => [invalid(at, request.status ?? {}, message)];
  const changed = !semanticallyEqual(request.status ?? {}, previous.status ?? {});
  if (verdictOf(previous)) {
    return changed ? refuse('immutable after PodCertificateRequest is issued, denied, or failed') : [];
  }
  const verdict = verdictOf(request);
  if (verdict === 'Issued') return [];
  if (verdict && !semanticallyEqual(rest, {})) {
    return refuse('non-condition status fields must be empty when denying or failing the PodCertificateRequest');
  }
  if (verdict || !changed) return [];
  return refuse('status is immutable unless transitioning to "Issued", "Denied", or "Failed"');
}
