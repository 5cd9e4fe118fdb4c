/** Which programs give credentials for which images: `CredentialProviderConfig` of `kubelet.config.k8s.io`, checked as upstream does. Pure. */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  path,
  required,
} from '../../apimachinery/field-error.ts';
import { qualifiedName } from '../../apimachinery/names.ts';
import { parseDuration } from '../../apimachinery/time.ts';
import { patternProblem } from './registry-pattern.ts';

/** As the file has it, its fields of the right types. */
export interface CredentialProviderFields {
  readonly name?: string;
  readonly matchImages?: readonly string[];
  readonly defaultCacheDuration?: string;
  readonly apiVersion?: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name?: string; readonly value?: string }[];
  readonly tokenAttributes?: {
    readonly serviceAccountTokenAudience?: string;
    readonly cacheType?: string;
    readonly requireServiceAccount?: boolean;
    readonly requiredServiceAccountAnnotationKeys?: readonly string[];
    readonly optionalServiceAccountAnnotationKeys?: readonly string[];
  };
}

export interface CredentialProvider {
  /** Of its program in the folder of programs. */
  readonly name: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheMs: number;
  /** What it speaks: `credentialprovider.kubelet.k8s.io/v1`. */
  readonly apiVersion: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Present: it works with tokens of the Pods' service accounts. */
  readonly tokens?: TokenAttributes | undefined;
}

export interface TokenAttributes {
  readonly audience: string;
  /** `Token`: credentials are no longer than the token they were given for. */
  readonly cacheType: 'ServiceAccount' | 'Token';
  /** Whether Pods without a service account are left out. */
  readonly requireServiceAccount: boolean;
  readonly requiredAnnotationKeys: readonly string[];
  readonly optionalAnnotationKeys: readonly string[];
}

const protocol = 'credentialprovider.kubelet.k8s.io';
const protocols = ['v1', 'v1alpha1', 'v1beta1'].map((version) => `${protocol}/${version}`);
const cacheTypes = ['ServiceAccount', 'Token'];
const at = path('providers');

export function credentialProviderErrors(
  providers: readonly CredentialProviderFields[],
  { tokensAllowed }: { readonly tokensAllowed: boolean },
): FieldError[] {
  if (providers.length === 0) return [required(at, 'at least 1 item in plugins is required')];
  const seen = new Set<string>();
  return providers.flatMap((provider) => {
    const errors = [...nameErrors(provider, seen), ...providerErrors(provider)];
    return [...errors, ...tokenErrors(provider, { tokensAllowed })];
  });
}

/** Of fields without an error. */
export function credentialProvider(fields: CredentialProviderFields): CredentialProvider {
  const { name = '', matchImages = [], defaultCacheDuration = '0', apiVersion = '', args = [], env = [] } = fields;
  const tokens = fields.tokenAttributes;
  return {
    name,
    matchImages,
    defaultCacheMs: parseDuration(defaultCacheDuration) ?? 0,
    apiVersion,
    args,
    environment: Object.fromEntries(env.map((one) => [one.name ?? '', one.value ?? ''])),
    tokens: tokens && {
      audience: tokens.serviceAccountTokenAudience ?? '',
      cacheType: tokens.cacheType === 'Token' ? 'Token' : 'ServiceAccount',
      requireServiceAccount: tokens.requireServiceAccount ?? false,
      requiredAnnotationKeys: tokens.requiredServiceAccountAnnotationKeys ?? [],
      optionalAnnotationKeys: tokens.optionalServiceAccountAnnotationKeys ?? [],
    },
  };
}

/** The name is that of a file in one folder, and nothing else. */
function nameErrors({ name = '' }: CredentialProviderFields, seen: Set<string>): FieldError[] {
  const field = at.child('name');
  const errors: FieldError[] = [];
  if (name.includes('/')) errors.push(invalid(field, name, "provider name cannot contain '/'"));
  if (name.includes(' ')) errors.push(invalid(field, name, 'provider name cannot contain spaces'));
  if (name === '.') errors.push(invalid(field, name, "provider name cannot be '.'"));
  if (name === '..') errors.push(invalid(field, name, "provider name cannot be '..'"));
  if (seen.has(name)) errors.push(duplicate(field, name));
  seen.add(name);
  return errors;
}

