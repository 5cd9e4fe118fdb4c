/**
 * The server's description of itself in OpenAPI: version 3 with one document per group version (`/openapi/v3` is their index), and
 * version 2 with everything in one (`/openapi/v2`), also in protobuf. kubectl takes from them what `explain` says, whether a server
 * knows a parameter, and how lists merge.
 *
 * An `OpenApi` is an immutable picture of the resources served at one moment; when they change, make a new one, which takes over from the
 * last what has stayed the same. Documents are made when first asked for, and carry an ETag of their content.
 */
import { createHash } from 'node:crypto';
import { builtinSchema } from '../../api/schema.ts';
import { apiVersionOf } from '../../apimachinery/resource.ts';
import type { SubresourceRow } from '../../apimachinery/schema.ts';
import { customListSchema, customObjectSchema, customTypeName } from './custom-schemas.ts';
import { documentV2 } from './document-v2.ts';
import { documentV3 } from './document-v3.ts';
import { joinedDocuments, type RemoteOpenApi } from './joined-documents.ts';
import { type DocumentedResource, operationsOf, type PathOperations, type ResourceReferences } from './operations.ts';
import { encodeOpenApiV2 } from './protobuf-v2.ts';
import { rootOperations } from './root-operations.ts';
import { type Dialect, type Json, SchemaCollector } from './schemas.ts';

export interface OpenApiInput {
  readonly resources: readonly DocumentedResource[];
  /** `v1.36.2`: the version of the server. */
  readonly version: string;
  /** Of servers behind this one. */
  readonly remote?: RemoteOpenApi | undefined;
  /** The picture before this one, if there was one. */
  readonly previous?: OpenApi | undefined;
}

export interface OpenApiDocument {
  readonly body: Buffer;
  readonly contentType: string;
  /** Quoted, as the header has it. */
  readonly etag: string;
}

/** What kubectl asks for; older ones write `@` and newer ones a dot before the version. */
const protobufV2 =
  /^application\/com\.github\.(proto-openapi\.spec\.v2[@.]v1\.0\+protobuf|googleapis\.gnostic\.OpenAPIv2\+protobuf)$/;
const protobufV2Type = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

export class OpenApi {
  readonly #version: string;
  readonly #remote: RemoteOpenApi | undefined;
  readonly #byGroupVersion = new Map<string, DocumentedResource[]>();
  readonly #memo = new Map<string, OpenApiDocument>();
  #names: readonly string[] | undefined;

