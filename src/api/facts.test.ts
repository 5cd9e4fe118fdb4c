/** Every kind held against the facts: what defaults fill in, what tables show. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { TypeSchema } from '../apimachinery/schema.ts';
import { anyObject } from './any-object.fixture.ts';
import { behaviourOf, knownBehaviours } from './behaviours.ts';
import { defaultColumns } from './columns.ts';
import { builtinSchema } from './schema.ts';

interface ColumnFact {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly priority: number;
}

interface DefaultFact {
  readonly path: string;
  readonly default: unknown;
  readonly when?: string;
  readonly gate?: string;
}

interface Facts {
  readonly columns: {
    readonly kinds: readonly {
      readonly apiVersions: readonly string[];
      readonly resource: string | null;
      readonly columns: readonly ColumnFact[];
    }[];
  };
  readonly defaults: { readonly defaults: Readonly<Record<string, readonly DefaultFact[]>> };
}

function facts<N extends keyof Facts>(name: N): Facts[N] {
  return JSON.parse(readFileSync(`facts/v1.36/${name}.json`, 'utf8')) as Facts[N];
}

describe('the columns of a table', () => {
  for (const { apiVersions, resource, columns } of facts('columns').kinds) {
    if (resource === null) continue;
    const [first = ''] = apiVersions;
    const group = first.includes('/') ? first.slice(0, first.indexOf('/')) : '';
    it(`of ${resource} are upstream's`, () => {
      const shown = behaviourOf({ group, resource }).columns ?? defaultColumns;
      const told = ({ name, type, format = '', priority = 0 }: Partial<ColumnFact>) => ({
        name,
        type,
        format,
        priority,
      });
      assert.deepEqual(shown.map(told), columns.map(told));
    });
  }
});

/** Rules that hold wherever their type stands: a value that is always the same. */
const plain = Object.fromEntries(
  Object.entries(facts('defaults').defaults).map(([type, rules]) => [
    type,
    rules.filter(
      ({ path, default: value, when, gate }) =>
        /^[A-Za-z.]+$/.test(path) &&
        (when === undefined || when === 'declarative') &&
        gate === undefined &&
        !(typeof value === 'string' && value.startsWith('=')),
    ),
  ]),
);

const met = new Set<string>();

describe('defaults', () => {
  for (const behaviour of knownBehaviours()) {
    it(`of ${behaviour.resource.resource} leave nothing unset that upstream sets`, () => {
      for (let seed = 0; seed < 60; seed++) {
        const object = anyObject(behaviour.resource, seed, seed % 2 ? 0.4 : 0.8);
        behaviour.defaults?.(object);
        const schema = builtinSchema().typeOf(object.apiVersion!, object.kind!)!;
        assert.deepEqual(unset(object, schema, ''), [], `seed ${seed}`);
      }
    });
  }

  it('were all met, but for types that stand within others', () => {
    const stored = new Set(
      knownBehaviours().map(({ resource }) => `${resource.group.split('.')[0] || 'core'}/${resource.version}`),
    );
    const left = Object.entries(plain).filter(
      ([type, rules]) => rules.length > 0 && !met.has(type) && stored.has(type.split('.')[0]!),
    );
    assert.deepEqual(
      left.map(([type]) => type),
      ['core/v1.EphemeralContainerCommon', 'admissionregistration/v1.Rule'],
    );
  });
});

/** Places of an object where a rule of its type asks for a value and there is none. */
function unset(value: unknown, type: TypeSchema, at: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const struct = value as Readonly<Record<string, unknown>>;
  met.add(type.id);
  const here = (plain[type.id] ?? []).flatMap((rule) =>
    rule.path.split('.').reduce<unknown>((part, step) => (part as typeof struct | undefined)?.[step], struct) == null
      ? [`${at}.${rule.path}`]
      : [],
  );
  const below = type.fields.flatMap(({ name, ref, list, map }) => {
    const part = struct[name];
    if (!ref || part == null) return [];
    const parts = list || map ? Object.entries(part as object) : [['', part] as const];
    return parts.flatMap(([key, entry]) => unset(entry, ref, `${at}.${name}${key && `[${key}]`}`));
  });
  return [...here, ...below];
}
