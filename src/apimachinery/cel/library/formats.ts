/** Named formats of texts: `format.dns1123Label().validate(name)` gives what is wrong with a name, or nothing. */
import { checkRequestUri } from '../../go-url.ts';
import { labelValue, nameIsDns1035Label, nameIsDnsLabel, nameIsDnsSubdomain, qualifiedName } from '../../names.ts';
import { formatCheck } from '../../structural-schema/formats.ts';
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

/** No name of a format is longer, as the estimate of a comparison assumes. */
const maxFormatSize = 64;
/** What the estimate assumes of the pattern behind any format. */
const maxPatternSize = 128;

const formatType = objectType('kubernetes.NamedFormat', {
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

class FormatValue extends CelOpaque {
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

/** Formats that schemas have, too, say only that a text is not of them. */
function schemaFormat(format: string, fault: string): Format['faults'] {
  return (text) => (formatCheck(format)!(text) ? [] : [fault]);
}

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
      ['uuid', 'uuid', 70, schemaFormat('uuid', 'does not match the UUID format')],
      ['byte', 'byte', 84, schemaFormat('byte', 'invalid base64')],
      ['date', 'date', 71, schemaFormat('date', 'invalid date')],
      ['datetime', 'datetime', 71, schemaFormat('datetime', 'invalid datetime')],
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
