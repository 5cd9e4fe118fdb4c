/**
 * ResourceClaims of Pods: makes those that a Pod describes by a template and tells it their names, lets claims go that Pods which ended had
 * reserved, and deletes those that were made for them. Who gets which device is decided elsewhere.
 */
import { isPodTerminal } from '../../api/core/v1/pod-status.ts';
import { type Pod, type PodResourceClaim, pods as podType } from '../../api/gen/core-v1.ts';
import {
  type ResourceClaim,
  type ResourceClaimTemplate,
  resourceClaims,
  resourceClaimTemplates,
} from '../../api/gen/resource-v1.ts';
import { checkOwner, claimNameOf, isReservedFor, protectionFinalizer } from '../../api/resource/pod-claims.ts';
import { controllerOf, controllerReference, isControlledBy, keyOf } from '../../apimachinery/meta.ts';
import { isNotFound, messageOf, notFound } from '../../apimachinery/status.ts';
import { type CauseNote, type CauseSubject, subjectOf, subjectOfKey } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { withKind } from '../common/events.ts';
import { setFinalizer } from '../common/finalizers.ts';

export interface ResourceClaimOptions {
  readonly workers?: number | undefined;
}

/** Names the entry of the Pod that a claim was made for. */
const podClaimAnnotation = 'resource.kubernetes.io/pod-claim-name';
const byPod = 'pod/';
const byClaim = 'claim/';

/** It has ended, or is going without ever having been on a node. */
const isOver = (pod: Pod) => isPodTerminal(pod) || Boolean(pod.metadata.deletionTimestamp && !pod.spec.nodeName);
const usesClaims = ({ spec }: Pod) => (spec.resourceClaims?.length ?? 0) > 0;

export async function runResourceClaimController(
  context: ComponentContext,
  options: ResourceClaimOptions = {},
): Promise<void> {
  const { informers } = context;
  const pods = informers.of(podType);
  const claims = informers.of(resourceClaims);
  const templates = informers.of(resourceClaimTemplates);
  const loop = new ClaimLoop(context, { pods, claims, templates });
  const controller = createController(context, {
    name: 'resourceclaim-controller',
    queue: 'resource_claim',
    workers: options.workers ?? 50,
    reconcile: (key) =>
      key.startsWith(byPod) ? loop.pod(key.slice(byPod.length)) : loop.claim(key.slice(byClaim.length)),
    about: (key) =>
      key.startsWith(byPod)
        ? subjectOfKey(podType, key.slice(byPod.length))
        : subjectOfKey(resourceClaims, key.slice(byClaim.length)),
  });
  controller.watchMapped(pods, (pod) =>
    usesClaims(pod) ? [`${byPod}${keyOf(pod)}`, ...claimsOf(pod).map((key) => byClaim + key)] : [],
  );
  controller.watchMapped(claims, (claim) => {
    const owner = controllerOf(claim);
    const pod = owner?.kind === 'Pod' ? [`${byPod}${claim.metadata.namespace}/${owner.name}`] : [];
    return [byClaim + keyOf(claim), ...pod];
  });
  controller.watchMapped(templates, ({ metadata }) =>
    pods
      .list(metadata.namespace)
      .filter(usesClaims)
      .map((pod) => byPod + keyOf(pod)),
  );
  await controller.run();
}

/** By key, as far as they are known. */
function claimsOf({ metadata, spec, status }: Pod): string[] {
  const named = (spec.resourceClaims ?? []).map(({ resourceClaimName }) => resourceClaimName);
  const made = (status?.resourceClaimStatuses ?? []).map(({ resourceClaimName }) => resourceClaimName);
  return [...named, ...made].flatMap((name) => (name ? [`${metadata.namespace}/${name}`] : []));
}

interface Informers {
  readonly pods: Informer<Pod>;
  readonly claims: Informer<ResourceClaim>;
  readonly templates: Informer<ResourceClaimTemplate>;
}

