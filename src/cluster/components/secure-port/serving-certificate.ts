/**
 * What a component serves HTTPS with: the certificate of its flags, or one it signs itself and keeps in its folder. Files that somebody
 * renews are taken as they change.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCertificateAuthority, issueCertificate } from '../../../pki/authority.ts';
import { systemKeys } from '../../../pki/keys.ts';
import { followRenewals } from '../../certificates/certificate-renewal.ts';
import type { PemPair } from '../../certificates/kubelet-certificates.ts';
import { readPem } from '../../certificates/pem-files.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';

export interface ServingCertificateFlags {
  readonly certFile: string;
  readonly keyFile: string;
  /** Empty: kept in memory alone. */
  readonly folder: string;
  /** Of the files in the folder. */
  readonly name: string;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

export interface ServingPair extends PemPair {
  /** As the files are now; throws when they cannot be read. */
  readonly current: () => PemPair;
}

/** How often upstream's components look at their files. */
export const lookEveryMs = 60_000;

/** Calls `taken` with what lies in the files whenever that has changed, until the component ends. */
export function followServingFiles(
  { current }: ServingPair,
  taken: (pair: PemPair) => void,
  { clock, log, signal }: Pick<ComponentEnvironment, 'clock' | 'log' | 'signal'>,
): Promise<void> {
  return followRenewals(current, taken, { clock, log, signal, everyMs: lookEveryMs });
}

export function servingCertificate(flags: ServingCertificateFlags, environment: ComponentEnvironment): ServingPair {
  if (flags.certFile !== '' && flags.keyFile !== '')
    return followed(() => ({
      certificate: readPem('--tls-cert-file', flags.certFile),
      key: readPem('--tls-private-key-file', flags.keyFile),
    }));
  const files = { certificate: join(flags.folder, `${flags.name}.crt`), key: join(flags.folder, `${flags.name}.key`) };
  if (flags.folder !== '' && existsSync(files.certificate) && existsSync(files.key))
    return followed(() => ({
      certificate: readFileSync(files.certificate, 'utf8'),
      key: readFileSync(files.key, 'utf8'),
    }));
  const { clock, random } = environment;
  const commonName = flags.dnsNames[0] ?? 'localhost';
  const authority = createCertificateAuthority({ commonName: `${commonName}-ca` }, { clock, random, keys: systemKeys });
  const pair = issueCertificate(authority, {
    commonName,
    dnsNames: flags.dnsNames,
    ipAddresses: flags.ipAddresses,
    usages: ['server auth'],
  });
  const certificate = pair.certificatePem + authority.certificatePem;
  if (flags.folder !== '') {
    mkdirSync(flags.folder, { recursive: true, mode: 0o755 });
    writeFileSync(files.key, pair.keyPem, { mode: 0o600 });
    writeFileSync(files.certificate, certificate);
  }
  return followed(() => ({ certificate, key: pair.keyPem }));
}

function followed(current: () => PemPair): ServingPair {
  return { ...current(), current };
}
