/**
 * How many Pods the controllers of some Pods want in all. A ReplicaSet's size is its Deployment's where it has one; kinds unknown
 * here are asked for their `scale` subresource.
 */
import { deployments, replicaSets, statefulSets } from '../../api/gen/apps-v1.ts';
import { type Pod, replicationControllers } from '../../api/gen/core-v1.ts';
import { controllerOf, type KubeObject, type OwnerReference } from '../../apimachinery/meta.ts';
import { customResource, parseApiVersion } from '../../apimachinery/resource.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import { discover } from '../../client/discovery.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { resolveController } from '../common/ownership.ts';

type Scalable = KubeObject & { readonly spec?: { readonly replicas?: number | undefined } | undefined };

export interface Scale {
  readonly expected: number;
  /** Pods that nobody controls: a budget cannot tell how many there should be. */
  readonly unmanaged: readonly string[];
}

export class ControllerScales {
  readonly #context: ComponentContext;
  readonly #replicaSets;
  readonly #deployments;
  readonly #others: readonly Informer<Scalable>[];

  constructor(context: ComponentContext) {
    const { informers } = context;
    this.#context = context;
    this.#replicaSets = informers.of(replicaSets);
    this.#deployments = informers.of(deployments);
    this.#others = [
      informers.of(statefulSets),
      informers.of(replicationControllers),
    ] as unknown as readonly Informer<Scalable>[];
  }

  get informers(): readonly Pick<Informer<never>, 'whenSynced'>[] {
    return [this.#replicaSets, this.#deployments, ...this.#others];
  }

  async of(pods: readonly Pod[]): Promise<Scale> {
    const sizes = new Map<string, number>();
    const unmanaged: string[] = [];
    for (const pod of pods) {
      const reference = controllerOf(pod);
      if (!reference) unmanaged.push(pod.metadata.name ?? '');
      else if (!sizes.has(reference.uid)) {
        const found = this.#known(pod) ?? (await this.#asked(pod, reference));
        sizes.set(reference.uid, 0);
        if (found) sizes.set(found.uid, found.size);
      }
    }
    return { expected: [...sizes.values()].reduce((sum, size) => sum + size, 0), unmanaged };
  }

  #known(pod: Pod): { readonly uid: string; readonly size: number } | undefined {
    const replicaSet = resolveController(this.#replicaSets, pod);
    const deployment = replicaSet && resolveController(this.#deployments, replicaSet);
    const owner =
      deployment ?? replicaSet ?? this.#others.map((informer) => resolveController(informer, pod)).find(Boolean);
    return owner && { uid: owner.metadata.uid ?? '', size: owner.spec?.replicas ?? 1 };
  }

  async #asked(
    pod: Pod,
    { apiVersion, kind, name, uid }: OwnerReference,
  ): Promise<{ readonly uid: string; readonly size: number } | undefined> {
    const { client } = this.#context;
    const { all } = await discover(client);
    const { group, version } = parseApiVersion(apiVersion);
    const type = all.find((one) => one.group === group && one.version === version && one.kind === kind);
    if (!type)
      throw new Error(`no resource is known for the controller ${apiVersion}/${kind} of pod ${pod.metadata.name}`);
    const scaled = customResource<Scalable>(type, { resource: type.resource, namespaced: type.namespaced });
    try {
      const scale = await client.get(scaled, { namespace: pod.metadata.namespace, name }, { subresource: 'scale' });
      return scale.metadata.uid === uid ? { uid, size: scale.spec?.replicas ?? 0 } : undefined;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      throw new Error(`found no controllers for pod ${JSON.stringify(pod.metadata.name)}`);
    }
  }
}
