/**
 * The kind tables: what every type looks like, from which decoding, encoding, defaulting, patches, managed fields, OpenAPI and
 * protobuf are derived. A registry is built once from the JSON that `scripts/generate-api.ts` writes (or from parts made in a test)
 * and never changes; types are resolved on first use. It knows shapes, not behaviour: validation and defaults live with each kind.
 */

export type ScalarType =
  | 'string'
  | 'int32'
  | 'int64'
  | 'bool'
  | 'float64'
  | 'bytes'
  | 'quantity'
  | 'intOrString'
  | 'time'
  | 'microTime'
  | 'duration'
  | 'rawExtension'
  | 'json';

/** When JSON leaves a field out: `empty` = Go's omitempty (never drops a struct), `zero` = omitzero, `both`; `never` writes it always. */
export type OmitRule = 'never' | 'empty' | 'zero' | 'both';

/** One field as it stands in the tables. */
export interface FieldRow {
  readonly name: string;
  readonly type: string;
  readonly list?: boolean;
  readonly map?: boolean;
  readonly pointer?: boolean;
  readonly inline?: boolean;
  readonly optional?: boolean;
  readonly omit?: OmitRule;
  readonly tag?: number;
  readonly proto?: string;
  readonly protoName?: string;
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
  readonly listType?: 'atomic' | 'set' | 'map';
  readonly listMapKeys?: readonly string[];
  readonly mapType?: 'atomic' | 'granular';
  readonly atomic?: boolean;
  readonly granular?: boolean;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly named?: string;
  readonly keyNamed?: string;
  readonly gate?: readonly string[];
  readonly limits?: Readonly<Record<string, unknown>>;
  readonly discriminator?: boolean;
  readonly unionMember?: boolean;
}

export interface TypeRow {
  readonly fields: readonly FieldRow[];
  readonly atomic?: boolean;
  readonly union?: boolean;
  readonly jsonList?: string;
  readonly jsonOneOf?: readonly string[];
  readonly noProto?: boolean;
  readonly protoNullable?: boolean;
}

/** A field of a JSON object: those of inlined types stand in their parent's list, in order. */
export interface FieldSchema extends FieldRow {
  readonly omit: OmitRule;
  /** The struct type behind `ref:`; undefined for scalars. */
  readonly ref: TypeSchema | undefined;
  /** The scalar's name; undefined for structs. */
  readonly scalar: ScalarType | undefined;
}

export interface TypeSchema {
  /** `core/v1.PodSpec`. */
  readonly id: string;
  /** `PodSpec`. */
  readonly name: string;
  /** How Go's messages write the type: `v1.PodSpec`. */
  readonly goName: string;
  /** As written in the tables: inlined types not yet copied in. Protobuf needs this form. */
  readonly row: TypeRow;
  /** All JSON fields in order, `kind` and `apiVersion` of TypeMeta included. */
  readonly fields: readonly FieldSchema[];
  readonly byName: ReadonlyMap<string, FieldSchema>;
  /** Server-side apply replaces the struct as a whole. */
  readonly atomic: boolean;
  /** The JSON is an array of this scalar or type (`meta/v1.Verbs`). */
  readonly jsonList: string | undefined;
  /** The JSON is the value of whichever of these fields is set (`JSONSchemaPropsOrBool`). */
  readonly jsonOneOf: readonly string[] | undefined;
}

export interface KindSchema {
  readonly group: string;
  readonly version: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Id of its type and, if it has one, of its list's type. */
  readonly type: string;
  readonly list: string | undefined;
  /** A webhook's or discovery's document, not a stored resource. */
  readonly wire: boolean;
  readonly introduced: string | undefined;
  readonly deprecated: string | undefined;
  readonly removed: string | undefined;
  readonly replacement: unknown;
}

export interface SubresourceRow {
  readonly name: string;
  readonly kind: string;
  /** Of the kind, where not the resource's own. */
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
  readonly gate?: string;
}

export interface ResourceRow {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  readonly subresources: readonly SubresourceRow[];
  /** Type ids of the object and its list. */
  readonly type: string;
  readonly list?: string;
  /** apiVersion in which the object is stored; absent for kinds that are never stored. */
  readonly storageVersion?: string;
  readonly storageVersionHash?: string;
  /** Folder below `/registry/`. */
  readonly storagePrefix?: string;
  /** Whether the group version is served unless configured otherwise. */
  readonly enabledByDefault: boolean;
  /** Feature gate without which the resource is not served. */
  readonly gate?: string;
  /** Served by another server (metrics.k8s.io). */
  readonly external?: boolean;
}

export interface GroupRow {
  readonly group: string;
  readonly position: number;
  readonly preferredVersion: string;
  readonly preferredByDefault?: string;
  readonly groupPriority: number;
  readonly versions: readonly {
    readonly version: string;
    readonly versionPriority: number;
    readonly enabledByDefault: boolean;
    readonly stability: 'ga' | 'beta' | 'alpha';
    readonly resources: readonly string[];
  }[];
}

export interface SelectorRow {
  readonly [fact: string]: unknown;
}

export interface PackageRow {
  readonly group: string;
  readonly version: string;
  readonly stability: string;
  readonly proto: string;
  readonly openapi: string;
}

/** The whole of the tables, as in `api/gen/schema.json`. */
export interface SchemaDocument {
  readonly release: string;
  readonly packages: Readonly<Record<string, PackageRow>>;
  readonly types: Readonly<Record<string, TypeRow>>;
  readonly kinds: Readonly<Record<string, Partial<KindSchema> & { readonly type: string }>>;
  readonly everyGroupVersion: Readonly<Record<string, string>>;
  readonly resources: readonly ResourceRow[];
  readonly groups: readonly GroupRow[];
  readonly apiPriorities: readonly {
    readonly group: string;
    readonly version: string;
    readonly groupPriority: number;
    readonly versionPriority: number;
  }[];
  readonly gates: readonly { readonly gate: string; readonly default: boolean; readonly stage: string }[];
  readonly selectors: readonly SelectorRow[];
}

