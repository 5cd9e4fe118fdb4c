/** All that is wrong with an `EncryptionConfiguration`, in upstream's words. Secrets never stand in a message. */
import { type FieldError, type FieldPath, invalid, path, required } from '../../apimachinery/field-error.ts';
import { parseDuration } from '../../apimachinery/time.ts';

export interface EncryptionConfiguration {
  readonly resources?: readonly ResourceConfiguration[] | undefined;
}

export interface ResourceConfiguration {
  readonly resources?: readonly string[] | undefined;
  readonly providers?: readonly ProviderConfiguration[] | undefined;
}

/** Exactly one field is set. */
export interface ProviderConfiguration {
  readonly aesgcm?: KeysConfiguration | undefined;
  readonly aescbc?: KeysConfiguration | undefined;
  readonly secretbox?: KeysConfiguration | undefined;
  readonly identity?: object | undefined;
  readonly kms?: KmsConfiguration | undefined;
}

export interface KeysConfiguration {
  /** Secrets in base64. */
  readonly keys?: readonly { readonly name?: string | undefined; readonly secret?: string | undefined }[] | undefined;
}

export interface KmsConfiguration {
  readonly apiVersion?: string | undefined;
  readonly name?: string | undefined;
  readonly cachesize?: number | undefined;
  readonly endpoint?: string | undefined;
  readonly timeout?: string | undefined;
}

export const defaultKmsTimeout = '3s';

const aesKeyBytes = [16, 24, 32];
const secretboxKeyBytes = [32];
const unreachable = new Set(['apiserveripinfo', 'serviceipallocations', 'servicenodeportallocations']);
const overlapMessage =
  "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked";

export function validateEncryption({ resources = [] }: EncryptionConfiguration): FieldError[] {
  const root = path('resources');
  if (resources.length === 0) return [atLeastOne(root, 'resources')];
  const names = new Set<string>();
  return resources.flatMap((rule, index) => {
    const at = root.index(index);
    const [list, providers] = [rule.resources ?? [], rule.providers ?? []];
    return [
      ...(list.length === 0 ? [atLeastOne(at.child('resources'), String(at.child('resources')))] : []),
      ...validateOverlap(list, at.child('resources')),
      ...list.flatMap((name, i) => validateResource(name, at.child('resources').index(i))),
      ...(providers.length === 0 ? [atLeastOne(at.child('providers'), String(at.child('providers')))] : []),
      ...providers.flatMap((provider, i) => validateProvider(provider, at.child('providers').index(i), names)),
    ];
  });
}

/** What an earlier rule leaves nothing to do for; undefined: nothing. */
export function maskedRule({ resources = [] }: EncryptionConfiguration): string | undefined {
  const seen = new Set<string>();
  for (const name of resources.flatMap((rule) => rule.resources ?? [])) {
    const masks = [`*.${groupOf(name)}`, '*.*'].filter((mask) => seen.has(mask));
    if (masks[0]) return `resource ${JSON.stringify(name)} is masked by earlier rule ${JSON.stringify(masks[0])}`;
    seen.add(name);
  }
  return undefined;
}

function validateOverlap(list: readonly string[], at: FieldPath): FieldError[] {
  const repeated = new Set(list).size < list.length;
  const groups = list.map(groupOf);
  const overlapping = list.some((name, i) =>
    list.some((other, j) => {
      if (i === j || name === other) return false;
      return name === '*.*' || (groups[i] === groups[j] && (name.startsWith('*.') || other.startsWith('*.')));
    }),
  );
  return [
    ...(repeated ? [invalid(at, list, 'the same resource cannot be specified multiple times')] : []),
    ...(overlapping ? [invalid(at, list, overlapMessage)] : []),
  ];
}

function validateResource(name: string, at: FieldPath): FieldError[] {
  const problem = resourceProblem(name);
  return problem === undefined ? [] : [invalid(at, name, problem)];
}

function resourceProblem(name: string): string | undefined {
  const group = groupOf(name);
  if (name.toLowerCase() !== name) return 'resource name should not contain capital letters';
  if (name === '*') return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
  if (unreachable.has(name)) return 'resources which do not have REST API/s cannot be encrypted';
  if (group === 'events.k8s.io')
    return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file";
  if (group === 'extensions') return "'extensions' group has been removed and cannot be used for encryption";
  if (group === '*' && name !== '*.*') return 'encrypting the same resource across groups is not supported';
  return undefined;
}

