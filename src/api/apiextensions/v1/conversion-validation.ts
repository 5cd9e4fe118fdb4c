/** How objects get from version to version: not at all, or by a webhook. */
import { X509Certificate } from 'node:crypto';
import { type FieldError, type FieldPath, forbidden, invalid, required } from '../../../apimachinery/field-error.ts';
import { dns1035Label } from '../../../apimachinery/names.ts';
import { validateWebhookClient } from '../../admissionregistration/client-validation.ts';
import type { CustomResourceConversion } from '../../gen/apiextensions-v1.ts';
import { refused, validateRequiredEnum } from '../../validation.ts';
import { isReviewVersion, type Leniency } from './leniency.ts';

export function validateConversion(
  at: FieldPath,
  { strategy, webhook }: CustomResourceConversion,
  leniency: Leniency,
): FieldError[] {
  const errors = validateRequiredEnum(at.child('strategy'), strategy, ['None', 'Webhook']);
  const client = webhook?.clientConfig;
  const versions = webhook?.conversionReviewVersions ?? [];
  const clientAt = at.child('webhookClientConfig');
  const versionsAt = at.child('conversionReviewVersions');
  if (strategy !== 'Webhook') {
    const detail = 'should not be set when strategy is not set to Webhook';
    if (client) errors.push(forbidden(clientAt, detail));
    if (versions.length > 0) errors.push(forbidden(versionsAt, detail));
    return errors;
  }
  if (!client) errors.push(required(clientAt, 'required when strategy is set to Webhook'));
  else {
    errors.push(...validateWebhookClient(clientAt, client));
    if (client.caBundle && leniency.validCaBundle) errors.push(...validateCaBundle(clientAt, client.caBundle));
  }
  return [...errors, ...validateReviewVersions(versionsAt, versions, leniency)];
}

/** Whether the bytes hold certificates in PEM. */
function isCaBundle(base64: string): boolean {
  const pem = Buffer.from(base64, 'base64').toString('latin1');
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    return blocks.length > 0 && blocks.every((block) => new X509Certificate(block).subject !== undefined);
  } catch {
    return false;
  }
}

function validateCaBundle(at: FieldPath, base64: string): FieldError[] {
  if (isCaBundle(base64)) return [];
  const detail = 'unable to load root certificates: unable to parse bytes as PEM block';
  return [invalid(at.child('caBundle'), base64, detail)];
}

function validateReviewVersions(at: FieldPath, versions: readonly string[], leniency: Leniency): FieldError[] {
  if (versions.length === 0) return [required(at)];
  const errors = versions.flatMap((version, index) => {
    const here = at.index(index);
    if (versions.indexOf(version) < index) return [invalid(here, version, 'duplicate version')];
    return refused(here, version, dns1035Label(version));
  });
  if (leniency.reviewVersion && !versions.some(isReviewVersion))
    errors.push(invalid(at, versions, 'must include at least one of v1, v1beta1'));
  return errors;
}
