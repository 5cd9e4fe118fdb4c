/** What a version of a CustomResourceDefinition has beside its schema: a warning, subresources, columns. */
import { type FieldError, type FieldPath, invalid, required } from '../../../apimachinery/field-error.ts';
import { byteLength } from '../../../apimachinery/names.ts';
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceSubresources,
} from '../../gen/apiextensions-v1.ts';

const longestWarningBytes = 256;
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

export function validateDeprecation(
  at: FieldPath,
  { deprecated, deprecationWarning: warning }: CustomResourceDefinitionVersion,
): FieldError[] {
  if (warning === undefined) return [];
  if (!deprecated) return [invalid(at, warning, 'can only be set for deprecated versions')];
  const details: string[] = [];
  if (byteLength(warning) > longestWarningBytes) details.push('must be <= 256 characters long');
  if (warning === '') details.push('must not be an empty string');
  let index = 0;
  for (const character of warning) {
    if (!printable.test(character)) {
      const where = `non-printable character found at index ${index}`;
      details.push(`must only contain printable UTF-8 characters; ${where}`);
      break;
    }
    index += byteLength(character);
  }
  return details.map((detail) => invalid(at, warning, detail));
}

export function validateSubresources(at: FieldPath, { scale }: CustomResourceSubresources): FieldError[] {
  if (!scale) return [];
  const { specReplicasPath = '', statusReplicasPath = '', labelSelectorPath = '' } = scale;
  const errors: FieldError[] = [];
  const check = (field: string, text: string, roots: readonly string[]) => {
    const here = at.child('scale', field);
    const malformed = validateSimplePath(here, text);
    const where = roots.length > 1 ? `either ${roots.join(' or ')}` : roots[0];
    if (malformed.length > 0) errors.push(...malformed);
    else if (!roots.some((root) => text.startsWith(`${root}.`)))
      errors.push(invalid(here, text, `should be a json path under ${where}`));
  };
  if (specReplicasPath === '') errors.push(required(at.child('scale', 'specReplicasPath')));
  else check('specReplicasPath', specReplicasPath, ['.spec']);
  if (statusReplicasPath === '') errors.push(required(at.child('scale', 'statusReplicasPath')));
  else check('statusReplicasPath', statusReplicasPath, ['.status']);
  if (labelSelectorPath !== '') check('labelSelectorPath', labelSelectorPath, ['.spec', '.status']);
  return errors;
}

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

export function validateColumn(at: FieldPath, column: CustomResourceColumnDefinition): FieldError[] {
  const { name, type, format = '', jsonPath } = column;
  const errors: FieldError[] = [];
  if (!name) errors.push(required(at.child('name')));
  const typeDetail = `must be one of ${columnTypes.join(',')}`;
  if (!type) errors.push(required(at.child('type'), typeDetail));
  else if (!columnTypes.includes(type)) errors.push(invalid(at.child('type'), type, typeDetail));
  if (format !== '' && !columnFormats.includes(format))
    errors.push(invalid(at.child('format'), format, `must be one of ${columnFormats.join(',')}`));
  const pathAt = at.child('JSONPath');
  return [...errors, ...(jsonPath ? validateSimplePath(pathAt, jsonPath) : [required(pathAt)])];
}

/** What follows the dot shows when the path is used. */
function validateSimplePath(at: FieldPath, text: string): FieldError[] {
  return text.startsWith('.') ? [] : [invalid(at, text, 'must be a simple json path starting with .')];
}
