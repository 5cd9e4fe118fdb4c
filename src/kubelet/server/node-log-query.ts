/**
 * What `/logs/?query=...` asks for: logs of services, or one file, with upstream's parameters and its words for what is wrong with them.
 * Names of services reach a command line, so only characters that mean nothing there may stand in them. Pure.
 */
import { type FieldError, invalid, path, required, tooMany } from '../../apimachinery/field-error.ts';
import { parseInt64 } from '../../apimachinery/go-number.ts';
import { compileGoRegexp } from '../../apimachinery/go-regexp.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { parseTime } from '../../apimachinery/time.ts';

export interface NodeLogQuery {
  readonly services: readonly string[];
  /** With a slash in their name. */
  readonly files: readonly string[];
  readonly options: NodeLogOptions;
}

interface NodeLogOptions {
  readonly sinceTime?: string | undefined;
  readonly untilTime?: string | undefined;
  readonly tailLines?: number | undefined;
  /** 0: since the machine started, -1: the time before that. */
  readonly boot?: number | undefined;
  readonly pattern?: string | undefined;
}

const mostTailLines = 100_000;
const longestService = 256;
const mostServices = 4;

/** Undefined when none of the parameters is there. What cannot be read is told in `errors`. */
export function parseNodeLogQuery(parameters: URLSearchParams): {
  query: NodeLogQuery | undefined;
  errors: FieldError[];
} {
  const errors: FieldError[] = [];
  const queries = parameters.getAll('query');
  const files = queries.filter((text) => /[/\\]/.test(text));
  const services = queries.filter((text) => !/[/\\]/.test(text) && text.trim() !== '');
  if (queries.length > 0 && files.length + services.length === 0)
    errors.push(invalid(path('query'), queries, 'query cannot be empty'));
  const read = <T>(name: string, parse: (text: string) => T): T | undefined => {
    const text = parameters.get(name);
    if (!text) return undefined;
    try {
      return parse(text);
    } catch (error) {
      errors.push(invalid(path(name), text, messageOf(error)));
      return undefined;
    }
  };
  const options = {
    sinceTime: read('sinceTime', checkedTime),
    untilTime: read('untilTime', checkedTime),
    boot: read('boot', wholeNumber),
    tailLines: read('tailLines', wholeNumber),
    pattern: parameters.get('pattern') || undefined,
  };
  const isEmpty = queries.length === 0 && !hasOptions(options);
  return { query: isEmpty ? undefined : { services, files, options }, errors };
}

/** All but whether the file is there. */
export function nodeLogQueryErrors({ services, files, options }: NodeLogQuery): FieldError[] {
  const { sinceTime, untilTime, boot, tailLines, pattern } = options;
  const errors = [...serviceErrors(services), ...sourceErrors({ services, files, options })];
  if (sinceTime && untilTime && (parseTime(sinceTime) ?? 0) > (parseTime(untilTime) ?? 0))
    errors.push(invalid(path('untilTime'), untilTime, 'must be after `sinceTime`'));
  if (boot !== undefined && boot > 0) errors.push(invalid(path('boot'), boot, 'must be less than 1'));
  if (tailLines !== undefined && (tailLines < 0 || tailLines > mostTailLines))
    errors.push(invalid(path('tailLines'), tailLines, `must be between 0 and ${mostTailLines}, inclusive`));
  if (pattern !== undefined) {
    try {
      compileGoRegexp(pattern);
    } catch (error) {
      errors.push(invalid(path('pattern'), pattern, messageOf(error)));
    }
  }
  return errors;
}

export const hasOptions = (options: NodeLogOptions): boolean =>
  Object.values(options).some((value) => value !== undefined);

/** What `journalctl` is told. */
export function journalArguments({ options }: NodeLogQuery, services: readonly string[]): string[] {
  const { sinceTime, untilTime, boot, tailLines, pattern } = options;
  return [
    '--utc',
    '--no-pager',
    '--output=short-precise',
    ...(sinceTime ? [`--since=${journalTime(sinceTime)}`] : []),
    ...(untilTime ? [`--until=${journalTime(untilTime)}`] : []),
    ...(tailLines === undefined ? [] : ['--pager-end', `--lines=${tailLines}`]),
    ...services.map((service) => `--unit=${service}`),
    ...(pattern === undefined ? [] : [`--grep=${pattern}`]),
    ...(boot === undefined ? [] : ['--boot', String(boot)]),
  ];
}

function checkedTime(text: string): string {
  if (parseTime(text) === undefined) throw new Error('invalid time format');
  return text;
}

function wholeNumber(text: string): number {
  try {
    return parseInt64(text);
  } catch (error) {
    throw new Error(messageOf(error).replace('strconv.ParseInt', 'strconv.Atoi'));
  }
}

function serviceErrors(services: readonly string[]): FieldError[] {
  const at = path('query');
  const errors = services.flatMap((service) => {
    if (service.length > longestService) return [invalid(at, service, `length must be less than ${longestService}`)];
    return /[^a-zA-Z\-_.:0-9@]/.test(service) ? [invalid(at, service, 'input contains unsupported characters')] : [];
  });
  return services.length > mostServices ? [...errors, tooMany(at, services.length, mostServices)] : errors;
}

function sourceErrors({ services, files, options }: NodeLogQuery): FieldError[] {
  const at = path('query');
  if (files.length === 0) return services.length === 0 ? [required(at, 'cannot be empty with options')] : [];
  if (services.length > 0)
    return [invalid(at, `[${files.join(' ')}], [${services.join(' ')}]`, 'cannot specify a file and service')];
  if (files.length > 1) return [invalid(at, files, 'cannot specify more than one file')];
  return hasOptions(options) ? [invalid(at, files, 'cannot specify file with options')] : [];
}

/** `2026-01-01 00:00:00 UTC`. */
function journalTime(text: string): string {
  const at = new Date(parseTime(text) ?? 0).toISOString();
  return `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}
