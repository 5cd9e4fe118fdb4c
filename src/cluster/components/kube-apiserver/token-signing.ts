/**
 * Who signs the tokens of service accounts at `kube-apiserver`: a key from a file, a signer in a process of its own
 * (`--service-account-signing-endpoint`), or a key that ends with this process.
 */
import { formatDuration } from '../../../apimachinery/time.ts';
import type { TokenLimits } from '../../../apiserver/reviews/token-request.ts';
import type { Log } from '../../../base/log.ts';
import { encodePrivateKey, systemKeys } from '../../../pki/keys.ts';
import { extendedExpirationSeconds, warnOnlyExpirationSeconds } from '../../../pki/service-account-token.ts';
import { createTokenSigner, legacyIssuer, type TokenSigner } from '../../../pki/token-signer.ts';
import { FlagError } from '../../../serving/flags.ts';
import { readPem } from '../../certificates/pem-files.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import type { GivenFlags } from '../flags/given-flags.ts';

export interface TokenSigning extends AsyncDisposable {
  readonly tokens: TokenSigner;
  readonly issuers: readonly [string, ...string[]];
  readonly limits: TokenLimits;
  readonly metrics?: () => string;
}

const endpointFlag = 'service-account-signing-endpoint';
/** No signer may give its tokens less. */
const leastExpirationSeconds = 600;

/** Waits for a signer in another process. Rejects with a `FlagError` for flags that are wrong, with an `Error` for such a signer. */
export async function tokenSigningFrom(given: GivenFlags, environment: ComponentEnvironment): Promise<TokenSigning> {
  const limits = tokenLimitsFrom(given);
  const [issuer = 'https://kubernetes.default.svc', ...others] = given.list('service-account-issuer');
  const issuers = [issuer, ...others] as const;
  const endpoint = given.optionalText(endpointFlag);
  if (endpoint !== undefined) return await externalSigning(endpoint, { given, environment, limits, issuers });
  warnOfLimits(limits, { log: environment.log, external: false });
  const tokens = signingByFile(given, environment, [...issuers, legacyIssuer]);
  return { tokens, issuers, limits, [Symbol.asyncDispose]: async () => {} };
}

export function tokenLimitsFrom(given: GivenFlags): TokenLimits {
  const seconds = given.milliseconds('service-account-max-token-expiration') / 1000;
  if (seconds !== 0 && (seconds < 3600 || seconds > 2 ** 32)) {
    throw new FlagError('the service-account-max-token-expiration must be between 1 hour and 2^32 seconds');
  }
  return { maxExpirationSeconds: seconds, extendExpiration: given.flag('service-account-extend-token-expiration') };
}

function signingByFile(
  given: GivenFlags,
  { clock, log }: ComponentEnvironment,
  issuers: readonly [string, ...string[]],
): TokenSigner {
  const keyFile = given.optionalText('service-account-signing-key-file');
  if (keyFile === undefined) log.warn('no --service-account-signing-key-file: tokens end with this process');
  return createTokenSigner({
    clock,
    issuers,
    signingKeyPem: keyFile
      ? readPem('--service-account-signing-key-file', keyFile)
      : encodePrivateKey(systemKeys.generate()),
    verificationKeyPems: given
      .list('service-account-key-file')
      .map((path) => readPem('--service-account-key-file', path)),
  });
}

interface External {
  readonly given: GivenFlags;
  readonly environment: ComponentEnvironment;
  readonly limits: TokenLimits;
  readonly issuers: readonly [string, ...string[]];
}

async function externalSigning(
  endpoint: string,
  { given, environment, limits: asked, issuers }: External,
): Promise<TokenSigning> {
  refuseOtherKeys(given);
  if (endpoint.startsWith('@') && !/^@([a-zA-Z0-9_-]+\.)*[a-zA-Z0-9_-]+$/.test(endpoint)) {
    throw new FlagError(
      `invalid value ${JSON.stringify(endpoint)} passed for \`--${endpointFlag}\`, when prefixed with @ must be a valid abstract socket name`,
    );
  }
  const { ExternalTokenSigner } = await import('../../../apiserver/external-signer/external-token-signer.ts');
  const { clock, log } = environment;
  const signer = await ExternalTokenSigner.connect({ endpoint, issuers: [...issuers, legacyIssuer], clock, log }).catch(
    (error: Error) => {
      throw new Error(`while setting up external-jwt-signer: ${error.message}`, { cause: error });
    },
  );
  try {
    const limits = limitedBy(await maxExpirationOf(signer), asked);
    warnOfLimits(limits, { log, external: true });
    const metrics = () => signer.metrics();
    return { tokens: signer, issuers, limits, metrics, [Symbol.asyncDispose]: async () => signer.close() };
  } catch (error) {
    signer.close();
    throw error;
  }
}

function refuseOtherKeys(given: GivenFlags): void {
  const keyFile = given.optionalText('service-account-signing-key-file');
  if (keyFile === undefined && given.list('service-account-key-file').length === 0) return;
  throw new FlagError(
    `can't set \`--service-account-signing-key-file\` and/or \`--service-account-key-file\` with \`--${endpointFlag}\` (They are mutually exclusive)`,
  );
}

async function maxExpirationOf(signer: { maxExpirationSeconds(): Promise<number> }): Promise<number> {
  const seconds = await signer.maxExpirationSeconds().catch((error: Error) => {
    throw new Error(`while setting up external-jwt-signer: ${error.message}`, { cause: error });
  });
  if (seconds >= leastExpirationSeconds) return seconds;
  throw new Error(
    `max token life supported by external-jwt-signer (${seconds}s) is less than acceptable (min ${leastExpirationSeconds}s)`,
  );
}

function limitedBy(mostSeconds: number, asked: TokenLimits): TokenLimits {
  const { maxExpirationSeconds = 0 } = asked;
  if (maxExpirationSeconds > mostSeconds) {
    const [wanted, most] = [maxExpirationSeconds, mostSeconds].map((seconds) => formatDuration(seconds * 1000));
    throw new FlagError(
      `service-account-max-token-expiration cannot be set longer than the token expiration supported by ${endpointFlag}: ${wanted} > ${most}`,
    );
  }
  return {
    ...asked,
    maxExpirationSeconds: maxExpirationSeconds || mostSeconds,
    extendedExpirationSeconds: Math.min(mostSeconds, extendedExpirationSeconds),
  };
}

function warnOfLimits(
  { extendExpiration, maxExpirationSeconds: seconds = 0 }: TokenLimits,
  { log, external }: { readonly log: Log; readonly external: boolean },
): void {
  if (!extendExpiration || seconds === 0) return;
  const given = formatDuration(seconds * 1000);
  const extended = 'service-account-extend-token-expiration is true';
  if (seconds < warnOnlyExpirationSeconds) {
    const what = external ? 'token lifetime supported by external-jwt-signer' : 'service-account-max-token-expiration';
    const must = `${what} must be ${external ? '' : 'set '}longer than ${warnOnlyExpirationSeconds} seconds`;
    log.warn(`${extended}, in order to correctly trigger safe transition logic, ${must} (currently ${given})`);
  }
  if (seconds < extendedExpirationSeconds) {
    log.warn(
      external
        ? `${extended}, tokens validity will be caped at the smaller of ${extendedExpirationSeconds} seconds and maximum token lifetime supported by external-jwt-signer (${given})`
        : `${extended}, enabling tokens valid up to ${extendedExpirationSeconds} seconds, which is longer than service-account-max-token-expiration set to ${given}`,
    );
  }
}
