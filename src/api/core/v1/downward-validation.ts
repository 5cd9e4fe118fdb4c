/**
 * References to a Pod's own fields and to its containers' resources, as environment variables and downward volumes make them.
 */
import { type FieldError, type FieldPath, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import type { ObjectFieldSelector, ResourceFieldSelector } from '../../gen/core-v1.ts';
import { validateQualifiedName } from '../../validation.ts';
import { quantityOrZero } from './resource-validation.ts';

/** Fields of a Pod that a reference can name at all, in any place. */
const podFields: ReadonlySet<string> = new Set([
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.serviceAccountName',
  'spec.schedulerName',
  'status.phase',
  'status.podIP',
  'status.podIPs',
  'status.hostIP',
  'status.hostIPs',
]);

const containerResources = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];

/** `metadata.labels['app']` is the path `metadata.labels` with the subscript `app`. */
function splitSubscript(fieldPath: string): { readonly path: string; readonly subscript?: string } {
  const found = /^([^[]+)\['(.*)'\]$/s.exec(fieldPath);
  return found ? { path: found[1]!, subscript: found[2]! } : { path: fieldPath };
}

/** `supported` are the whole fields that may be named here, in order. */
export function validateFieldReference(
  at: FieldPath,
  { apiVersion, fieldPath }: ObjectFieldSelector,
  supported: readonly string[],
): FieldError[] {
  if (!apiVersion) return [required(at.child('apiVersion'))];
  if (!fieldPath) return [required(at.child('fieldPath'))];
  const { path, subscript } = splitSubscript(fieldPath);
  const problem = conversionProblem(apiVersion, fieldPath, path, subscript !== undefined);
  if (problem) return [invalid(at.child('fieldPath'), fieldPath, `error converting fieldPath: ${problem}`)];
  if (subscript !== undefined) {
    return validateQualifiedName(at, path === 'metadata.annotations' ? subscript.toLowerCase() : subscript);
  }
  const name = path === 'spec.host' ? 'spec.nodeName' : path;
  return supported.includes(name) ? [] : [notSupported(at.child('fieldPath'), name, supported)];
}

function conversionProblem(
  version: string,
  fieldPath: string,
  path: string,
  hasSubscript: boolean,
): string | undefined {
  if (version !== 'v1') return `unsupported pod version: ${version}`;
  if (hasSubscript) {
    const takesSubscript = path === 'metadata.annotations' || path === 'metadata.labels';
    return takesSubscript ? undefined : `field label does not support subscript: ${fieldPath}`;
  }
  return podFields.has(path) || path === 'spec.host' ? undefined : `field label not supported: ${fieldPath}`;
}

export function validateResourceFieldReference(
  at: FieldPath,
  { containerName, resource, divisor }: ResourceFieldSelector,
  { inVolume = false }: { readonly inVolume?: boolean } = {},
): FieldError[] {
  const errors: FieldError[] = [];
  const known = containerResources.includes(resource) || /^(limits|requests)\.hugepages-/.test(resource ?? '');
  if (inVolume && !containerName) errors.push(required(at.child('containerName')));
  else if (!resource) errors.push(required(at.child('resource')));
  else if (!known) errors.push(notSupported(at.child('resource'), resource, containerResources));
  return [...errors, ...validateDivisor(at.child('divisor'), resource ?? '', divisor)];
}

const byteUnits = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];
const divisors: readonly { readonly resource: RegExp; readonly units: readonly string[]; readonly words: string }[] = [
  { resource: /\.cpu$/, units: ['1m', '1'], words: '1m and 1 are supported with the cpu resource' },
  { resource: /\.memory$/, units: byteUnits, words: `${byteUnits.join(', ')} are supported with the memory resource` },
  {
    resource: /\.ephemeral-storage$/,
    units: byteUnits,
    words: `${byteUnits.join(', ')} are supported with the local ephemeral storage resource`,
  },
  {
    resource: /\.hugepages-/,
    units: byteUnits,
    words: `${byteUnits.join(', ')} are supported with the hugepages resource`,
  },
];

function validateDivisor(at: FieldPath, resource: string, divisor: string | undefined): FieldError[] {
  const unit = quantityOrZero(divisor);
  if (unit.isZero) return [];
  const row = divisors.find((candidate) => candidate.resource.test(resource));
  if (!row || row.units.includes(unit.toString())) return [];
  return [invalid(at, resource, `only divisor's values ${row.words}`)];
}
