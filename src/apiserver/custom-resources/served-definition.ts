/**
 * A CustomResourceDefinition as served resources: one `StoredKind` for each version, which share the place in the store. Unlike the built-in
 * kinds, each version is its own hub, as upstream has it: objects are validated, owned, defaulted and selected in the version that the
 * client speaks, and become the storage version only on their way into the store.
 *
 * Made anew when the spec or the accepted names change. What else changes (whether it is established, whether it is being deleted) is read
 * from `DefinitionState`, so that caches and watches outlive it.
 */
import { createHash } from 'node:crypto';
import type { CustomResourceDefinition } from '../../api/gen/apiextensions-v1.ts';
import { apiVersionOf, type GroupVersionKind, groupResource } from '../../apimachinery/resource.ts';
import type { ResourceRow, SelectorRow, SubresourceRow } from '../../apimachinery/schema.ts';
import type { Log } from '../../base/log.ts';
import { once } from '../../base/once.ts';
import type { Random } from '../../base/random.ts';
import type { CustomPart } from '../custom-part.ts';
import type { DiscoveredResource } from '../discovery/discovered.ts';
import { compareVersions } from '../discovery/version-order.ts';
import type { ResourceCodec } from '../encoding/resource-codec.ts';
import type { ServedResource, StoredKind } from '../served-resource.ts';
import type { WebhookClients } from '../webhook-client/webhook-clients.ts';
import { convertedSource } from './conversion/converted-source.ts';
import { type Convert, webhookConversion } from './conversion/webhook-conversion.ts';
import { customBehaviour } from './custom-behaviour.ts';
import { customCodec } from './custom-codec.ts';
import { customScale } from './custom-scale.ts';
import { CustomVersion } from './custom-version.ts';
import { hasCondition } from './definition-status.ts';

/** Follows its definition as long as that says the same of its objects. */
export interface DefinitionState {
  definition: CustomResourceDefinition;
}

export interface ServedDefinition {
  readonly state: DefinitionState;
  /** By version; the storage version is among them even if it is not served. */
  readonly versions: ReadonlyMap<string, ServedResource>;
  readonly storage: ServedResource;
  /** What clients get to see. */
  readonly served: readonly ServedResource[];
}

export interface ServeOptions {
  /** What calls conversion webhooks. */
  readonly webhooks: WebhookClients;
  readonly random: Random;
  readonly log: Log;
  /** What is stored after this revision was written by these very rules. */
  readonly revision: number;
}

/** Whether the definition has names of its own, by which it can be served. */
export function isServable(definition: CustomResourceDefinition): boolean {
  const { plural, singular, kind, listKind } = definition.status?.acceptedNames ?? {};
  const isNamed = [plural, singular, kind, listKind].every(Boolean);
  return isNamed && (hasCondition(definition, 'NamesAccepted') || hasCondition(definition, 'Established'));
}

export function serveDefinition(definition: CustomResourceDefinition, options: ServeOptions): ServedDefinition {
  const state: DefinitionState = { definition };
  const { spec } = definition;
  const storageVersion = spec.versions.find(({ storage }) => storage)!.name;
  const custom = new Map(spec.versions.map((version) => [version.name, new CustomVersion(version)]));
  const schemas = { get: (name: string) => custom.get(name)?.schema };
  const sharing = new Map<string, ServedResource>();
  const versions = new Map<string, ServedResource>();
  const convert = conversionOf(definition, options);
  for (const version of custom.values()) {
    if (!version.definition.served && !version.definition.storage) continue;
    const row = rowOf(definition, version, storageVersion);
    const isStorage = version.name === storageVersion;
    // What a webhook converts comes to the codec in the codec's own version.
    const keptVersion = convert ? version.name : storageVersion;
    const codec = customCodec({ gvk: gvkOf(row), storageVersion: keptVersion, schemas, shape: () => version.shape });
    const stored = storedKind(row, version, {
      codec,
      sharing,
      source: convert && sourceOf(row, convert, options),
      trustedAfter: isStorage ? options.revision : Number.POSITIVE_INFINITY,
    });
    const served = servedResource(row, version, { state, codec, stored });
    sharing.set(served.apiVersion, served);
    versions.set(version.name, served);
  }
  return {
    state,
    versions,
    storage: versions.get(storageVersion)!,
    served: [...versions].filter(([name]) => custom.get(name)!.definition.served).map(([, served]) => served),
  };
}

/** Undefined where versions differ in nothing but their names. */
function conversionOf({ spec }: CustomResourceDefinition, { webhooks, random }: ServeOptions): Convert | undefined {
  const { strategy, webhook } = spec.conversion ?? {};
  if (strategy !== 'Webhook' || !webhook?.clientConfig) return undefined;
  const { clientConfig, conversionReviewVersions } = webhook;
  return webhookConversion({
    webhook: () => webhooks.of(clientConfig),
    reviewVersions: conversionReviewVersions,
    random,
  });
}

function sourceOf(row: ResourceRow, convert: Convert, { log }: ServeOptions): NonNullable<StoredKind['source']> {
  const target = { convert, apiVersion: apiVersionOf(row), storageApiVersion: row.storageVersion!, log };
  return (source) => convertedSource(source, target);
}

