/**
 * Who owns whom, across every kind: a node for each object seen and for each owner that is only known by being referred to
 * (a virtual one). The graph decides nothing and talks to nobody; each change returns the uids that somebody should now look at.
 *
 *     observe(pod, owner rs-uid)     rs-uid unseen -> a virtual node; look at the pod: its owner may not exist
 *     observe(rs)                    the node becomes real, keeps its dependents
 *     remove(rs)                     look at the pod: it may be an orphan now
 */
import type { KubeObject, OwnerReference } from '../../apimachinery/meta.ts';
import { apiVersionOf, type ResourceType } from '../../apimachinery/resource.ts';

export interface Identity {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
}

export interface GraphNode {
  readonly identity: Identity;
  /** undefined for a virtual node. */
  readonly type: ResourceType | undefined;
  readonly owners: readonly OwnerReference[];
  readonly dependents: ReadonlySet<GraphNode>;
  readonly beingDeleted: boolean;
  /** Waits with its own end until its blocking dependents are gone. */
  readonly deletingDependents: boolean;
  /** Its dependents are to be let go before it ends. */
  readonly orphaning: boolean;
}

interface MutableNode extends GraphNode {
  identity: Identity;
  type: ResourceType | undefined;
  owners: readonly OwnerReference[];
  dependents: Set<MutableNode>;
  beingDeleted: boolean;
  deletingDependents: boolean;
  orphaning: boolean;
}

export interface Suspects {
  /** Nodes whose right to exist should be checked. */
  readonly check: readonly string[];
  /** Nodes whose dependents should be let go. */
  readonly orphan: readonly string[];
}

const nobody: Suspects = { check: [], orphan: [] };
const noOwners: readonly OwnerReference[] = [];

export const foregroundFinalizer = 'foregroundDeletion';
export const orphanFinalizer = 'orphan';

export class OwnerGraph {
  readonly #nodes = new Map<string, MutableNode>();

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  nodes(): Iterable<GraphNode> {
    return this.#nodes.values();
  }

  /** An object was added or changed. */
  observe(type: ResourceType, object: KubeObject): Suspects {
    const {
      uid = '',
      namespace,
      name = '',
      ownerReferences = noOwners,
      finalizers = [],
      deletionTimestamp,
    } = object.metadata;
    const known = this.#nodes.get(uid);
    // Versions of an object share what is equal in them, and nearly all changes leave its ties as they were.
    if (known?.type === type && known.owners === ownerReferences && !known.beingDeleted && !deletionTimestamp)
      if (!this.isSuspect(known)) return nobody;
    const check = new Set<string>();
    const orphan: string[] = [];
    const node = known ?? this.#add({ apiVersion: apiVersionOf(type), kind: type.kind, namespace, name, uid });
    const appeared = node.type === undefined;
    node.identity = { apiVersion: apiVersionOf(type), kind: type.kind, namespace, name, uid };
    node.type = type;
    this.#reown(node, ownerReferences, check);
    if (appeared) {
      // What referred to it before it was seen may have meant something else under the same uid.
      for (const dependent of node.dependents) if (!refersTo(dependent, node)) check.add(dependent.identity.uid);
    }
    node.beingDeleted = deletionTimestamp !== undefined;
    const deletesDependents = node.beingDeleted && finalizers.includes(foregroundFinalizer);
    if (deletesDependents && !node.deletingDependents) {
      for (const dependent of node.dependents) check.add(dependent.identity.uid);
      check.add(uid);
    }
    node.deletingDependents = deletesDependents;
    const orphans = node.beingDeleted && finalizers.includes(orphanFinalizer);
    if (orphans && !node.orphaning) orphan.push(uid);
    node.orphaning = orphans;
    if (this.isSuspect(node)) check.add(uid);
    return { check: [...check], orphan };
  }

