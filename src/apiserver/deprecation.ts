/** What clients of an API that is on its way out are told with every answer: since when, until when, and what to use instead. */
import { builtinSchema } from '../api/schema.ts';
import { apiVersionOf } from '../apimachinery/resource.ts';
import type { ResourceRow } from '../apimachinery/schema.ts';
import { serverVersion } from './version.ts';

interface Lifecycle {
  readonly deprecated: string;
  readonly removed?: string | undefined;
  readonly replacement?: string | undefined;
}

/** Kinds of the core group have no marks in the tables, since v1 never goes away. */
const coreKinds: Readonly<Record<string, Lifecycle>> = {
  ComponentStatus: { deprecated: '1.19' },
  Endpoints: { deprecated: '1.33', replacement: 'discovery.k8s.io/v1 EndpointSlice' },
};

/** `v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice`; undefined while there is nothing to warn of. */
export function deprecationWarning(row: ResourceRow): string | undefined {
  const lifecycle = lifecycleOf(row);
  if (!lifecycle || minorOf(lifecycle.deprecated) > Number(serverVersion.minor)) return undefined;
  const { deprecated, removed, replacement } = lifecycle;
  const until = removed === undefined ? '' : `, unavailable in v${removed}+`;
  const instead = replacement === undefined ? '' : `; use ${replacement}`;
  return `${apiVersionOf(row)} ${row.kind} is deprecated in v${deprecated}+${until}${instead}`;
}

/** The release that the API is removed in, `''` when there is none yet; undefined for what is not deprecated. */
export function removedRelease(row: ResourceRow): string | undefined {
  const lifecycle = lifecycleOf(row);
  return lifecycle && minorOf(lifecycle.deprecated) <= Number(serverVersion.minor)
    ? (lifecycle.removed ?? '')
    : undefined;
}

function lifecycleOf(row: ResourceRow): Lifecycle | undefined {
  if (row.group === '') return coreKinds[row.kind];
  const kind = builtinSchema().kind(apiVersionOf(row), row.kind);
  if (kind?.deprecated === undefined) return undefined;
  const { deprecated, removed, replacement } = kind;
  return { deprecated, removed, replacement: typeof replacement === 'string' ? replacement : undefined };
}

/** Every release so far has the major version 1. */
function minorOf(release: string): number {
  return Number(release.split('.')[1]);
}
