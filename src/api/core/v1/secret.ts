/** Secrets: bytes by name that are not for everybody. Their values never appear in a message. */
import { type FieldError, invalid, path, required, tooLong } from '../../../apimachinery/field-error.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { configMapKey } from '../../../apimachinery/names.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { fillEmpty, partOf } from '../../defaulting.ts';
import { type Secret, secrets } from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { entriesOf, refused, validateImmutable } from '../../validation.ts';
import { base64Length, largestSecretBytes } from './byte-sizes.ts';
import { validateImmutability } from './config-map.ts';

const serviceAccountName = 'kubernetes.io/service-account.name';

export const secretBehaviour: KindBehaviour<Secret> = {
  resource: secrets,
  defaults(secret: Draft<Secret>) {
    adoptStringData(secret);
    fillEmpty(secret, 'type', 'Opaque');
  },
  prepareForUpdate(secret, previous) {
    if (!secret.type && previous.type) secret.type = previous.type;
  },
  validate,
  validateUpdate: (secret, previous) => [
    ...validateImmutable(path('type'), secret.type, previous.type),
    ...validateImmutability(secret, previous, ['data']),
    ...validate(secret),
  ],
  columns: [
    nameColumn,
    text('Type', ({ type }) => type ?? ''),
    text('Data', ({ data }) => entriesOf(data).length),
    ageColumn,
  ],
};

/** `stringData` is for writing only: it overrides `data` and is gone. */
function adoptStringData(secret: Draft<Secret>): void {
  for (const [key, value] of entriesOf(secret.stringData)) {
    partOf(secret, 'data')[key] = Buffer.from(value).toString('base64');
  }
  delete secret.stringData;
}

function validate(secret: Secret): FieldError[] {
  const at = path('data');
  const errors = entriesOf(secret.data).flatMap(([key]) => refused(at.key(key), key, configMapKey(key)));
  const size = entriesOf(secret.data).reduce((sum, [, value]) => sum + base64Length(value), 0);
  if (size > largestSecretBytes) errors.push(tooLong(at, largestSecretBytes));
  return [...errors, ...validateType(secret)];
}

/** Types that others rely on must hold what they promise. */
function validateType({ type, data = {}, metadata }: Secret): FieldError[] {
  const at = path('data');
  const missing = (...keys: string[]) =>
    keys.filter((key) => !Object.hasOwn(data, key)).map((key) => required(at.key(key)));
  switch (type) {
    case 'kubernetes.io/service-account-token':
      if (metadata.annotations?.[serviceAccountName]) return [];
      return [required(path('metadata', 'annotations').key(serviceAccountName))];
    case 'kubernetes.io/dockercfg':
      return validateJson('.dockercfg', data);
    case 'kubernetes.io/dockerconfigjson':
      return validateJson('.dockerconfigjson', data);
    case 'kubernetes.io/basic-auth': {
      const absent = missing('username', 'password');
      return absent.length === 2 ? absent : [];
    }
    case 'kubernetes.io/ssh-auth':
      return data['ssh-privatekey'] ? [] : [required(at.key('ssh-privatekey'))];
    case 'kubernetes.io/tls':
      return missing('tls.crt', 'tls.key');
    default:
      return [];
  }
}

function validateJson(key: string, data: Readonly<Record<string, string>>): FieldError[] {
  const at = path('data').key(key);
  if (!Object.hasOwn(data, key)) return [required(at)];
  const problem = jsonObjectProblem(Buffer.from(data[key]!, 'base64').toString());
  return problem === undefined ? [] : [invalid(at, '<secret contents redacted>', problem)];
}

function jsonObjectProblem(json: string): string | undefined {
  if (json === '') return 'unexpected end of JSON input';
  try {
    const value: unknown = JSON.parse(json);
    if (value === null || (typeof value === 'object' && !Array.isArray(value))) return undefined;
    const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
    return `json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`;
  } catch {
    // The runtime's own message would show parts of the secret.
    return 'invalid character in JSON';
  }
}
