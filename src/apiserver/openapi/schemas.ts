/**
 * OpenAPI schemas of the kind tables' types. The two dialects differ in where definitions lie, in how a reference takes a
 * description along, and in that only version 3 shows defaults. Definitions are collected as they are referred to, so a document
 * holds what its paths need and nothing else.
 */
import type { FieldSchema, SchemaRegistry, TypeSchema } from '../../apimachinery/schema.ts';
import { describeField, describeType } from './descriptions.ts';

export type Dialect = 'v2' | 'v3';
export type Json = Record<string, unknown>;

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

export interface SchemaOptions {
  readonly dialect: Dialect;
  /** Group versions whose `DeleteOptions`, `WatchEvent` and the like are named in the document. */
  readonly groupVersions: readonly GroupVersion[];
}

const prefixes: Readonly<Record<Dialect, string>> = { v2: '#/definitions/', v3: '#/components/schemas/' };

export class SchemaCollector {
  readonly #registry: SchemaRegistry;
  readonly #options: SchemaOptions;
  readonly #kinds: ReadonlyMap<string, readonly Json[]>;
  readonly #definitions = new Map<string, Json>();
  readonly #pending: string[] = [];

  constructor(registry: SchemaRegistry, options: SchemaOptions) {
    this.#registry = registry;
    this.#options = options;
    this.#kinds = kindsByType(registry, options.groupVersions);
  }

