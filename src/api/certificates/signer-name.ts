/** Names of signers, `example.com/my-signer`, and of the ClusterTrustBundles that belong to them. */
import { type FieldError, type FieldPath, invalid, required, tooLong } from '../../apimachinery/field-error.ts';
import { quote } from '../../apimachinery/go-text.ts';
import {
  byteLength,
  dns1123Label,
  dns1123LabelMaxLength,
  dns1123Subdomain,
  dns1123SubdomainMaxLength,
  nameIsDnsSubdomain,
} from '../../apimachinery/names.ts';
import { refused } from '../validation.ts';

const longestSignerName = dns1123SubdomainMaxLength + 1 + dns1123LabelMaxLength + 1 + dns1123SubdomainMaxLength;

/** Signers under `kubernetes.io` are Kubernetes' own. */
export function isKubernetesSigner(signerName: string): boolean {
  const domain = signerName.split('/')[0]!;
  return domain === 'kubernetes.io' || domain.endsWith('.kubernetes.io');
}

export function validateSignerName(at: FieldPath, signerName: string): FieldError[] {
  if (!signerName) return [required(at)];
  const [domain = '', path = '', ...more] = signerName.split('/');
  if (more.length > 0 || !signerName.includes('/')) {
    const message = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalid(at, signerName, message)];
  }
  const errors = byteLength(domain) > dns1123SubdomainMaxLength ? [tooLong(at, dns1123SubdomainMaxLength)] : [];
  errors.push(...validateParts(at, domain, dns1123Label));
  if (!domain.includes('.')) {
    errors.push(invalid(at, domain, 'should be a domain with at least two segments separated by dots'));
  }
  errors.push(...validateParts(at, path, dns1123Subdomain));
  if (byteLength(signerName) > longestSignerName) errors.push(tooLong(at, longestSignerName));
  return errors;
}

/** Reports the first part that breaks the rule. */
function validateParts(at: FieldPath, text: string, rule: (part: string) => string[]): FieldError[] {
  for (const part of text.split('.')) {
    const messages = rule(part);
    if (messages.length > 0)
      return refused(
        at,
        text,
        messages.map((m) => `validating label ${quote(part)}: ${m}`),
      );
  }
  return [];
}

/** A bundle of the signer `example.com/a` is named `example.com:a:` and some name; one of no signer has no colon. */
export function trustBundleName(name: string, prefix: boolean, signerName: string): string[] {
  if (!signerName) {
    if (name.includes(':')) return ['ClusterTrustBundle without signer name must not have ":" in its name'];
    return nameIsDnsSubdomain(name, prefix);
  }
  const start = `${signerName.replaceAll('/', ':')}:`;
  if (name.startsWith(start)) return nameIsDnsSubdomain(name.slice(start.length), prefix);
  return [`ClusterTrustBundle for signerName ${signerName} must be named with prefix ${start}`];
}

/** The signer whose bundle this name must be; empty for a bundle of no signer. */
export function signerOfTrustBundle(name: string): string {
  const colon = name.lastIndexOf(':');
  return colon < 0 ? '' : name.slice(0, colon).replaceAll(':', '/');
}
