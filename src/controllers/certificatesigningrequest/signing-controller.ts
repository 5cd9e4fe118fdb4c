/**
 * Signs approved requests of the built-in signers with the authority given for each. What a signer's rules forbid is marked
 * Failed, approved or not: an approver's mistake must not become a certificate.
 */
import { type CertificateSigningRequest, certificateSigningRequests } from '../../api/gen/certificates-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { type CertificateAuthority, signCertificateRequest } from '../../pki/authority.ts';
import { isUsage } from '../../pki/extensions.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import { isToBeSigned, requestOf, signerNames, signingError } from './requests.ts';

const minDurationSeconds = 600;

export interface CertificateSigningOptions {
  /** By signer; one that is left out signs nothing. */
  readonly authorities: { readonly [signer in keyof typeof signerNames]?: CertificateAuthority | undefined };
  /** Longest life of a certificate; default a year. */
  readonly durationSeconds?: number | undefined;
}

export async function runCertificateSigningController(
  context: ComponentContext,
  options: CertificateSigningOptions,
): Promise<void> {
  const { client, clock, informers } = context;
  const durationSeconds = options.durationSeconds ?? 365 * 86_400;
  const authorities = new Map<string, CertificateAuthority>();
  for (const [signer, authority] of Object.entries(options.authorities)) {
    if (authority) authorities.set(signerNames[signer as keyof typeof signerNames], authority);
  }
  const all = informers.of(certificateSigningRequests);
  const controller = createController(context, {
    name: 'certificatesigningrequest-signing-controller',
    queue: 'certificate',
    workers: 5,
    waitFor: [all],
    backoff: { baseDelayMs: 200, maxDelayMs: 1_000_000 },
    async reconcile(name: string): Promise<ReconcileResult | undefined> {
      const object = all.get(name);
      if (!object || !isToBeSigned(object)) return undefined;
      const { signerName } = object.spec;
      const authority = authorities.get(signerName);
      if (!authority) {
        const message = `it is approved, and whoever signs for ${signerName} has not: the built-in signer does not`;
        return { causes: [{ reason: 'OtherSigner', message }] };
      }
      const signed = sign(object, authority, { durationSeconds, nowMs: clock.now() });
      await client.updateStatus(certificateSigningRequests, { ...object, status: { ...object.status, ...signed } });
      return undefined;
    },
  });
  controller.watch(all);
  await controller.run();
}

/** The certificate, or the condition that says why there is none. */
export function sign(
  object: CertificateSigningRequest,
  authority: CertificateAuthority,
  limits: { readonly durationSeconds: number; readonly nowMs: number },
): Pick<NonNullable<CertificateSigningRequest['status']>, 'certificate' | 'conditions'> {
  const { signerName, usages = [], expirationSeconds } = object.spec;
  const request = requestOf(object);
  const error = signingError(signerName, request, usages);
  if (error !== undefined) {
    const now = formatTime(limits.nowMs);
    const failed = {
      type: 'Failed',
      status: 'True',
      reason: 'SignerValidationFailure',
      message: error,
      lastUpdateTime: now,
      lastTransitionTime: now,
    };
    return { conditions: [...(object.status?.conditions ?? []), failed] };
  }
  const wanted = Math.max(minDurationSeconds, expirationSeconds ?? limits.durationSeconds);
  const pem = signCertificateRequest(authority, request, {
    usages: usages.filter(isUsage),
    durationSeconds: Math.min(wanted, limits.durationSeconds),
  });
  return { certificate: Buffer.from(pem).toString('base64') };
}
