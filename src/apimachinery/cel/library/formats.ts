/** Named formats of texts: `format.dns1123Label().validate(name)` gives what is wrong with a name, or nothing. */
import { labelValue, nameIsDns1035Label, nameIsDnsLabel, nameIsDnsSubdomain, qualifiedName } from '../../names.ts';
import {
  ArrayList,
  CelOpaque,
  CelOptional,
  type CelValue,
  costs,
  type FunctionDeclaration,
  type Library,
  listOf,
  objectType,
  optionalOf,
  scaled,
  sizeForCost,
  stringType,
} from '../index.ts';
import { unitCost } from './call-costs.ts';
import { checkRequestUri } from './go-url.ts';

/** No name of a format is longer, as the estimate of a comparison assumes. */
const maxFormatSize = 64;
/** What the estimate assumes of the pattern behind any format. */
const maxPatternSize = 128;

export const formatType = objectType('kubernetes.NamedFormat', {
  equality: { atRunTime: 1, estimate: () => scaled({ min: 1, max: maxFormatSize }, costs.traversal) },
});

interface Format {
  /** As it compares; the name of its function may differ. */
  readonly name: string;
  /** What is wrong with a text; empty where nothing is. */
  readonly faults: (text: string) => readonly string[];
  /** Length of the pattern that upstream matches, for the cost. */
  readonly patternSize: number;
}

export class FormatValue extends CelOpaque {
  readonly type = formatType;
  readonly format: Format;
  constructor(format: Format) {
    super();
    this.format = format;
  }
  equals(other: CelOpaque): boolean {
    return other instanceof FormatValue && other.format.name === this.format.name;
  }
}

const uuidPattern = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const timePattern = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$/;

const formats: ReadonlyMap<string, FormatValue> = new Map(
  (
    [
      ['dns1123Label', 'DNS1123Label', 30, (text) => nameIsDnsLabel(text, false)],
      ['dns1123Subdomain', 'DNS1123Subdomain', 60, (text) => nameIsDnsSubdomain(text, false)],
      ['dns1035Label', 'DNS1035Label', 30, (text) => nameIsDns1035Label(text, false)],
      ['qualifiedName', 'QualifiedName', 60, qualifiedName],
      ['dns1123LabelPrefix', 'DNS1123LabelPrefix', 30, (text) => nameIsDnsLabel(text, true)],
      ['dns1123SubdomainPrefix', 'DNS1123SubdomainPrefix', 60, (text) => nameIsDnsSubdomain(text, true)],
      ['dns1035LabelPrefix', 'DNS1035LabelPrefix', 30, (text) => nameIsDns1035Label(text, true)],
      ['labelValue', 'LabelValue', 40, labelValue],
      ['uri', 'URI', 1103, uriFaults],
      ['uuid', 'uuid', 70, (text) => (uuidPattern.test(text) ? [] : ['does not match the UUID format'])],
      ['byte', 'byte', 84, (text) => (base64Pattern.test(text) ? [] : ['invalid base64'])],
      ['date', 'date', 71, (text) => (isDate(text) ? [] : ['invalid date'])],
      ['datetime', 'datetime', 71, (text) => (isDateTime(text) ? [] : ['invalid datetime'])],
    ] as readonly (readonly [string, string, number, Format['faults']])[]
  ).map(([called, name, patternSize, faults]) => [called, new FormatValue({ name, patternSize, faults })]),
);

export const namedFormats: Library = {
  types: [formatType],
  functions: [
    ...[...formats].map(
      ([name, format]): FunctionDeclaration => ({
        name: `format.${name}`,
        overloads: [{ id: `format.${name}`, parameters: [], result: formatType, call: () => format }],
      }),
    ),
    {
      name: 'format.named',
      overloads: [
        {
          id: 'format-named',
          parameters: [stringType],
          result: optionalOf(formatType),
          call: (name: string) => new CelOptional(formats.get(name)),
        },
      ],
      ...unitCost,
    },
    {
      name: 'validate',
      overloads: [
        {
          id: 'format-validate',
          member: true,
          parameters: [formatType, stringType],
          result: optionalOf(listOf(stringType)),
          call: validate,
        },
      ],
      cost: ([format, text]) =>
        Math.ceil((1 + sizeForCost(text!)) * costs.traversal) *
        Math.ceil((format as FormatValue).format.patternSize * costs.regex),
      estimate: ({ args, sizeOf }) => ({
        cost: scaled(scaled(sizeOf(args[0]!), costs.traversal), maxPatternSize * costs.regex),
      }),
    },
  ],
};

function validate(value: FormatValue, text: string): CelValue {
  const faults = value.format.faults(text);
  return faults.length === 0 ? CelOptional.none : new CelOptional(new ArrayList(faults));
}

function uriFaults(text: string): string[] {
  try {
    checkRequestUri(text);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

/** `2026-01-31`, a day that exists. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function isDateTime(text: string): boolean {
  const [day, time] = text.toLowerCase().split('t');
  const parts = timePattern.exec(time ?? '');
  if (!parts || !isDate(day!)) return false;
  return parts[1]! <= '23' && parts[2]! <= '59' && parts[3]! <= '59';
}
