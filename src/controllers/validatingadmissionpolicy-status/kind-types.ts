/**
 * Which kinds a policy's rules are for, and what is known of their types: of built-in kinds from the tables, of all others from what the
 * server publishes about them. Made anew for each policy that is looked at, and asks the server no sooner and no more often than needed.
 */
import { builtinSchema } from '../../api/schema.ts';
import { type CelType, dynType } from '../../apimachinery/cel/index.ts';
import { BuiltInTypes } from '../../apimachinery/cel/kubernetes/built-in-types.ts';
import { type OpenApiSchema, resourceTypeOf } from '../../apimachinery/cel/kubernetes/open-api-types.ts';
import {
  apiVersionOf,
  type GroupVersionKind,
  type GroupVersionResource,
  type ResourceType,
} from '../../apimachinery/resource.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import { discover } from '../../client/discovery.ts';

export interface KindTypes {
  /** The kinds of a resource. Without a group it may be any group's that has the version, as upstream. */
  kindsOf(resource: GroupVersionResource): Promise<readonly GroupVersionKind[]>;
  /** Undefined where nothing is known of the kind. */
  typeOf(kind: GroupVersionKind): Promise<CelType | undefined>;
}

export class ServedKindTypes implements KindTypes {
  readonly #client: Client;
  readonly #builtIn = new BuiltInTypes();
  readonly #documents = new Map<string, Promise<Schemas>>();
  #served: Promise<readonly ResourceType[]> | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  async kindsOf({ group, version, resource }: GroupVersionResource): Promise<readonly GroupVersionKind[]> {
    this.#served ??= discover(this.#client).then(({ all }) => all);
    const name = resource.toLowerCase();
    return (await this.#served).filter(
      (type) =>
        type.version === version &&
        (type.group === group || group === '') &&
        (type.resource === name || type.singular === name),
    );
  }

  async typeOf(kind: GroupVersionKind): Promise<CelType | undefined> {
    const builtIn = builtinSchema().typeOf(apiVersionOf(kind), kind.kind);
    if (builtIn) return this.#builtIn.of(builtIn);
    const path = `/openapi/v3/${kind.group === '' ? 'api' : 'apis'}/${apiVersionOf(kind)}`;
    let document = this.#documents.get(path);
    if (!document) {
      document = schemasAt(this.#client, path);
      this.#documents.set(path, document);
    }
    const schemas = await document;
    const found = [...schemas.values()].find((schema) => describes(schema, kind));
    const lookup = (reference: string) => schemas.get(reference.replace(schemasPrefix, ''));
    return found && (resourceTypeOf(found, kind.kind, lookup) ?? dynType);
  }
}

const schemasPrefix = /^#\/components\/schemas\//;

type Schemas = ReadonlyMap<string, PublishedSchema>;

interface PublishedSchema extends OpenApiSchema {
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[];
}

/** None where the server publishes nothing. */
async function schemasAt(client: Client, path: string): Promise<Schemas> {
  try {
    const document = await client.raw({ method: 'GET', path });
    const { components } = document as { components?: { schemas?: Readonly<Record<string, PublishedSchema>> } };
    return new Map(Object.entries(components?.schemas ?? {}));
  } catch (error) {
    if (isNotFound(error)) return new Map();
    throw error;
  }
}

function describes(schema: PublishedSchema, { group, version, kind }: GroupVersionKind): boolean {
  return (schema['x-kubernetes-group-version-kind'] ?? []).some(
    (named) => named.group === group && named.version === version && named.kind === kind,
  );
}
