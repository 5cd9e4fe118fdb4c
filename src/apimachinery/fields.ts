/**
 * Field selectors: `?fieldSelector=spec.nodeName=a,status.phase!=Failed`. Only equality exists; which fields a kind offers is
 * the kind's matter, this file only parses and compares.
 */
import { SelectorError } from './labels.ts';

export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** A conjunction of field requirements. */
export class FieldMatcher {
  readonly requirements: readonly FieldRequirement[];

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements;
  }

  get empty(): boolean {
    return this.requirements.length === 0;
  }

  /** A field that is absent counts as empty. */
  matches(fields: Readonly<Record<string, string>>): boolean {
    return this.requirements.every(({ field, operator, value }) => {
      const found = Object.hasOwn(fields, field) ? fields[field] : '';
      return (found === value) === (operator === '=');
    });
  }

  /** The one value that `field` must have, if the selector pins it: for look-ups by index. */
  exactValue(field: string): string | undefined {
    return this.requirements.find((r) => r.field === field && r.operator === '=')?.value;
  }

  toString(): string {
    return this.requirements
      .map(({ field, operator, value }) => `${field}${operator}${escapeFieldValue(value)}`)
      .join(',');
  }
}

export const everyField: FieldMatcher = new FieldMatcher([]);

/** Throws `SelectorError`. An empty text matches everything. */
export function parseFieldSelector(text: string): FieldMatcher {
  if (text === '') return everyField;
  const requirements = splitTerms(text)
    .sort()
    .filter((term) => term !== '')
    .map((term) => parseTerm(term, text));
  return new FieldMatcher(requirements);
}

/** Protects `\`, `,` and `=` in a value. */
export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, (character) => `\\${character}`);
}

function parseTerm(term: string, whole: string): FieldRequirement {
  const found = /^(.*?)(!=|==|=)(.*)$/s.exec(term);
  if (!found) throw new SelectorError(`invalid selector: '${whole}'; can't understand '${term}'`);
  const [, field, operator, value] = found;
  return { field: field!, operator: operator === '!=' ? '!=' : '=', value: unescapeValue(value!) };
}

/** At each comma that no backslash protects. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === ',') {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return [...terms, text.slice(start)];
}

function unescapeValue(value: string): string {
  let plain = '';
  const characters = [...value];
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i]!;
    if (character === ',' || character === '=') {
      throw new SelectorError(`invalid field selector: unescaped character in value: ${character.charCodeAt(0)}`);
    }
    if (character !== '\\') {
      plain += character;
      continue;
    }
    const next = characters[++i] ?? '';
    if (next !== '\\' && next !== ',' && next !== '=') {
      throw new SelectorError(`invalid field selector: invalid escape sequence: \\${next}`);
    }
    plain += next;
  }
  return plain;
}
