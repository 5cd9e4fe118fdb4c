/**
 * The kinds that the collector follows: all that discovery says can be listed, watched and deleted, looked at anew every 30
 * seconds and whenever a CustomResourceDefinition changes. Knows how to turn an owner reference into a resource.
 */

import type { KubeObject, OwnerReference } from '../../apimachinery/meta.ts';
import { apiVersionOf, parseApiVersion, type ResourceType } from '../../apimachinery/resource.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { discover, supports } from '../../client/discovery.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import type { Informer, Registration } from '../../reconcile/informer.ts';

/** Events come and go by the thousand and own nothing. */
const ignored: ReadonlySet<string> = new Set(['/events', 'events.k8s.io/events']);

export interface KindFollower {
  changed(type: ResourceType, object: KubeObject): void;
  removed(type: ResourceType, object: KubeObject): void;
}

export class FollowedKinds {
  readonly #context: ComponentContext;
  readonly #follower: KindFollower;
  readonly #followed = new Map<
    string,
    { readonly informer: Informer<KubeObject>; readonly registration: Registration }
  >();
  #byKind = new Map<string, ResourceType>();

  constructor(context: ComponentContext, follower: KindFollower) {
    this.#context = context;
    this.#follower = follower;
  }

  /** Follows new kinds and lets go of those that are no longer served. Kinds of a group that fails to answer stay followed. */
  async refresh(): Promise<void> {
    const { client, informers, log, signal } = this.#context;
    const { preferred, all, failures } = await discover(client, signal);
    for (const failure of failures) log.warn('failed to discover some groups', { ...failure });
    this.#byKind = new Map([...all, ...preferred].map((type) => [kindKey(apiVersionOf(type), type.kind), type]));
    const failing = new Set(failures.map(({ groupVersion }) => parseApiVersion(groupVersion).group));
    const served = new Map(preferred.filter(isFollowable).map((type) => [typeKey(type), type]));
    for (const [key, { informer, registration }] of this.#followed) {
      if (served.has(key) || failing.has(informer.type.group)) continue;
      registration.remove();
      this.#followed.delete(key);
      informers.forget(informer.type);
    }
    for (const [key, type] of served) {
      const known = this.#followed.get(key);
      const informer = informers.whileServed(type);
      if (known?.informer === informer) continue;
      // Somebody else saw the kind go, and it is back.
      known?.registration.remove();
      const registration = informer.onChange({
        added: (object) => this.#follower.changed(type, object),
        updated: (object) => this.#follower.changed(type, object),
        deleted: (object) => this.#follower.removed(type, object),
      });
      this.#followed.set(key, { informer, registration });
    }
  }

  /** Resolves when every kind followed so far has been listed. */
  async whenSynced(): Promise<void> {
    const { signal, log } = this.#context;
    await Promise.all(
      [...this.#followed.values()].map(({ informer }) =>
        informer
          .whenSynced(signal)
          .catch((error) => log.warn('kind not synced', { resource: informer.type.resource, error: messageOf(error) })),
      ),
    );
  }

  /** The resource that a reference means; undefined when no such kind is served. */
  typeOf({ apiVersion, kind }: Pick<OwnerReference, 'apiVersion' | 'kind'>): ResourceType | undefined {
    return this.#byKind.get(kindKey(apiVersion, kind));
  }
}

function isFollowable(type: ResourceType): boolean {
  return supports(type, 'delete', 'list', 'watch') && !ignored.has(`${type.group}/${type.resource}`);
}

function typeKey(type: ResourceType): string {
  return `${type.group}/${type.version}/${type.resource}`;
}

function kindKey(apiVersion: string, kind: string): string {
  return `${apiVersion}/${kind}`;
}