/** Look-up over the tables. Types are resolved lazily and once, so two look-ups give the same `TypeSchema`. */
export class SchemaRegistry {
  readonly document: SchemaDocument;
  readonly #types = new Map<string, TypeSchema>();
  readonly #kinds = new Map<string, KindSchema>();

  constructor(document: SchemaDocument) {
    this.document = document;
    for (const [key, row] of Object.entries(document.kinds)) {
      const slash = key.lastIndexOf('/');
      this.#kinds.set(key, kindSchema(key.slice(0, slash), key.slice(slash + 1), row));
    }
  }

  /**
   * The kind of that apiVersion, its list kind (`PodList`), or one of those every group version has (`DeleteOptions`); undefined when
   * the tables have no such kind.
   */
  kind(apiVersion: string, kind: string): KindSchema | undefined {
    const key = `${apiVersion}/${kind}`;
    const known = this.#kinds.get(key);
    if (known) return known;
    const item = kind.endsWith('List') ? this.#kinds.get(key.slice(0, -'List'.length)) : undefined;
    const type = item?.list ?? this.document.everyGroupVersion[kind];
    if (type === undefined || (item === undefined && !this.hasVersion(apiVersion))) return undefined;
    const found = kindSchema(apiVersion, kind, { type });
    this.#kinds.set(key, found);
    return found;
  }

  /** Every kind of the tables, in their order. Lists and the kinds of every group version are not among them. */
  kinds(): KindSchema[] {
    return Object.keys(this.document.kinds).map((key) => this.#kinds.get(key)!);
  }

  /** Whether any kind of the tables has this apiVersion. */
  hasVersion(apiVersion: string): boolean {
    return Object.values(this.document.packages).some((p) => versionText(p.group, p.version) === apiVersion);
  }

  /** The type of an id such as `core/v1.PodSpec`. Throws when the tables have none: ids come from the tables themselves. */
  type(id: string): TypeSchema {
    let type = this.#types.get(id);
    if (!type) {
      const row = this.document.types[id];
      if (!row) throw new Error(`the kind tables have no type ${id}`);
      type = new LazyType(this, id, row);
      this.#types.set(id, type);
    }
    return type;
  }

  hasType(id: string): boolean {
    return Object.hasOwn(this.document.types, id);
  }

  /** The type of a kind; undefined when the tables do not know it. */
  typeOf(apiVersion: string, kind: string): TypeSchema | undefined {
    const found = this.kind(apiVersion, kind);
    return found && this.type(found.type);
  }
}

class LazyType implements TypeSchema {
  readonly id: string;
  readonly name: string;
  readonly goName: string;
  readonly row: TypeRow;
  readonly atomic: boolean;
  readonly jsonList: string | undefined;
  readonly jsonOneOf: readonly string[] | undefined;
  readonly #registry: SchemaRegistry;
  #fields: readonly FieldSchema[] | undefined;
  #byName: ReadonlyMap<string, FieldSchema> | undefined;

  constructor(registry: SchemaRegistry, id: string, row: TypeRow) {
    const dot = id.lastIndexOf('.');
    this.id = id;
    this.name = id.slice(dot + 1);
    this.goName = `${id.slice(id.indexOf('/') + 1, dot)}.${this.name}`;
    this.row = row;
    this.atomic = row.atomic === true;
    this.jsonList = row.jsonList;
    this.jsonOneOf = row.jsonOneOf;
    this.#registry = registry;
  }

  get fields(): readonly FieldSchema[] {
    this.#fields ??= this.row.fields.flatMap((row) => {
      if (row.inline) return this.#registry.type(row.type.slice('ref:'.length)).fields;
      // `Object.assign` in the constructor supplies the row's own properties, which the compiler cannot see.
      return [new LazyField(this.#registry, row) as unknown as FieldSchema];
    });
    return this.#fields;
  }

  get byName(): ReadonlyMap<string, FieldSchema> {
    this.#byName ??= new Map(this.fields.map((field) => [field.name, field]));
    return this.#byName;
  }
}

class LazyField {
  readonly omit: OmitRule;
  readonly scalar: ScalarType | undefined;
  readonly #registry: SchemaRegistry;
  readonly #refId: string | undefined;
  #ref: TypeSchema | undefined;

  constructor(registry: SchemaRegistry, row: FieldRow) {
    Object.assign(this, row);
    this.omit = row.omit ?? (row.optional ? 'empty' : 'never');
    this.#refId = row.type.startsWith('ref:') ? row.type.slice('ref:'.length) : undefined;
    this.scalar = this.#refId === undefined ? (row.type as ScalarType) : undefined;
    this.#registry = registry;
  }

  get ref(): TypeSchema | undefined {
    if (this.#refId === undefined) return undefined;
    this.#ref ??= this.#registry.type(this.#refId);
    return this.#ref;
  }
}

function kindSchema(
  apiVersion: string,
  kind: string,
  row: Partial<KindSchema> & { readonly type: string },
): KindSchema {
  const slash = apiVersion.indexOf('/');
  return {
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    apiVersion,
    kind,
    type: row.type,
    list: row.list,
    wire: row.wire === true,
    introduced: row.introduced,
    deprecated: row.deprecated,
    removed: row.removed,
    replacement: row.replacement,
  };
}

function versionText(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}
