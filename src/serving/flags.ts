/**
 * Command-line flags with the semantics of upstream's components (Go's pflag): `--name=value` and `--name value`, a bare
 * boolean means true, `--name=false`, underscores count as dashes, repeated lists append, an unknown flag is an error. The tables
 * (`<component>/gen/flags.ts`) are derived from the facts; this file turns words into typed values and touches nothing else.
 */
import { isIp } from '../apimachinery/addresses.ts';
import { parseDuration } from '../apimachinery/time.ts';

export interface FlagDefinition {
  readonly name: string;
  /** pflag's type: string, bool, int, duration, stringSlice, stringArray, mapStringBool, mapStringString, ip, ... */
  readonly type: string;
  readonly default: unknown;
  readonly deprecated?: boolean;
  /** Whether a field of the component´s configuration file says the same. */
  readonly configField?: boolean;
}

export interface ParsedFlags {
  /** Value of every flag of the table: as given, else its default. Durations are in Go's text form. */
  readonly values: ReadonlyMap<string, unknown>;
  /** Names that stood on the command line. */
  readonly given: ReadonlySet<string>;
  readonly positional: readonly string[];
  /** Names of deprecated flags that were used. */
  readonly deprecated: readonly string[];
}

/** The command line cannot be understood; the message is what a Go component prints. */
export class FlagError extends Error {
  override readonly name = 'FlagError';
}

export function parseFlags(table: readonly FlagDefinition[], words: readonly string[]): ParsedFlags {
  const definitions = new Map(table.map((definition) => [withDashes(definition.name), definition]));
  const values = new Map<string, unknown>(table.map(({ name, default: initial }) => [name, initial]));
  const given = new Set<string>();
  const positional: string[] = [];
  const deprecated: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word === '--') {
      positional.push(...words.slice(i + 1));
      break;
    }
    if (!word.startsWith('-') || word === '-') {
      positional.push(word);
      continue;
    }
    const { name: asked, inlineValue } = splitWord(word);
    const definition = definitions.get(asked);
    if (!definition) throw new FlagError(`unknown flag: --${asked}`);
    const { name } = definition;
    let text = inlineValue;
    if (text === undefined) {
      if (definition.type === 'bool' || definition.type === 'tristate') text = 'true';
      else if (i + 1 < words.length) text = words[++i]!;
      else throw new FlagError(`flag needs an argument: --${name}`);
    }
    values.set(name, readValue(definition, text, given.has(name) ? values.get(name) : undefined));
    given.add(name);
    if (definition.deprecated) deprecated.push(name);
  }
  return { values, given, positional, deprecated };
}

function splitWord(word: string): { name: string; inlineValue: string | undefined } {
  const body = word.replace(/^--?/, '');
  const equals = body.indexOf('=');
  const name = withDashes(equals < 0 ? body : body.slice(0, equals));
  return { name, inlineValue: equals < 0 ? undefined : body.slice(equals + 1) };
}

function withDashes(name: string): string {
  return name.replaceAll('_', '-');
}

const integerTypes = /^u?int(32|64)?$/;
const trueWords = ['1', 't', 'T', 'true', 'TRUE', 'True'];
const falseWords = ['0', 'f', 'F', 'false', 'FALSE', 'False'];

/** `earlier` is the value of the same flag given before on this command line: lists and maps add to it. */
function readValue(definition: FlagDefinition, text: string, earlier: unknown): unknown {
  const { name, type } = definition;
  const bad = (reason: string) =>
    new FlagError(`invalid argument ${JSON.stringify(text)} for "--${name}" flag: ${reason}`);
  if (type === 'bool' || type === 'tristate') {
    if (trueWords.includes(text)) return true;
    if (falseWords.includes(text)) return false;
    throw bad(`strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  if (integerTypes.test(type)) {
    if (!/^[+-]?\d+$/.test(text) || (type.startsWith('u') && text.startsWith('-')))
      throw bad(
        `strconv.${type.startsWith('u') ? 'ParseUint' : 'ParseInt'}: parsing ${JSON.stringify(text)}: invalid syntax`,
      );
    return Number(text);
  }
  if (type.startsWith('float')) {
    if (text.trim() === '' || Number.isNaN(Number(text)))
      throw bad(`strconv.ParseFloat: parsing ${JSON.stringify(text)}: invalid syntax`);
    return Number(text);
  }
  if (type === 'duration') {
    if (parseDuration(text) === undefined) throw bad(`time: invalid duration ${JSON.stringify(text)}`);
    return text;
  }
  if (type === 'ip' || type === 'ipPort') {
    const problem = text === '' || isIp(text.trim()) ? undefined : addressProblem(text, type);
    if (problem) throw bad(problem);
    return text.trim();
  }
  if (type === 'stringSlice' || type === 'taint[]')
    return [...asList(earlier), ...text.split(',').filter((item) => item !== '')];
  if (type === 'stringArray' || type.endsWith('[]')) return [...asList(earlier), text];
  if (type.startsWith('map') || type === 'stringToString')
    return { ...asRecord(earlier), ...parseMap(type, text, bad) };
  return text;
}

/** Of a text that is no IP address. */
function addressProblem(text: string, type: 'ip' | 'ipPort'): string | undefined {
  if (type === 'ip') return `failed to parse IP: ${JSON.stringify(text)}`;
  const match = /^(?:\[([^\]]*)\]|([^:]*)):(.*)$/.exec(text);
  if (!match)
    return `${JSON.stringify(text)} is not in a valid format (ip or ip:port): address ${text}: missing port in address`;
  const [host, port] = [match[1] ?? match[2] ?? '', match[3] ?? ''];
  if (!isIp(host)) return `${JSON.stringify(host)} is not a valid IP address`;
  return /^\d+$/.test(port) && Number(port) <= 65_535 ? undefined : `${JSON.stringify(port)} is not a valid number`;
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function parseMap(type: string, text: string, bad: (reason: string) => FlagError): Record<string, unknown> {
  const separator = type.includes('(<)') ? '<' : '=';
  const result: Record<string, unknown> = {};
  for (const pair of text.split(',')) {
    if (pair.trim() === '') continue;
    const at = pair.indexOf(separator);
    if (at < 0) throw bad(`malformed pair, expect string${separator}string`);
    const key = pair.slice(0, at).trim();
    const value = pair.slice(at + 1).trim();
    if (type !== 'mapStringBool') result[key] = value;
    else if (trueWords.includes(value)) result[key] = true;
    else if (falseWords.includes(value)) result[key] = false;
    else
      throw bad(
        `invalid value of ${key}: ${value}, err: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`,
      );
  }
  return result;
}