function validateProvider(provider: ProviderConfiguration, at: FieldPath, names: Set<string>): FieldError[] {
  const { kms, aesgcm, aescbc, secretbox, identity } = provider;
  const given = [kms, aesgcm, aescbc, secretbox, identity].filter((value) => value !== undefined && value !== null);
  const shown = Object.keys(provider);
  if (given.length === 0) {
    const expected = 'KMS, AESGCM, AESCBC, Secretbox, Identity';
    return [invalid(at, shown, `provider does not contain any of the expected providers: ${expected}`)];
  }
  if (given.length > 1) {
    const detail = 'more than one provider specified in a single element, should split into different list elements';
    return [invalid(at, shown, detail)];
  }
  if (kms) return validateKms(kms, at.child('kms'), names);
  if (aesgcm) return validateKeys(aesgcm, at.child('aesgcm', 'keys'), aesKeyBytes);
  if (aescbc) return validateKeys(aescbc, at.child('aescbc', 'keys'), aesKeyBytes);
  return secretbox ? validateKeys(secretbox, at.child('secretbox', 'keys'), secretboxKeyBytes) : [];
}

function validateKeys({ keys = [] }: KeysConfiguration, at: FieldPath, sizes: readonly number[]): FieldError[] {
  if (keys.length === 0) return [atLeastOne(at, 'keys')];
  return keys.flatMap(({ name, secret }, index) => {
    const key = at.index(index);
    return [
      ...(name ? [] : [required(key.child('name'), 'name is a mandatory field for a key')]),
      ...validateSecret(secret, key.child('secret'), sizes),
    ];
  });
}

function validateSecret(secret: string | undefined, at: FieldPath, sizes: readonly number[]): FieldError[] {
  if (!secret) return [required(at, 'secret is a mandatory field for a key')];
  const bytes = Buffer.from(secret, 'base64');
  if (bytes.toString('base64') !== secret) return [invalid(at, 'REDACTED', 'secrets must be base64 encoded')];
  if (sizes.includes(bytes.length)) return [];
  const detail = `secret is not of the expected length, got ${bytes.length}, expected one of [${sizes.join(' ')}]`;
  return [invalid(at, 'REDACTED', detail)];
}

function validateKms(kms: KmsConfiguration, at: FieldPath, names: Set<string>): FieldError[] {
  const { apiVersion = 'v1', name = '', endpoint = '', timeout = defaultKmsTimeout, cachesize } = kms;
  const errors: FieldError[] = [];
  if (name === '') errors.push(required(at.child('name'), 'name is a mandatory field for a provider'));
  if (apiVersion !== 'v1' && name.includes(':'))
    errors.push(invalid(at.child('name'), name, `invalid KMS provider name ${name}, must not contain ':'`));
  if (names.has(name))
    errors.push(invalid(at.child('name'), name, `duplicate KMS provider name ${name}, names must be unique`));
  names.add(name);
  if ((parseDuration(timeout) ?? 0) <= 0)
    errors.push(invalid(at.child('timeout'), timeout, 'timeout should be a positive value'));
  errors.push(...validateEndpoint(endpoint, at.child('endpoint')));
  if (apiVersion !== 'v1' && cachesize !== undefined)
    errors.push(invalid(at.child('cachesize'), cachesize, 'cachesize is not supported in v2'));
  if (apiVersion !== 'v1' && apiVersion !== 'v2') {
    const detail = 'unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported';
    errors.push(invalid(at.child('apiVersion'), apiVersion, detail));
  }
  return errors;
}

function validateEndpoint(endpoint: string, at: FieldPath): FieldError[] {
  if (endpoint === '') return [invalid(at, '', 'endpoint is a mandatory field for a kms')];
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(endpoint)?.[1] ?? '';
  if (scheme === 'unix') return [];
  return [
    invalid(at, endpoint, `unsupported scheme ${JSON.stringify(scheme)} for KMS provider, only unix is supported`),
  ];
}

function atLeastOne(at: FieldPath, what: string): FieldError {
  return required(at, `at least one ${what} is required`);
}

/** Of `deployments.apps`; empty for the core group. */
function groupOf(name: string): string {
  const dot = name.indexOf('.');
  return dot < 0 ? '' : name.slice(dot + 1);
}