  /** A reference to a type of the tables; its definition becomes part of the document. */
  reference(typeId: string): Json {
    const name = this.nameOf(typeId);
    if (!this.#definitions.has(name)) {
      this.#definitions.set(name, {});
      this.#pending.push(typeId);
    }
    return { $ref: prefixes[this.#options.dialect] + name };
  }

  /** A reference to a definition that is not in the tables; `schema` is taken the first time. */
  referenceTo(name: string, schema: () => Json): Json {
    if (!this.#definitions.has(name)) {
      this.#definitions.set(name, {});
      this.#definitions.set(name, schema());
    }
    return { $ref: prefixes[this.#options.dialect] + name };
  }

  /** All definitions referred to so far, by name. */
  definitions(): Json {
    for (let id = this.#pending.pop(); id !== undefined; id = this.#pending.pop())
      this.#definitions.set(this.nameOf(id), this.#definition(id));
    return Object.fromEntries([...this.#definitions].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** `io.k8s.api.core.v1.Pod` of `core/v1.Pod`. */
  nameOf(typeId: string): string {
    const dot = typeId.lastIndexOf('.');
    const pack = this.#registry.document.packages[typeId.slice(0, dot)];
    return `${pack?.openapi ?? typeId.slice(0, dot)}.${typeId.slice(dot + 1)}`;
  }

  #definition(typeId: string): Json {
    const type = this.#registry.type(typeId);
    const sentence = describeType(type.name);
    const description = sentence === undefined ? {} : { description: sentence };
    if (type.jsonOneOf) return description;
    if (type.jsonList) return { ...description, type: 'array', items: { type: 'string' } };
    const properties = Object.fromEntries(
      type.fields.map((field) => [field.name, this.#property(field)] as const).sort(byKey),
    );
    const required = type.fields.filter((field) => !field.optional).map((field) => field.name);
    const kinds = this.#kinds.get(typeId);
    return {
      ...description,
      type: 'object',
      ...(type.fields.length > 0 ? { properties } : {}),
      ...(required.length > 0 ? { required } : {}),
      ...(kinds ? { 'x-kubernetes-group-version-kind': kinds } : {}),
      ...(type.atomic ? { 'x-kubernetes-map-type': 'atomic' } : {}),
      ...this.#unions(type),
    };
  }

  #property(field: FieldSchema): Json {
    const description = describeField(field.name);
    const value = this.#value(field);
    const extra = { ...this.#default(field), ...extensionsOf(field) };
    const { $ref, ...rest } = value;
    if ($ref === undefined) return { description, ...rest, ...extra };
    return this.#options.dialect === 'v3'
      ? { description, allOf: [{ $ref }], ...extra }
      : { description, $ref, ...extra };
  }

  #value(field: FieldSchema): Json {
    const element = this.#element(field);
    if (field.map) return { type: 'object', additionalProperties: element };
    if (field.list) return { type: 'array', items: element };
    return element;
  }

  #element(field: FieldSchema): Json {
    if (field.ref?.jsonList) return { type: 'array', items: { type: 'string' } };
    if (field.ref) return this.reference(field.ref.id);
    const simple = simpleSchemas[field.type];
    if (simple) return field.enum ? { ...simple, enum: [...field.enum].sort() } : simple;
    const shared = sharedSchemas[field.named === 'meta/v1.FieldsV1' ? 'fields' : field.type]!;
    return this.referenceTo(shared.name, () => shared[this.#options.dialect]);
  }

  /** Version 3 shows the marked default, and the zero value of what is always written. */
  #default(field: FieldSchema): Json {
    if (this.#options.dialect === 'v2') return {};
    if (field.default !== undefined) return { default: field.default };
    if (field.pointer || field.list || field.map) return {};
    if (field.ref && !field.ref.jsonList && !field.ref.jsonOneOf) return { default: {} };
    const zero = field.omit === 'never' ? zeroDefaults[field.type] : undefined;
    return zero === undefined ? {} : { default: zero };
  }

  #unions(type: TypeSchema): Json {
    if (!type.row.union) return {};
    const discriminator = type.fields.find((field) => field.discriminator);
    const members = type.fields.filter((field) => field !== discriminator && field.optional);
    const fields = members.map(
      (field) => [field.name, field.name.charAt(0).toUpperCase() + field.name.slice(1)] as const,
    );
    const named = discriminator ? { discriminator: discriminator.name } : {};
    return { 'x-kubernetes-unions': [{ ...named, 'fields-to-discriminateBy': Object.fromEntries(fields) }] };
  }
}

const simpleSchemas: Readonly<Record<string, Json>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  float64: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
};

const zeroDefaults: Readonly<Record<string, unknown>> = { string: '', bool: false, int32: 0, int64: 0 };

interface SharedSchema {
  readonly name: string;
  readonly v2: Json;
  readonly v3: Json;
}

function shared(name: string, description: string, v2: Json, v3: Json = v2): SharedSchema {
  return { name, v2: { description, ...v2 }, v3: { description, ...v3 } };
}

const apimachinery = 'io.k8s.apimachinery.pkg';

/** Types with a JSON form of their own. */
const sharedSchemas: Readonly<Record<string, SharedSchema>> = {
  time: shared(`${apimachinery}.apis.meta.v1.Time`, 'A moment, in RFC 3339.', { type: 'string', format: 'date-time' }),
  microTime: shared(`${apimachinery}.apis.meta.v1.MicroTime`, 'A moment, in RFC 3339 with microseconds.', {
    type: 'string',
    format: 'date-time',
  }),
  duration: shared(`${apimachinery}.apis.meta.v1.Duration`, 'A length of time such as 1h30m.', { type: 'string' }),
  fields: shared(
    `${apimachinery}.apis.meta.v1.FieldsV1`,
    'A set of fields as a tree: "f:name" is a field, "k:{...}" an item of a list.',
    {
      type: 'object',
    },
  ),
  json: shared('io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON', 'Any JSON value.', {}),
  rawExtension: shared(`${apimachinery}.runtime.RawExtension`, 'An object of any kind.', { type: 'object' }),
  quantity: shared(
    `${apimachinery}.api.resource.Quantity`,
    'An amount with a decimal (m, k, M, G, ...) or binary (Ki, Mi, Gi, ...) suffix, such as 500m or 1Gi.',
    { type: 'string' },
    { oneOf: [{ type: 'string' }, { type: 'number' }] },
  ),
  intOrString: shared(
    `${apimachinery}.util.intstr.IntOrString`,
    'A number or a text: a port by number or name, an amount as a count or a percentage.',
    { type: 'string', format: 'int-or-string' },
    { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] },
  ),
};

/** What patches and server-side apply need to know. */
function extensionsOf(field: FieldSchema): Json {
  const atomic = field.mapType === 'atomic' || field.atomic;
  return {
    ...(field.listMapKeys && field.listType === 'map' ? { 'x-kubernetes-list-map-keys': field.listMapKeys } : {}),
    ...(field.listType ? { 'x-kubernetes-list-type': field.listType } : {}),
    ...(atomic ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    ...(field.granular || field.mapType === 'granular' ? { 'x-kubernetes-map-type': 'granular' } : {}),
    ...(field.patchMergeKey ? { 'x-kubernetes-patch-merge-key': field.patchMergeKey } : {}),
    ...(field.patchStrategy ? { 'x-kubernetes-patch-strategy': field.patchStrategy } : {}),
  };
}

/** Which kinds a type is, for `x-kubernetes-group-version-kind`. */
function kindsByType(registry: SchemaRegistry, groupVersions: readonly GroupVersion[]): Map<string, Json[]> {
  const result = new Map<string, Json[]>();
  const add = (typeId: string, group: string, version: string, kind: string) => {
    const kinds = result.get(typeId) ?? [];
    if (!kinds.some((known) => known.group === group && known.version === version))
      kinds.push({ group, kind, version });
    result.set(typeId, kinds);
  };
  for (const { group, version, kind, type, list } of registry.kinds()) {
    // The kinds of meta.k8s.io/v1 (Status, APIResourceList) are also of the core version, which is what documents call them.
    const owner = group === 'meta.k8s.io' && version === 'v1' ? '' : group;
    add(type, owner, version, kind);
    if (list) add(list, owner, version, `${kind}List`);
  }
  for (const [kind, type] of Object.entries(registry.document.everyGroupVersion)) {
    for (const { group, version } of [{ group: '', version: 'v1' }, ...groupVersions]) add(type, group, version, kind);
  }
  return result;
}

function byKey([a]: readonly [string, ...unknown[]], [b]: readonly [string, ...unknown[]]): number {
  return a < b ? -1 : 1;
}
