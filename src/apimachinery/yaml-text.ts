/**
 * YAML request bodies, turned into JSON text as upstream does: version 1.1 (so `yes` is true and `0644` is octal), times kept as
 * strings, the first document of several. Repeated keys are reported beside the result, since only strict decoding refuses them.
 */
import type { Tags } from 'yaml';
import { yamlLibrary } from '../base/lazy-module.ts';
import { quote } from './go-text.ts';

export interface YamlConversion {
  readonly json: string;
  /** Upstream's words for repeated keys; at most one entry. */
  readonly strictErrors: readonly string[];
}

/** Throws an Error with the reason when the text is not YAML. Aliases may not expand to more than a bounded number of nodes. */
export function yamlToJson(text: string): YamlConversion {
  const { isMap, isScalar, parseAllDocuments, visit } = yamlLibrary();
  const documents = parseAllDocuments(text, {
    version: '1.1',
    merge: true,
    uniqueKeys: false,
    strict: false,
    customTags: goTags,
  });
  const document = Array.isArray(documents) ? documents[0] : undefined;
  if (!document) return { json: 'null', strictErrors: [] };
  const error = document.errors[0];
  if (error) throw new Error(`yaml: line ${error.linePos?.[0].line ?? 1}: ${firstLine(error.message)}`);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 1000 });
  } catch (cause) {
    throw new Error('yaml: document contains excessive aliasing', { cause });
  }
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
  });
  const strictErrors = repeated.length > 0 ? [`yaml: unmarshal errors:\n${repeated.join('\n')}`] : [];
  return { json: JSON.stringify(value) ?? 'null', strictErrors };
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
