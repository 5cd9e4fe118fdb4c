/** `--tls-min-version`, `--tls-cipher-suites` and `--tls-sni-cert-key`, which servers of the control plane have alike. */
import { FlagError } from '../../../serving/flags.ts';
import {
  NamedCertificates,
  type NamedPair,
  type TlsParameters,
  tlsParameters,
} from '../../../serving/tls-parameters.ts';
import { followRenewals } from '../../certificates/certificate-renewal.ts';
import { readPem } from '../../certificates/pem-files.ts';
import { CommandError } from '../../command-error.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import type { GivenFlags } from '../flags/given-flags.ts';
import { lookEveryMs } from './serving-certificate.ts';

/** Throws a `FlagError` for a flag, a `CommandError` for a file that makes no sense. Named certificates are taken anew as they change. */
export function tlsParametersFrom(
  given: GivenFlags,
  environment: Pick<ComponentEnvironment, 'clock' | 'log' | 'signal'>,
): TlsParameters {
  const parameters = knownParameters(given.text('tls-min-version'), given.list('tls-cipher-suites'));
  const files = given.list('tls-sni-cert-key').map(namedFiles);
  if (files.length === 0) return parameters;
  const current = () => files.map((one) => read(one));
  const certificates = namedCertificates(parameters, current());
  const take = (pairs: readonly NamedPair[]) => certificates.replace(pairs);
  void followRenewals(current, take, { ...environment, everyMs: lookEveryMs });
  return certificates.parameters;
}

/** The same of flags and fields alike. */
export function knownParameters(minVersion: string, cipherSuites: readonly string[]): TlsParameters {
  try {
    return tlsParameters(minVersion, cipherSuites);
  } catch (error) {
    throw new FlagError((error as Error).message);
  }
}

interface NamedFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly names: readonly string[];
}

/** `tls.crt,tls.key` or `tls.crt,tls.key:example.com,*.example.com`. */
function namedFiles(text: string): NamedFiles {
  const refuse = (problem: string) =>
    new FlagError(`invalid argument ${JSON.stringify(text)} for "--tls-sni-cert-key" flag: ${problem}`);
  const colon = text.indexOf(':');
  const paths = colon < 0 ? text : text.slice(0, colon);
  const names = colon < 0 ? [] : text.slice(colon + 1).split(',');
  if (names.length === 1 && names[0]?.trim() === '') throw refuse('empty names list is not allowed');
  const [certFile = '', keyFile, ...more] = paths.split(',').map((path) => path.trim());
  if (keyFile === undefined || more.length > 0) throw refuse('expected comma separated certificate and key file paths');
  return { certFile, keyFile, names: names.map((name) => name.trim()) };
}

function read({ certFile, keyFile, names }: NamedFiles): NamedPair {
  const flag = '--tls-sni-cert-key';
  return { certificate: readPem(flag, certFile), key: readPem(flag, keyFile), names };
}

function namedCertificates(parameters: TlsParameters, pairs: readonly NamedPair[]): NamedCertificates {
  try {
    return new NamedCertificates(parameters, pairs);
  } catch (error) {
    throw new CommandError(
      `invalid SNI cert keypair (${(error as Error).message}).`,
      'Give a certificate and the key that belongs to it.',
    );
  }
}