  constructor({ resources, version, remote, previous }: OpenApiInput) {
    this.#version = version;
    this.#remote = remote;
    for (const resource of resources) {
      const root = rootOf(resource);
      const known = this.#byGroupVersion.get(root);
      if (known) known.push(resource);
      else this.#byGroupVersion.set(root, [resource]);
    }
    if (previous && previous.#version === version) this.#takeOver(previous);
  }

  /** Of version 3's documents, those that tell of the same resources. Hundreds of custom ones change one at a time. */
  #takeOver(previous: OpenApi): void {
    for (const name of this.v3Names()) {
      const key = `v3/${name}`;
      const document = previous.#memo.get(key);
      const isSame = sameResources(previous.#byGroupVersion.get(name), this.#byGroupVersion.get(name));
      if (document && isSame) this.#memo.set(key, document);
    }
  }

  /**
   * The document at a path: `/openapi/v2`, `/openapi/v3`, `/openapi/v3/apis/apps/v1`; undefined when there is none. Of the forms that
   * the Accept header lists the first known one is given, JSON when it lists none.
   */
  document(path: string, accept: string | undefined): OpenApiDocument | undefined {
    if (path === '/openapi/v2') return formOfV2(accept) === 'protobuf' ? this.v2Protobuf() : this.v2();
    if (path === '/openapi/v3') return this.v3Index();
    return path.startsWith('/openapi/v3/') ? this.v3(path.slice('/openapi/v3/'.length)) : undefined;
  }

  /** The names of version 3's documents: `api/v1`, `apis/apps/v1`, `apis`, ... */
  v3Names(): readonly string[] {
    this.#names ??= this.#listNames();
    return this.#names;
  }

  #listNames(): readonly string[] {
    const versions = [...this.#byGroupVersion.keys()];
    const groups = versions
      .filter((root) => root.startsWith('apis/'))
      .map((root) => root.slice(0, root.lastIndexOf('/')));
    return [...new Set(['api', 'apis', 'version', ...groups, ...versions])].sort();
  }

  /** Where each document is; the hash in its URL lets clients keep it for good. */
  v3Index(): OpenApiDocument {
    return this.#once('v3', () => {
      const entries = this.v3Names().map((name) => {
        const hash = this.v3(name)!.etag.slice(1, -1);
        return [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` }] as const;
      });
      const theirs = Object.entries(this.#remote?.v3 ?? {}).map(
        ([name, serverRelativeURL]) => [name, { serverRelativeURL }] as const,
      );
      const paths = [...new Map([...entries, ...theirs])].sort(([a], [b]) => (a < b ? -1 : 1));
      return jsonDocument({ paths: Object.fromEntries(paths) });
    });
  }

  v3(name: string): OpenApiDocument | undefined {
    const key = `v3/${name}`;
    if (!this.#memo.has(key) && !this.v3Names().includes(name)) return undefined;
    return this.#once(key, () => {
      const resources = this.#byGroupVersion.get(name) ?? [];
      const schemas = new SchemaCollector(builtinSchema(), { dialect: 'v3', groupVersions: resources.slice(0, 1) });
      const paths = resources.length > 0 ? this.#operations(name, 'v3') : rootOperations(name);
      return jsonDocument(documentV3(paths, schemas, this.#version));
    });
  }

  v2(): OpenApiDocument {
    return this.#once('v2', () => jsonDocument(this.#v2Value()));
  }

  v2Protobuf(): OpenApiDocument {
    return this.#once('v2.protobuf', () => finished(encodeOpenApiV2(this.#v2Value()), protobufV2Type));
  }

  #v2Value(): Json {
    const groupVersions = [...this.#byGroupVersion.values()].map(([first]) => first!);
    const schemas = new SchemaCollector(builtinSchema(), { dialect: 'v2', groupVersions });
    const roots = this.v3Names().filter((name) => !this.#byGroupVersion.has(name));
    const paths = [
      ...roots.flatMap((name) => rootOperations(name)),
      ...[...this.#byGroupVersion.keys()].flatMap((name) => this.#operations(name, 'v2')),
    ];
    const own = documentV2(
      paths.sort((a, b) => (a.path < b.path ? -1 : 1)),
      schemas,
      this.#version,
    );
    return this.#remote ? joinedDocuments(own, this.#remote.v2) : own;
  }

  #operations(root: string, dialect: Dialect): PathOperations[] {
    const resources = this.#byGroupVersion.get(root) ?? [];
    return operationsOf(resources[0]!, resources, (resource) => references(resource, dialect));
  }

  #once(key: string, make: () => OpenApiDocument): OpenApiDocument {
    let document = this.#memo.get(key);
    if (!document) {
      document = make();
      this.#memo.set(key, document);
    }
    return document;
  }
}

/** Resources are the same when all their parts are the very same values. */
function sameResources(a: readonly DocumentedResource[] = [], b: readonly DocumentedResource[] = []): boolean {
  if (a.length !== b.length) return false;
  return a.every((resource, index) => {
    const other = new Map(Object.entries(b[index]!));
    const parts = Object.entries(resource);
    return parts.length === other.size && parts.every(([name, part]) => other.get(name) === part);
  });
}

function rootOf({ group, version }: DocumentedResource): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}

function references(resource: DocumentedResource, dialect: Dialect): ResourceReferences {
  const { type, list } = resource;
  const registry = builtinSchema();
  const common = {
    subresourceType: (subresource: SubresourceRow) => {
      if (subresource.kind === resource.kind) return undefined;
      const { group = resource.group, version = resource.version } = subresource;
      return registry.kind(apiVersionOf({ group, version }), subresource.kind)?.type;
    },
    optionParameters: (typeId: string) =>
      registry
        .type(typeId)
        .fields.filter((field) => field.name !== 'kind' && field.name !== 'apiVersion' && field.scalar !== 'time')
        .map(({ name, type: fieldType }) => ({ name, type: fieldType })),
  };
  if (type !== undefined) {
    return {
      ...common,
      object: (schemas) => schemas.reference(type),
      list: (schemas) => schemas.reference(list ?? type),
    };
  }
  const name = customTypeName(resource);
  const object = (schemas: SchemaCollector) =>
    schemas.referenceTo(name, () => customObjectSchema(resource, resource.schema, schemas, dialect));
  return {
    ...common,
    object,
    list: (schemas) => schemas.referenceTo(`${name}List`, () => customListSchema(resource, object(schemas), schemas)),
  };
}

/** The first of the forms that the header lists; undefined when it lists none of ours. */
export function formOfV2(accept: string | undefined): 'json' | 'protobuf' | undefined {
  for (const clause of (accept || '*/*').split(',')) {
    const mediaType = clause.split(';')[0]!.trim();
    if (protobufV2.test(mediaType)) return 'protobuf';
    if (mediaType === 'application/json' || mediaType === '*/*' || mediaType === 'application/*') return 'json';
  }
  return undefined;
}

function jsonDocument(value: Json): OpenApiDocument {
  return finished(Buffer.from(JSON.stringify(value)), 'application/json');
}

function finished(body: Buffer, contentType: string): OpenApiDocument {
  return { body, contentType, etag: `"${createHash('sha512').update(body).digest('hex').toUpperCase()}"` };
}