class ClaimLoop {
  readonly #context: ComponentContext;
  readonly #pods: Informer<Pod>;
  readonly #claims: Informer<ResourceClaim>;
  readonly #templates: Informer<ResourceClaimTemplate>;
  readonly #events: EventRecorder;
  /** Made, and perhaps not yet shown by the informer: by uid of the Pod and name of the entry. */
  readonly #made = new Map<string, ResourceClaim>();

  constructor(context: ComponentContext, { pods, claims, templates }: Informers) {
    this.#context = context;
    this.#pods = pods;
    this.#claims = claims;
    this.#templates = templates;
    this.#events = context.eventRecorder('resource_claim');
  }

  /** Every entry with a template gets a claim, and the Pod's status says which. */
  async pod(key: string): Promise<undefined> {
    const pod = this.#pods.get(key);
    if (!pod || pod.metadata.deletionTimestamp || isPodTerminal(pod)) return;
    const known = pod.status?.resourceClaimStatuses ?? [];
    const added: { name: string; resourceClaimName: string }[] = [];
    for (const entry of pod.spec.resourceClaims ?? []) {
      if (!entry.resourceClaimTemplateName || known.some(({ name }) => name === entry.name)) continue;
      try {
        const claim = this.#madeFor(pod, entry.name) ?? (await this.#make(pod, entry));
        added.push({ name: entry.name, resourceClaimName: claim.metadata.name ?? '' });
      } catch (error) {
        const message = `PodResourceClaim ${entry.name}: ${messageOf(error)}`;
        this.#events.record(withKind(podType, pod), 'Warning', 'FailedResourceClaimCreation', message);
        throw error;
      }
    }
    const { namespace, name = '', uid } = pod.metadata;
    if (added.length === 0) {
      // The Pod's status tells of them: they need not be remembered.
      for (const entry of known) this.#made.delete(`${uid}/${entry.name}`);
      if (pod.spec.nodeName) await this.#reserve(pod);
      return;
    }
    const body = { metadata: { uid }, status: { resourceClaimStatuses: added } };
    await this.#context.client.patch(
      podType,
      { namespace, name },
      { type: 'strategic', body },
      { subresource: 'status' },
    );
  }

  /** Whoever bound the Pod without asking the scheduler has not told that it uses devices, which others have got. */
  async #reserve(pod: Pod): Promise<void> {
    const { namespace, name = '', uid = '' } = pod.metadata;
    for (const entry of pod.spec.resourceClaims ?? []) {
      const { isOwn, name: claimed } = claimNameOf(pod, entry);
      if (claimed === undefined) continue;
      const claim = this.#claims.get(`${namespace}/${claimed}`);
      if (!claim) return;
      if (isOwn) checkOwner(pod, claim);
      if (!claim.status?.allocation || isReservedFor(claim, pod)) continue;
      const reservedFor = [...(claim.status.reservedFor ?? []), { resource: 'pods', name, uid }];
      await this.#context.client.updateStatus(resourceClaims, { ...claim, status: { ...claim.status, reservedFor } });
    }
  }

  #madeFor(pod: Pod, entry: string): ResourceClaim | undefined {
    const remembered = this.#made.get(`${pod.metadata.uid}/${entry}`);
    if (remembered) return remembered;
    return this.#claims
      .list(pod.metadata.namespace)
      .find((claim) => claim.metadata.annotations?.[podClaimAnnotation] === entry && isControlledBy(claim, pod));
  }

  async #make(pod: Pod, { name, resourceClaimTemplateName = '' }: PodResourceClaim): Promise<ResourceClaim> {
    const { client } = this.#context;
    const { namespace, name: podName } = pod.metadata;
    const template = this.#templates.get(`${namespace}/${resourceClaimTemplateName}`);
    if (!template)
      throw new Error(
        `resource claim template ${JSON.stringify(resourceClaimTemplateName)}: ${messageOf(notFound(resourceClaimTemplates, resourceClaimTemplateName))}`,
      );
    const { labels, annotations } = template.spec.metadata ?? {};
    const made = await client.create(resourceClaims, {
      metadata: {
        namespace,
        generateName: `${podName}-${name}-`,
        labels,
        annotations: { ...annotations, [podClaimAnnotation]: name },
        ownerReferences: [controllerReference(pod, podType)],
      },
      spec: template.spec.spec,
    });
    this.#made.set(`${pod.metadata.uid}/${name}`, made);
    return made;
  }

  /** Reservations of Pods that ended are dropped; with the last the devices are free, and what was made for a Pod goes. */
  async claim(key: string): Promise<ReconcileResult | undefined> {
    let claim = this.#claims.get(key);
    if (!claim) return undefined;
    const { client } = this.#context;
    const reserved = claim.status?.reservedFor ?? [];
    const valid: (typeof reserved)[number][] = [];
    for (const reference of reserved) {
      const isPod = (reference.apiGroup ?? '') === '' && reference.resource === 'pods';
      if (!isPod || (await this.#stillUses(claim, reference))) valid.push(reference);
    }
    const isFree = valid.length === 0;
    const { deletionTimestamp, finalizers = [] } = claim.metadata;
    const hasDevices = claim.status?.allocation !== undefined;
    const isOurs = finalizers.includes(protectionFinalizer);
    const isLetGo = valid.length < reserved.length;
    // Of a claim that nobody uses any more only the last user's going, or its own, frees the devices: who gave it some is about to use it.
    const isFreed = isFree && isOurs && (isLetGo || deletionTimestamp !== undefined);
    if (isLetGo || (isFreed && hasDevices)) {
      const status = { ...claim.status, reservedFor: valid, ...(isFreed ? { allocation: undefined } : {}) };
      claim = await client.updateStatus(resourceClaims, { ...claim, status });
    }
    if (!isFree) return deletionTimestamp ? { causes: [inUse(claim, valid)] } : undefined;
    if (isFreed)
      await setFinalizer(client, {
        type: resourceClaims,
        object: claim,
        finalizer: protectionFinalizer,
        present: false,
      });
    await this.#deleteWithPod(claim);
    return undefined;
  }

  async #stillUses(
    claim: ResourceClaim,
    { name, uid }: { readonly name: string; readonly uid: string },
  ): Promise<boolean> {
    const { namespace } = claim.metadata;
    let pod = this.#pods.get(`${namespace}/${name}`);
    // A Pod that the informer has not shown yet would lose its devices.
    pod ??= await this.#context.client.get(podType, { namespace, name }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    return pod?.metadata.uid === uid && !isOver(pod);
  }

  async #deleteWithPod(claim: ResourceClaim): Promise<void> {
    const { namespace, name = '', uid, annotations, deletionTimestamp } = claim.metadata;
    const owner = controllerOf(claim);
    if (deletionTimestamp || owner?.kind !== 'Pod' || !annotations?.[podClaimAnnotation]) return;
    const pod = this.#pods.get(`${namespace}/${owner.name}`);
    // A Pod that is gone is the garbage collector's matter, unless another has come in its place.
    if (!pod || (pod.metadata.uid === owner.uid && !isOver(pod))) return;
    await this.#context.client.delete(resourceClaims, { namespace, name }, { preconditions: { uid } });
  }
}

function inUse(
  { metadata }: ResourceClaim,
  users: NonNullable<NonNullable<ResourceClaim['status']>['reservedFor']>,
): CauseNote {
  const waitsFor = users
    .filter(({ apiGroup, resource }) => !apiGroup && resource === 'pods')
    .map(({ name }): CauseSubject => subjectOf(podType, { metadata: { namespace: metadata.namespace, name } }));
  const count = users.length === 1 ? 'a Pod' : `${users.length} Pods`;
  return { reason: 'InUse', message: `its devices are in use by ${count}`, waitsFor };
}
