/**
 * The built-in kinds' tables, read from `gen/schema.json` on first use. The memo holds an immutable value, so sharing it between
 * all parts of a process changes nothing but the time it takes.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Codec } from '../apimachinery/codec.ts';
import { type ResourceRow, type SchemaDocument, SchemaRegistry } from '../apimachinery/schema.ts';
import { once } from '../base/once.ts';

/** The tables of all kinds that v1.36 has, on or off by default. The same registry on every call. */
export const builtinSchema: () => SchemaRegistry = once(() => {
  const text = readFileSync(join(import.meta.dirname, 'gen/schema.json'), 'utf8');
  return new SchemaRegistry(JSON.parse(text) as SchemaDocument);
});

/** The codec of the built-in kinds; what it memoizes are compiled readers and writers, which depend on the tables alone. */
export const builtinCodec: () => Codec = once(() => new Codec(builtinSchema()));

/** The resources the API server itself can serve, in discovery's order. */
export const builtinResources: () => readonly ResourceRow[] = once(() =>
  builtinSchema().document.resources.filter((resource) => !resource.external),
);
