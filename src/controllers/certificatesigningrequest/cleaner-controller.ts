/**
 * Removes requests that have served their purpose: approved, denied and failed ones after an hour, undecided ones after a day, and
 * those whose certificate has expired. Looks once an hour.
 */
import { type CertificateSigningRequest, certificateSigningRequests } from '../../api/gen/certificates-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { isNotFound, messageOf } from '../../apimachinery/status.ts';
import { sleep } from '../../base/clock.ts';
import { parseCertificates } from '../../pki/certificate.ts';
import type { ComponentContext } from '../../reconcile/component.ts';

const periodMs = 3_600_000;
const decidedMs = 3_600_000;
const pendingMs = 86_400_000;

export async function runCertificateCleanerController(context: ComponentContext): Promise<void> {
  const { client, clock, informers, log, signal } = context;
  const all = informers.of(certificateSigningRequests);
  try {
    await all.whenSynced(signal);
    while (!signal.aborted) {
      for (const request of all.list()) {
        if (!isStale(request, clock.now())) continue;
        try {
          await client.delete(certificateSigningRequests, { name: request.metadata.name ?? '' });
        } catch (error) {
          if (!isNotFound(error)) log.warn('cleaning a certificate request failed', { error: messageOf(error) });
        }
      }
      await sleep(clock, periodMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

export function isStale({ metadata, status }: CertificateSigningRequest, nowMs: number): boolean {
  const decided = ['Approved', 'Denied', 'Failed'].map((type) => findCondition(status?.conditions, type));
  const times = decided.filter((condition) => condition !== undefined);
  if (times.length === 0 && !status?.certificate)
    return nowMs - Date.parse(metadata.creationTimestamp ?? '') > pendingMs;
  const since = times.map(({ lastUpdateTime }) => Date.parse(lastUpdateTime ?? metadata.creationTimestamp ?? ''));
  if (since.some((atMs) => nowMs - atMs > decidedMs)) return true;
  return status?.certificate !== undefined && hasExpired(status.certificate, nowMs);
}

function hasExpired(certificate: string, nowMs: number): boolean {
  try {
    return parseCertificates(Buffer.from(certificate, 'base64').toString()).some(
      ({ notAfterMs }) => notAfterMs < nowMs,
    );
  } catch {
    return false;
  }
}