function gvkOf({ group, version, kind }: ResourceRow): GroupVersionKind {
  return { group, version, kind };
}

const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
/** Of a definition that is being deleted. */
const lastVerbs = ['delete', 'deletecollection', 'get', 'list', 'watch'];
const subresourceVerbs = ['get', 'patch', 'update'];

function rowOf(
  { spec, status }: CustomResourceDefinition,
  version: CustomVersion,
  storageVersion: string,
): ResourceRow {
  const { plural, singular = '', kind, shortNames = [], categories = [] } = status!.acceptedNames!;
  const { group } = spec;
  return {
    group,
    version: version.name,
    resource: plural,
    kind,
    singular,
    namespaced: spec.scope === 'Namespaced',
    shortNames,
    categories,
    verbs,
    subresources: subresourcesOf(version, kind),
    type: '',
    storageVersion: apiVersionOf({ group, version: storageVersion }),
    storageVersionHash: storageVersionHash(group, storageVersion, spec.names.kind),
    storagePrefix: `${group}/${plural}`,
    enabledByDefault: true,
  };
}

function subresourcesOf({ definition }: CustomVersion, kind: string): SubresourceRow[] {
  const { status, scale } = definition.subresources ?? {};
  const rows: SubresourceRow[] = [];
  if (status) rows.push({ name: 'status', kind, verbs: subresourceVerbs });
  if (scale) rows.push({ name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: subresourceVerbs });
  return rows;
}

function storageVersionHash(group: string, version: string, kind: string): string {
  const digest = createHash('sha256').update(`${group}/${version}/${kind}`).digest();
  return digest.subarray(0, 8).toString('base64');
}

interface StoredParts {
  readonly codec: ResourceCodec;
  readonly sharing: Map<string, ServedResource>;
  readonly source: StoredKind['source'];
  readonly trustedAfter: number;
}

function storedKind(
  row: ResourceRow,
  version: CustomVersion,
  { codec, sharing, source, trustedAfter }: StoredParts,
): StoredKind {
  const behaviour = once(() => customBehaviour(row, version));
  return {
    name: groupResource(row),
    prefix: `/registry/${row.storagePrefix}/`,
    namespaced: row.namespaced,
    hub: row,
    hubApiVersion: apiVersionOf(row),
    codec,
    get behaviour() {
      return behaviour();
    },
    selectors: selectorsOf(row, version),
    keepsStatus: version.keepsStatus,
    custom: true,
    source,
    trustedAfter,
    versions: sharing,
    selectableFields: ({ metadata, ...rest }) => ({
      'metadata.name': metadata.name ?? '',
      ...(row.namespaced ? { 'metadata.namespace': metadata.namespace ?? '' } : {}),
      ...version.selectableValues({ metadata, ...rest }),
    }),
  };
}

function selectorsOf(row: ResourceRow, version: CustomVersion): SelectorRow {
  const namespace = row.namespaced ? ['metadata.namespace'] : [];
  return {
    accept: { [row.version]: ['metadata.name', ...namespace, ...version.selectableFields] },
    error: 'field label not supported: {label}',
  };
}

interface ServedParts {
  readonly state: DefinitionState;
  readonly codec: ResourceCodec;
  readonly stored: StoredKind;
}

function servedResource(
  row: ResourceRow,
  version: CustomVersion,
  { state, codec, stored }: ServedParts,
): ServedResource {
  const { acceptedNames } = state.definition.status!;
  const { scale } = version.definition.subresources ?? {};
  const custom: CustomPart = {
    get discovered() {
      return discoveredResource(row, state, version.selectableFields);
    },
    get publishedSchema() {
      return version.openApiSchema as Readonly<Record<string, unknown>>;
    },
    get terminating() {
      return hasCondition(state.definition, 'Terminating');
    },
    scalable: scale && customScale(scale),
  };
  return {
    row,
    apiVersion: apiVersionOf(row),
    listKind: acceptedNames!.listKind!,
    codec,
    stored,
    conversion: undefined,
    selectors: stored.selectors,
    deprecation: deprecationOf(row, version, state.definition),
    custom,
  };
}

function discoveredResource(
  row: ResourceRow,
  { definition }: DefinitionState,
  selectable: readonly string[],
): DiscoveredResource | undefined {
  if (!hasCondition(definition, 'Established')) return undefined;
  const verbs = hasCondition(definition, 'Terminating') ? { verbs: lastVerbs } : {};
  return { ...row, ...verbs, tellsWholeKinds: true, selectable };
}

/** Names the best version that is served and not itself deprecated, if it is better than this one. */
function deprecationOf(
  row: ResourceRow,
  { definition: { deprecated, deprecationWarning } }: CustomVersion,
  { spec }: CustomResourceDefinition,
): string | undefined {
  if (!deprecated) return undefined;
  if (deprecationWarning !== undefined) return deprecationWarning;
  const [better] = spec.versions
    .filter((other) => other.served && !other.deprecated && compareVersions(other.name, row.version) < 0)
    .map(({ name }) => name)
    .sort(compareVersions);
  const instead = better === undefined ? '' : `; use ${spec.group}/${better} ${spec.names.kind}`;
  return `${spec.group}/${row.version} ${spec.names.kind} is deprecated${instead}`;
}