function providerErrors(provider: CredentialProviderFields): FieldError[] {
  const { apiVersion = '', matchImages = [], defaultCacheDuration } = provider;
  const errors: FieldError[] = [];
  if (apiVersion === '') errors.push(required(at.child('apiVersion')));
  else if (!protocols.includes(apiVersion)) errors.push(notSupported(at.child('apiVersion'), apiVersion, protocols));
  if (matchImages.length === 0)
    errors.push(required(at.child('matchImages'), 'at least 1 item in matchImages is required'));
  for (const pattern of matchImages) {
    const problem = patternProblem(pattern);
    if (problem) errors.push(invalid(at.child('matchImages'), pattern, `match image is invalid: ${problem}`));
  }
  if (defaultCacheDuration === undefined) errors.push(required(at.child('defaultCacheDuration')));
  else if ((parseDuration(defaultCacheDuration) ?? 0) < 0)
    errors.push(invalid(at.child('defaultCacheDuration'), defaultCacheDuration, 'must be greater than or equal to 0'));
  return errors;
}

function tokenErrors(
  { apiVersion, tokenAttributes }: CredentialProviderFields,
  { tokensAllowed }: { readonly tokensAllowed: boolean },
): FieldError[] {
  if (!tokenAttributes) return [];
  const field = at.child('tokenAttributes');
  const errors: FieldError[] = [];
  const gate = 'KubeletServiceAccountTokenForCredentialProviders';
  if (!tokensAllowed)
    errors.push(forbidden(field, `tokenAttributes is not supported when ${gate} feature gate is disabled`));
  if (!tokenAttributes.serviceAccountTokenAudience) errors.push(required(field.child('serviceAccountTokenAudience')));
  if (tokenAttributes.requireServiceAccount === undefined) errors.push(required(field.child('requireServiceAccount')));
  if (apiVersion !== `${protocol}/v1`)
    errors.push(forbidden(field, `tokenAttributes is only supported for ${protocol}/v1 API version`));
  return [...errors, ...annotationErrors(field, tokenAttributes), ...cacheTypeErrors(field, tokenAttributes)];
}

type TokenFields = NonNullable<CredentialProviderFields['tokenAttributes']>;

function annotationErrors(field: FieldPath, tokens: TokenFields): FieldError[] {
  const { requiredServiceAccountAnnotationKeys: needed = [], optionalServiceAccountAnnotationKeys: optional = [] } =
    tokens;
  const neededField = field.child('requiredServiceAccountAnnotationKeys');
  const errors: FieldError[] = [];
  if (tokens.requireServiceAccount === false && needed.length > 0) {
    const detail = 'requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set';
    errors.push(forbidden(neededField, detail));
  }
  errors.push(...keyErrors(neededField, needed));
  errors.push(...keyErrors(field.child('optionalServiceAccountAnnotationKeys'), optional));
  const both = [...new Set(needed.filter((key) => optional.includes(key)))].sort();
  if (both.length > 0) errors.push(invalid(field, both, 'annotation keys cannot be both required and optional'));
  return errors;
}

function keyErrors(field: FieldPath, keys: readonly string[]): FieldError[] {
  return keys.flatMap((key, index) => [
    ...qualifiedName(key.toLowerCase()).map((message) => invalid(field, key, message)),
    ...(keys.indexOf(key) < index ? [duplicate(field, key)] : []),
  ]);
}

function cacheTypeErrors(field: FieldPath, { cacheType = '' }: TokenFields): FieldError[] {
  const at = field.child('cacheType');
  if (cacheType === '') {
    const detail = `cacheType is required to be set when tokenAttributes is specified. Supported values are: ${cacheTypes.join(', ')}`;
    return [required(at, detail)];
  }
  return cacheTypes.includes(cacheType) ? [] : [notSupported(at, cacheType, cacheTypes)];
}
