/**
 * YAML request bodies, turned into JSON text as upstream does: version 1.1 (so `yes` is true and `0644` is octal), times kept as
 * strings, the first document of several. Repeated keys are reported beside the result, since only strict decoding refuses them.
 */

import type { Document, Tags } from 'yaml';
import { yamlLibrary } from '../base/lazy-module.ts';
import { hasLongNumber, jsonText } from './exact-json.ts';
import { quote } from './go-text.ts';

export interface YamlConversion {
  readonly json: string;
  /** Upstream's words for repeated keys; at most one entry. */
  readonly strictErrors: readonly string[];
}

/** Throws an Error with the reason when the text is not YAML. Aliases may not expand to more than a bounded number of nodes. */
export function yamlToJson(text: string): YamlConversion {
  const { isCollection, isMap, isScalar, visit } = yamlLibrary();
  const document = firstDocument(text);
  if (!document) return { json: 'null', strictErrors: [] };
  const error = document.errors[0];
  if (error && isTooDeep(error.message)) throw new Error(tooDeep, { cause: error });
  if (error) throw new Error(`yaml: line ${lineOf(text, error.pos[0])}: ${firstLine(error.message)}`);
  const repeated: string[] = [];
  visit(document, {
    Map(_, map) {
      if (!isMap(map)) return;
      const seen = new Set<string>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (seen.has(name))
          repeated.push(`  line ${lineOf(text, key.range?.[0] ?? 0)}: key ${quote(name)} already set in map`);
        seen.add(name);
      }
    },
    Alias(_, { source }, ancestors) {
      if (ancestors.some((node) => isCollection(node) && node.anchor === source))
        throw new Error(`yaml: anchor '${source}' value contains itself`);
    },
  });
  const json = jsonOf(document);
  const strictErrors = repeated.length > 0 ? [`yaml: unmarshal errors:\n${repeated.join('\n')}`] : [];
  return { json, strictErrors };
}

function jsonOf(document: Document.Parsed): string {
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 1000 });
  } catch (cause) {
    const message = messageOf(cause);
    if (isTooDeep(message)) throw new Error(tooDeep, { cause });
    const anchor = /^Unresolved alias .*: (.*)$/.exec(message)?.[1];
    const problem =
      anchor === undefined ? 'document contains excessive aliasing' : `unknown anchor '${anchor}' referenced`;
    throw new Error(`yaml: ${problem}`, { cause });
  }
  return jsonText(value) ?? 'null';
}

/** Composed lazily: whatever follows the first document is not even looked at. */
function firstDocument(text: string): Document.Parsed | undefined {
  const { Composer, Parser } = yamlLibrary();
  const composer = new Composer({
    version: '1.1',
    // Only where there may be a number that a double does not keep.
    intAsBigInt: hasLongNumber(text),
    merge: true,
    uniqueKeys: false,
    strict: false,
    customTags: goTags,
    // Looks at the whole text for each of what may be many errors.
    prettyErrors: false,
  });
  try {
    for (const document of composer.compose(new Parser().parse(text))) return document;
    return undefined;
  } catch (cause) {
    throw isTooDeep(messageOf(cause)) ? new Error(tooDeep, { cause }) : cause;
  }
}

const tooDeep = 'yaml: exceeded max depth of 10000';

/** The parser calls itself for every level, and the stack is what it is. */
function isTooDeep(message: string): boolean {
  return message.includes('call stack');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Go's YAML library leaves out times and base-60 numbers when it reads into JSON. */
function goTags(tags: Tags): Tags {
  return tags.filter((tag) => {
    if (typeof tag === 'string') return tag !== 'timestamp' && tag !== 'intTime' && tag !== 'floatTime';
    return tag.tag !== 'tag:yaml.org,2002:timestamp' && !('format' in tag && tag.format === 'TIME');
  });
}

function firstLine(message: string): string {
  return message.split('\n')[0]!.replace(/ at line \d+, column \d+:?$/, '');
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