  /** An object is gone. */
  remove(uid: string): Suspects {
    const node = this.#nodes.get(uid);
    if (!node) return { check: [], orphan: [] };
    this.#nodes.delete(uid);
    const check = new Set<string>();
    for (const dependent of node.dependents) check.add(dependent.identity.uid);
    for (const { uid: ownerUid } of node.owners) {
      const owner = this.#nodes.get(ownerUid);
      if (!owner) continue;
      owner.dependents.delete(node);
      if (owner.deletingDependents) check.add(ownerUid);
      this.#dropUnused(owner);
    }
    return { check: [...check], orphan: [] };
  }

  /** Whether an owner of the node is not known to exist as the reference describes it. */
  isSuspect(node: GraphNode): boolean {
    return node.owners.some((reference) => {
      const owner = this.#nodes.get(reference.uid);
      return !owner || owner.type === undefined || !matches(reference, owner, node.identity.namespace);
    });
  }

  /** The owner that a reference means, if it was seen as described. */
  ownerOf(node: GraphNode, reference: OwnerReference): GraphNode | undefined {
    const owner = this.#nodes.get(reference.uid);
    return owner?.type !== undefined && matches(reference, owner, node.identity.namespace) ? owner : undefined;
  }

  #add(identity: Identity): MutableNode {
    const node: MutableNode = {
      identity,
      type: undefined,
      owners: noOwners,
      dependents: new Set(),
      beingDeleted: false,
      deletingDependents: false,
      orphaning: false,
    };
    this.#nodes.set(identity.uid, node);
    return node;
  }

  #reown(node: MutableNode, owners: readonly OwnerReference[], check: Set<string>): void {
    if (node.owners === owners && owners.every(({ uid }) => this.#nodes.has(uid))) return;
    const before = new Map(node.owners.map((reference) => [reference.uid, reference]));
    const after = new Map(owners.map((reference) => [reference.uid, reference]));
    node.owners = owners;
    for (const [uid, old] of before) {
      const owner = this.#nodes.get(uid);
      if (!owner) continue;
      const reference = after.get(uid);
      const unblocked = old.blockOwnerDeletion === true && reference?.blockOwnerDeletion !== true;
      if (owner.deletingDependents && unblocked) check.add(uid);
      if (reference) continue;
      owner.dependents.delete(node);
      this.#dropUnused(owner);
    }
    for (const [uid, { apiVersion, kind, name }] of after) {
      if (before.has(uid) && this.#nodes.has(uid)) continue;
      const { namespace } = node.identity;
      const owner = this.#nodes.get(uid) ?? this.#add({ apiVersion, kind, name, uid, namespace });
      owner.dependents.add(node);
      // An owner on its way out must know of dependents that come late.
      if (owner.deletingDependents) check.add(node.identity.uid);
    }
  }

  /** A virtual node lives only as long as somebody refers to it. */
  #dropUnused(node: MutableNode): void {
    if (node.type === undefined && node.dependents.size === 0) this.#nodes.delete(node.identity.uid);
  }
}

/** Namespaced owners count in the dependent's own namespace only. */
function matches(reference: OwnerReference, owner: GraphNode, dependentNamespace: string | undefined): boolean {
  const { identity } = owner;
  const sameGroup =
    reference.apiVersion === identity.apiVersion || groupOf(reference.apiVersion) === groupOf(identity.apiVersion);
  const sameKind = sameGroup && reference.kind === identity.kind;
  const sameScope = identity.namespace === undefined || identity.namespace === dependentNamespace;
  return sameKind && reference.name === identity.name && sameScope;
}

function refersTo(dependent: GraphNode, owner: GraphNode): boolean {
  const reference = dependent.owners.find(({ uid }) => uid === owner.identity.uid);
  return reference !== undefined && matches(reference, owner, dependent.identity.namespace);
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

/** As upstream prints an identity in Events: `[apps/v1/ReplicaSet, namespace: a, name: web-1, uid: 7d4b]`. */
export function identityText({ apiVersion, kind, namespace, name, uid }: Identity): string {
  return `[${apiVersion}/${kind}, namespace: ${namespace ?? ''}, name: ${name}, uid: ${uid}]`;
}
