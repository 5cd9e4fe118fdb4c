/**
 * Trust anchors of ClusterTrustBundles for volumes of Pods: of one bundle by its name, or of all bundles of a signer that a selector takes
 * in, each anchor once. The bundles are followed from the first Pod on that wants any; a change wakes the Pods that hold them.
 *
 * The order of anchors is the same as long as the kubelet runs and another one after its restart, so that nobody comes to rely on it.
 */
import { createHash } from 'node:crypto';
import { clusterTrustBundles as olderClusterTrustBundles } from '../../api/gen/certificates-v1alpha1.ts';
import { type ClusterTrustBundle, clusterTrustBundles } from '../../api/gen/certificates-v1beta1.ts';
import type { ClusterTrustBundleProjection } from '../../api/gen/core-v1.ts';
import { type LabelMatcher, labelMatcherOf } from '../../apimachinery/labels.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isNotFound, messageOf, notFound } from '../../apimachinery/status.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { decodePem, encodePem } from '../../pki/pem.ts';
import type { Informer, InformerSet } from '../../reconcile/informer.ts';

export interface TrustBundlesOptions {
  readonly client: Client;
  readonly informers: InformerSet;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Gate ClusterTrustBundleProjection. */
  readonly enabled: boolean;
  /** Bundles have changed; these Pods hold some. */
  onChange(podUids: readonly string[]): void;
}

const longestSelector = 100 * 1024;
const unsupported = 'ClusterTrustBundle projection is not supported in static kubelet mode';

export class TrustBundles {
  readonly #options: TrustBundlesOptions;
  readonly #holders = new Set<string>();
  #salt: Uint8Array | undefined;
  #bundles: Promise<Informer<ClusterTrustBundle> | undefined> | undefined;

  constructor(options: TrustBundlesOptions) {
    this.#options = options;
  }

  /** As PEM; empty where there are none and none need be there. Throws in upstream's words. */
  async anchors(wish: ClusterTrustBundleProjection, podUid: string): Promise<string> {
    // Noted before anything is waited for: the Pod may be released meanwhile.
    this.#holders.add(podUid);
    const bundles = this.#options.enabled ? await this.#follow() : undefined;
    if (!bundles) throw new Error(unsupported);
    if (wish.name !== undefined) return this.#normalized(byName(bundles, wish.name, wish.optional ?? false));
    if (wish.signerName !== undefined) return this.#normalized(bySigner(bundles, wish, wish.optional ?? false));
    throw new Error('ClusterTrustBundle projection requires either name or signerName to be set');
  }

  release(podUid: string): void {
    this.#holders.delete(podUid);
  }

  /** Undefined where the API has no such objects: it is asked again the next time. */
  async #follow(): Promise<Informer<ClusterTrustBundle> | undefined> {
    this.#bundles ??= this.#start();
    const starting = this.#bundles;
    const started = await starting.catch((error) => {
      this.#bundles = undefined;
      throw error;
    });
    if (!started && this.#bundles === starting) this.#bundles = undefined;
    return started;
  }

  async #start(): Promise<Informer<ClusterTrustBundle> | undefined> {
    const { client, informers, signal } = this.#options;
    // What the older version has is the same, but for its name.
    for (const type of [clusterTrustBundles, olderClusterTrustBundles as ResourceType<ClusterTrustBundle>]) {
      try {
        await client.list(type, { limit: 1, signal });
      } catch (error) {
        if (isNotFound(error)) continue;
        throw error;
      }
      const informer = informers.of(type);
      await informer.whenSynced(signal);
      const changed = () => this.#options.onChange([...this.#holders]);
      informer.onChange({ added: changed, updated: changed, deleted: changed });
      return informer;
    }
    return undefined;
  }

  #normalized(bundles: readonly ClusterTrustBundle[]): string {
    this.#salt ??= this.#options.random.bytes(16);
    const salt = this.#salt;
    const anchors = new Map<string, Uint8Array>();
    for (const { spec } of bundles)
      for (const { bytes } of decodePem(spec.trustBundle))
        anchors.set(createHash('sha256').update(salt).update(bytes).digest('hex'), bytes);
    return [...anchors]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, bytes]) => encodePem('CERTIFICATE', bytes))
      .join('');
  }
}

function byName(bundles: Informer<ClusterTrustBundle>, name: string, optional: boolean): ClusterTrustBundle[] {
  const found = bundles.get(name);
  if (found) return [found];
  if (optional) return [];
  throw new Error(`while getting ClusterTrustBundle: ${notFound(clusterTrustBundles, name).message}`);
}

/** Without a selector none is taken in, with an empty one all are. */
function bySigner(
  bundles: Informer<ClusterTrustBundle>,
  { labelSelector, signerName }: ClusterTrustBundleProjection,
  optional: boolean,
): ClusterTrustBundle[] {
  const matcher = matcherOf(labelSelector);
  const found = bundles
    .list()
    .filter(({ metadata, spec }) => spec.signerName === signerName && matcher.matches(metadata.labels));
  if (found.length === 0 && !optional)
    throw new Error('combination of signerName and labelSelector matched zero ClusterTrustBundles');
  return found;
}

function matcherOf(selector: ClusterTrustBundleProjection['labelSelector']): LabelMatcher {
  let matcher: LabelMatcher;
  try {
    matcher = labelMatcherOf(selector);
  } catch (error) {
    throw new Error(`while parsing label selector: ${messageOf(error)}`, { cause: error });
  }
  const { length } = matcher.toString();
  if (length > longestSelector) throw new Error(`label selector length (${length}) is larger than ${longestSelector}`);
  return matcher;
}
