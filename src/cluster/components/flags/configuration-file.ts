/**
 * A component's configuration file (`--config`): YAML or JSON of one kind and version, in which an unknown field or a wrong type is an
 * error that names it. Read by the tables that are derived from the facts; defaults are filled in.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { messageOf } from '../../../apimachinery/status.ts';
import { parseDuration } from '../../../apimachinery/time.ts';
import { CommandError } from '../../command-error.ts';
import { configurationTypes, type FileField } from '../../gen/component-configuration.ts';

/** The file as it stands, any JSON value. `flag` is the one that named it. */
export function readConfigurationFile(path: string, flag = '--config'): unknown {
  return parseConfiguration(readConfigurationText(path, flag), { path, flag });
}

/** The text of the file. Throws a `CommandError`. */
export function readConfigurationText(path: string, flag: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CommandError(
      `${flag} ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`,
      'Give the path of a configuration file.',
    );
  }
}

/** What the text of such a file says, any JSON value. Throws a `CommandError`. */
export function parseConfiguration(
  text: string,
  { path, flag }: { readonly path: string; readonly flag: string },
): unknown {
  try {
    return parse(text, { version: '1.1', uniqueKeys: true });
  } catch (error) {
    throw new CommandError(`${flag} ${path} is not YAML: ${messageOf(error)}`, 'Correct the file.');
  }
}

export interface ConfigurationKind {
  readonly kind: string;
  readonly apiVersion: string;
  /** Further versions, of the same shape. */
  readonly olderVersions?: readonly string[] | undefined;
  /** The flag that named the file; default `--config`. */
  readonly flag?: string | undefined;
  /** Told of fields that nobody knows, where they are no error. */
  readonly onUnknownField?: ((problem: string) => void) | undefined;
}

/** Checked against the kind's table, with defaults. Throws a `CommandError` that names every problem. */
export function decodeConfiguration(path: string, document: unknown, expected: ConfigurationKind): ConfigurationObject {
  return withDefaults(checkConfiguration(path, document, expected), expected.kind);
}

/** The same without defaults, and any value where only some may stand: for kinds whose own validation speaks of those. */
export function decodeAsWritten(path: string, document: unknown, expected: ConfigurationKind): ConfigurationObject {
  return checkConfiguration(path, document, expected, { anyValue: true });
}

function checkConfiguration(
  path: string,
  document: unknown,
  expected: ConfigurationKind,
  { anyValue = false } = {},
): ConfigurationObject {
  const found: string[] = [];
  const { apiVersion, kind, ...fields } = isObject(document) ? document : {};
  const versions = [expected.apiVersion, ...(expected.olderVersions ?? [])];
  if (!versions.includes(String(apiVersion)) || kind !== expected.kind)
    found.push(`no kind ${JSON.stringify(kind ?? '')} is registered for version ${JSON.stringify(apiVersion ?? '')}`);
  else checkObject(fields, expected.kind, '', found);
  const { flag = '--config', onUnknownField } = expected;
  const forgiven = (problem: string) => onUnknownField !== undefined && problem.startsWith(unknownField);
  for (const problem of found.filter(forgiven)) onUnknownField?.(problem);
  const judged = (problem: string) => !forgiven(problem) && !(anyValue && problem.includes(unsupportedValue));
  const problems = found.filter(judged);
  if (problems.length > 0)
    throw new CommandError(
      `${flag} ${path}: ${problems.join(', ')}`,
      `The file must be a ${expected.kind} of ${expected.apiVersion}.`,
    );
  return fields;
}

const unknownField = 'strict decoding error: unknown field';
const unsupportedValue = ': Unsupported value: ';

export type ConfigurationObject = Readonly<Record<string, unknown>>;

function checkObject(value: ConfigurationObject, type: string, path: string, problems: string[]): void {
  const table = configurationTypes[type] ?? {};
  for (const [name, content] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`;
    const field = Object.hasOwn(table, name) ? table[name] : undefined;
    if (!field) problems.push(`${unknownField} "${at}"`);
    else if (content !== null) checkField(content, field, at, problems);
  }
}

function checkField(value: unknown, field: FileField, at: string, problems: string[]): void {
  if (field.list) {
    if (!Array.isArray(value)) problems.push(wrongType(value, at, 'a list'));
    else value.forEach((item, index) => void checkValue(item, field, `${at}[${index}]`, problems));
  } else if (field.map) {
    if (!isObject(value)) problems.push(wrongType(value, at, 'a map'));
    else for (const [key, item] of Object.entries(value)) checkValue(item, field, `${at}.${key}`, problems);
  } else checkValue(value, field, at, problems);
}

function checkValue(value: unknown, { kind, type = '', values }: FileField, at: string, problems: string[]): void {
  if (kind === 'object') {
    if (isObject(value)) checkObject(value, type, at, problems);
    else problems.push(wrongType(value, at, 'an object'));
  } else if (kind === 'bool') {
    if (typeof value !== 'boolean') problems.push(wrongType(value, at, 'true or false'));
  } else if (/^(u?int|float)/.test(kind)) {
    if (typeof value !== 'number') problems.push(wrongType(value, at, 'a number'));
  } else if (kind === 'duration') {
    if (typeof value !== 'string' || parseDuration(value) === undefined)
      problems.push(wrongType(value, at, 'a duration such as "30s"'));
  } else if (kind === 'string') {
    if (typeof value !== 'string') problems.push(wrongType(value, at, 'a text'));
    else if (values && value !== '' && !values.includes(value))
      problems.push(`${at}${unsupportedValue}${JSON.stringify(value)}: supported values: ${values.join(', ')}`);
  }
}

function wrongType(value: unknown, at: string, expected: string): string {
  return `${at}: ${JSON.stringify(value)} is not ${expected}`;
}

function withDefaults(value: ConfigurationObject, type: string): ConfigurationObject {
  const result: Record<string, unknown> = { ...value };
  for (const [name, field] of Object.entries(configurationTypes[type] ?? {})) {
    const content = result[name] ?? undefined;
    if (field.kind === 'object' && !field.list && !field.map)
      result[name] = withDefaults((content ?? {}) as ConfigurationObject, field.type ?? '');
    else if (content === undefined && field.default !== undefined) result[name] = field.default;
  }
  return result;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
