/**
 * The behaviour of every built-in kind, by group and resource. One entry serves all versions of a resource, since objects are
 * defaulted and validated in the version they are stored in. What has no entry behaves generically.
 */
import type { KubeObject } from '../apimachinery/meta.ts';
import { groupResource, type ResourceType } from '../apimachinery/resource.ts';
import { podBehaviour } from './core/v1/pod.ts';
import type { KindBehaviour } from './kind.ts';

const behaviours: ReadonlyMap<string, KindBehaviour> = index([podBehaviour as KindBehaviour]);

/** What is asked for: a descriptor, or a row of the tables. */
export interface ResourceName {
  readonly group: string;
  readonly resource: string;
}

/** Never fails: an unknown kind's behaviour has no rules of its own. */
export function behaviourOf(name: ResourceName): KindBehaviour {
  return behaviours.get(groupResource(name)) ?? { resource: name as ResourceType<KubeObject> };
}

function index(list: readonly KindBehaviour[]): Map<string, KindBehaviour> {
  return new Map(list.map((behaviour) => [groupResource(behaviour.resource), behaviour]));
}
