/** What is refused of a StorageVersion: each server speaks once, reads what it writes, and all agree or no common version is told. */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { dns1035Label, dns1123Subdomain, emptyMessage, regexMessage } from '../../../apimachinery/names.ts';
import type {
  ServerStorageVersion,
  StorageVersion,
  StorageVersionCondition,
  StorageVersionStatus,
} from '../../gen/apiserverinternal-v1alpha1.ts';
import { validateDnsSubdomain, validateQualifiedName } from '../../validation.ts';

/** `<group>.<resource>`. */
export function validateStorageVersionName(name: string): string[] {
  const end = name.lastIndexOf('.');
  if (end < 0) return ['name must be in the form of <group>.<resource>'];
  return [
    ...dns1123Subdomain(name.slice(0, end)).map((message) => `the group segment ${message}`),
    ...dns1035Label(name.slice(end + 1)).map((message) => `the resource segment ${message}`),
  ];
}

export function validateStorageVersion({ status = {} }: StorageVersion): FieldError[] {
  const at = path('status');
  const seen = new Set<string>();
  const errors = (status.storageVersions ?? []).flatMap((server, index) => {
    const here = at.child('storageVersions').index(index);
    const { apiServerID = '' } = server;
    const repeated = seen.has(apiServerID) ? [duplicate(here.child('apiServerID'), apiServerID)] : [];
    seen.add(apiServerID);
    return [...repeated, ...validateServer(here, server)];
  });
  return [...errors, ...validateCommon(at.child('commonEncodingVersion'), status), ...validateConditions(at, status)];
}

function validateServer(at: FieldPath, server: ServerStorageVersion): FieldError[] {
  const { apiServerID = '', encodingVersion = '', decodableVersions = [], servedVersions = [] } = server;
  const decodableAt = at.child('decodableVersions');
  const errors = [
    ...validateDnsSubdomain(at.child('apiServerID'), apiServerID),
    ...validateApiVersion(at.child('encodingVersion'), encodingVersion),
    ...decodableVersions.flatMap((version, index) => validateApiVersion(decodableAt.index(index), version)),
  ];
  if (!decodableVersions.includes(encodingVersion)) {
    const message = `decodableVersions must include encodingVersion ${encodingVersion}`;
    errors.push(invalid(decodableAt, server.decodableVersions ?? null, message));
  }
  for (const [index, version] of servedVersions.entries()) {
    const here = at.child('servedVersions').index(index);
    errors.push(...validateApiVersion(here, version));
    if (decodableVersions.includes(version)) continue;
    const message = `individual served version : ${version} must be included in decodableVersions : [${decodableVersions.join(' ')}]`;
    errors.push(invalid(here, version, message));
  }
  return errors;
}

function validateCommon(at: FieldPath, status: StorageVersionStatus): FieldError[] {
  const { storageVersions = [], commonEncodingVersion: told } = status;
  const first = storageVersions[0]?.encodingVersion ?? '';
  const agreed = storageVersions.length > 0 && storageVersions.every((one) => (one.encodingVersion ?? '') === first);
  if (!agreed) {
    const message =
      'should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet';
    return told == null ? [] : [invalid(at, told, message)];
  }
  if (told == null) return [invalid(at, null, `the common encoding version is ${first}`)];
  return told === first ? [] : [invalid(at, told, `the actual common encoding version is ${first}`)];
}

/** Upstream names the place of a condition as if the status were the list. */
function validateConditions(at: FieldPath, { conditions = [] }: StorageVersionStatus): FieldError[] {
  const seen = new Map<string, number>();
  return conditions.flatMap((condition: StorageVersionCondition, index) => {
    const here = at.index(index);
    const { type = '', status = '', reason, message } = condition;
    const before = seen.get(type);
    seen.set(type, index);
    const repeated = `the type of the condition is not unique, it also appears in conditions[${before}]`;
    return [
      ...(before === undefined ? [] : [invalid(here.child('type'), type, repeated)]),
      ...validateQualifiedName(here.child('type'), type),
      ...validateQualifiedName(here.child('status'), status),
      ...(reason ? [] : [required(here.child('reason'))]),
      ...(message ? [] : [required(here.child('message'))]),
    ];
  });
}

const labelFormat = '[a-z]([-a-z0-9]*[a-z0-9])?';
const labelRule =
  "a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";

function validateApiVersion(at: FieldPath, apiVersion: string): FieldError[] {
  const messages = apiVersionMessages(apiVersion);
  return messages.length === 0 ? [] : [invalid(at, apiVersion, messages.join(','))];
}

function apiVersionMessages(apiVersion: string): string[] {
  const parts = apiVersion.split('/');
  if (parts.length > 2) {
    const rule = regexMessage(labelRule, labelFormat, 'my-name', 'abc-123');
    return [`an apiVersion is ${rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')`];
  }
  const version = parts.at(-1)!;
  const part = (name: string, value: string, rule: (value: string) => readonly string[]) =>
    (value === '' ? [emptyMessage] : rule(value)).map((message) => `${name} part: ${message}`);
  return [
    ...(parts.length === 2 ? part('group', parts[0]!, dns1123Subdomain) : []),
    ...part('version', version, dns1035Label),
  ];
}
