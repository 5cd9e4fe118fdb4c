/** Names that drivers give: to their pools, and to the attributes and capacities of their devices. */
import { type FieldError, type FieldPath, invalid, required, tooLong } from '../../apimachinery/field-error.ts';
import { byteLength, cIdentifier, dns1123Subdomain, dns1123SubdomainMaxLength } from '../../apimachinery/names.ts';
import { validateCsiDriverName } from '../core/v1/volume-validation.ts';
import { refused } from '../validation.ts';

const longestIdentifier = 32;
const longestDomain = 63;

/** Of an attribute's name with its domain. */
export const longestAttributeName: number = longestDomain + '/'.length + longestIdentifier;

/** `name` or `domain.example/name`: an attribute, and the driver that speaks of it where that is not plain. */
export function validateAttributeName(at: FieldPath, attribute: string): FieldError[] {
  const [first = '', second, ...more] = attribute.split('/');
  // More than one slash passes, as it does upstream.
  if (more.length > 0) return [];
  const errors: FieldError[] = [];
  if (second !== undefined) {
    if (first === '') errors.push(invalid(at, '', 'the domain must not be empty'));
    else errors.push(...validateCsiDriverName(at, first));
  }
  const identifier = second ?? first;
  if (second === '') return [...errors, invalid(at, '', 'the name must not be empty')];
  if (byteLength(identifier) > longestIdentifier) errors.push(tooLong(at, longestIdentifier));
  return [...errors, ...refused(at, identifier, cIdentifier(identifier))];
}

/** DNS subdomains with slashes between them. */
export function validatePoolName(at: FieldPath, name: string | undefined): FieldError[] {
  if (!name) return [required(at)];
  const errors = byteLength(name) > dns1123SubdomainMaxLength ? [tooLong(at, dns1123SubdomainMaxLength)] : [];
  return [...errors, ...name.split('/').flatMap((part) => refused(at, part, dns1123Subdomain(part)))];
}
