/**
 * Makes sure that a container's image is on the node, as its pull policy says. Pulls run one at a time (or as many as configured),
 * a failed one is not tried again before its back-off is over, and every step is told as an Event in upstream's words.
 */
import type { Container, Pod, Secret } from '../../api/gen/core-v1.ts';
import { aggregate, quote } from '../../apimachinery/go-text.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { formatDuration } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import { KeyedBackoff } from '../keyed-backoff.ts';
import { imageSizeClass, type KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { ContainerRuntime, Image, SandboxConfig } from '../runtime/runtime.ts';
import type { CredentialProviders } from './credential-providers.ts';
import { keyringOf, type SourcedCredentials } from './credentials.ts';
import { withDefaultTag } from './image-names.ts';
import type { NodeCredentials } from './node-credentials.ts';
import type { PulledImages } from './pulled-images.ts';

/** Why there is no image: a waiting reason of the container. */
export class ImageError extends Error {
  readonly reason:
    | 'ErrImagePull'
    | 'ImagePullBackOff'
    | 'ErrImageNeverPull'
    | 'InvalidImageName'
    | 'ImageInspectError'
    | 'RegistryUnavailable'
    | 'SignatureValidationFailed';
  /** When trying again makes sense. */
  readonly retryAfterMs: number | undefined;

  constructor(reason: ImageError['reason'], message: string, retryAfterMs?: number) {
    super(message);
    this.name = 'ImageError';
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface ImagePullerOptions {
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  readonly maxParallelPulls: number;
  /** Absent: an image that is there is for every Pod. */
  readonly pulled?: PulledImages | undefined;
  /** Of the node itself. */
  readonly node?: NodeCredentials | undefined;
  readonly providers?: CredentialProviders | undefined;
  readonly metrics?: KubeletMetrics | undefined;
}

export interface ImageRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly sandbox: SandboxConfig;
  readonly secrets: readonly Secret[];
  readonly signal: AbortSignal;
  /** As `lookUp` has found it. */
  readonly found?: Image | undefined;
  event(type: 'Normal' | 'Warning', reason: string, message: string): void;
}

export interface PresentImage {
  /** By which containers are made from it. */
  readonly ref: string;
  readonly image: Image;
}

interface PullRequest extends ImageRequest {
  readonly credentials: readonly SourcedCredentials[];
}

/** What is known so far of a request's image; told in the end, whichever way that came. */
interface Outcome {
  present: boolean | 'unknown';
  pulls: boolean | 'unknown';
}

interface UsedCredentials {
  /** By which the registry gave the image; undefined: by none. */
  readonly used: SourcedCredentials | undefined;
}

const validReference = /^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$/;

export class ImagePuller {
  readonly #options: ImagePullerOptions;
  readonly #backoff = new KeyedBackoff(10_000, 300_000);
  readonly #lastError = new Map<string, string>();
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: ImagePullerOptions) {
    this.#options = options;
  }

  async ensure(request: ImageRequest): Promise<PresentImage> {
    const { container } = request;
    const image = container.image ?? '';
    const policy = policyOf(container, withDefaultTag(image));
    const outcome: Outcome = { present: 'unknown', pulls: 'unknown' };
    try {
      return await this.#ensure(request, image, { policy, outcome });
    } finally {
      this.#options.metrics?.count('image_manager_ensure_image_requests_total', {
        pull_policy: policy.toLowerCase(),
        present_locally: String(outcome.present),
        pull_required: String(outcome.pulls),
      });
    }
  }

  async #ensure(
    request: ImageRequest,
    requested: string,
    { policy, outcome }: { readonly policy: string; readonly outcome: Outcome },
  ): Promise<PresentImage> {
    const { event, found } = request;
    if (!validReference.test(requested) || /[A-Z]/.test(requested.replace(/[:@][^/]*$/, '').replace(/^[^/]*\//, ''))) {
      const message = `Failed to apply default image tag ${quote(requested)}: couldn't parse image name ${quote(requested)}: invalid reference format`;
      event('Warning', 'InspectFailed', message);
      throw new ImageError('InvalidImageName', message);
    }
    const image = withDefaultTag(requested);
    // Looked up once, and no earlier than they are needed.
    let looking: Promise<readonly SourcedCredentials[]> | undefined;
    const credentials = () => {
      looking ??= this.#credentials(image, request);
      return looking;
    };
    const present = policy === 'Always' ? undefined : (found ?? (await this.#inspect(image, request)));
    if (policy !== 'Always') outcome.present = present !== undefined;
    const { pulled } = this.#options;
    outcome.pulls = !present || ((await pulled?.mustPull(requested, present.id, credentials)) ?? false);
    if (present && !outcome.pulls) {
      const forWhom = pulled ? ' and can be accessed by the pod' : '';
      event('Normal', 'Pulled', `Container image ${quote(requested)} already present on machine${forWhom}`);
      return { ref: present.id, image: present };
    }
    // Whether it is there is nobody's business who may not have it.
    if (policy === 'Never') {
      const message = `Container image ${quote(requested)} is not present with pull policy of Never`;
      event('Warning', 'ErrImageNeverPull', message);
      throw new ImageError('ErrImageNeverPull', message);
    }
    return this.#recordedPull(image, requested, { ...request, credentials: await credentials() });
  }

  /** An image that `ensure` will look for, before its time; undefined where it will not, or where that tells nothing. */
  async lookUp(container: Container, signal: AbortSignal): Promise<Image | undefined> {
    const image = withDefaultTag(container.image ?? '');
    if (policyOf(container, image) === 'Always') return undefined;
    return this.#options.runtime.imageStatus({ image }, { signal }).catch(() => undefined);
  }

  forget(podUid: string): void {
    this.#backoff.forget(`${podUid}_`);
    for (const key of this.#lastError.keys()) if (key.startsWith(`${podUid}_`)) this.#lastError.delete(key);
  }

  async #inspect(image: string, { event, signal }: ImageRequest): Promise<Image | undefined> {
    try {
      return await this.#options.runtime.imageStatus({ image }, { signal });
    } catch (error) {
      signal.throwIfAborted();
      const message = `Failed to inspect image ${quote(image)}: ${messageOf(error)}`;
      event('Warning', 'InspectFailed', message);
      throw new ImageError('ImageInspectError', message);
    }
  }

  /** Those of the Pod's secrets first, then those of the node, then those of its programs. */
  async #credentials(image: string, { pod, secrets }: ImageRequest): Promise<readonly SourcedCredentials[]> {
    const { node, providers } = this.#options;
    const [ofNode = [], ofPrograms = []] = await Promise.all([node?.lookup(image), providers?.lookup(image, pod)]);
    return [...keyringOf(secrets).lookup(image), ...ofNode, ...ofPrograms];
  }

  async #recordedPull(image: string, requested: string, request: PullRequest): Promise<PresentImage> {
    const { pulled } = this.#options;
    try {
      await pulled?.begin(requested);
    } catch (error) {
      const problem = `failed to record image pull intent: ${messageOf(error)}`;
      throw new ImageError(
        'ErrImagePull',
        `Failed to record image pull intent for container image ${quote(requested)}: ${problem}`,
      );
    }
    try {
      const { used, ...present } = await this.#pull(image, requested, request);
      await pulled?.succeed(requested, present.image.id, used);
      return present;
    } catch (error) {
      await pulled?.end(requested);
      throw error;
    }
  }

  /** Messages name the image as the Pod does. */
  async #pull(image: string, requested: string, request: PullRequest): Promise<PresentImage & UsedCredentials> {
    const { clock } = this.#options;
    const { event, pod, signal } = request;
    const key = `${pod.metadata.uid}_${image}`;
    const remainingMs = this.#backoff.remainingSinceUpdate(key, clock.now());
    if (remainingMs > 0) {
      const message = `Back-off pulling image ${quote(requested)}`;
      event('Normal', 'BackOff', message);
      const before = this.#lastError.get(key);
      throw new ImageError('ImagePullBackOff', before ? `${message}: ${before}` : message, remainingMs);
    }
    event('Normal', 'Pulling', `Pulling image ${quote(requested)}`);
    const askedAtMs = clock.monotonic();
    await this.#turn();
    const startedAtMs = clock.monotonic();
    try {
      const { ref, used } = await this.#pullWithCredentials(image, request);
      const present = await this.#inspect(image, request);
      if (!present) throw new Error(`image ${quote(requested)} is not there after pulling it`);
      const now = clock.monotonic();
      this.#options.metrics?.time('image_pull_duration_seconds', now - startedAtMs, {
        image_size_in_bytes: imageSizeClass(present.sizeBytes),
      });
      const took = `${formatDuration(roundMs(now - startedAtMs))} (${formatDuration(roundMs(now - askedAtMs))} including waiting)`;
      event(
        'Normal',
        'Pulled',
        `Successfully pulled image ${quote(requested)} in ${took}. Image size: ${present.sizeBytes} bytes.`,
      );
      return { ref: ref || present.id, image: present, used };
    } catch (error) {
      signal.throwIfAborted();
      event('Warning', 'Failed', `Failed to pull image ${quote(requested)}: ${messageOf(error)}`);
      this.#backoff.next(key, clock.now());
      const { reason, message } = pullFailure(requested, messageOf(error));
      this.#lastError.set(key, `${reason}: ${message}`);
      throw new ImageError(reason, message, this.#backoff.remainingSinceUpdate(key, clock.now()));
    } finally {
      this.#done();
    }
  }

  /** With each matching set of credentials until one works; without any when none matches. */
  async #pullWithCredentials(
    image: string,
    { credentials, sandbox, signal }: PullRequest,
  ): Promise<UsedCredentials & { readonly ref: string }> {
    const all: readonly (SourcedCredentials | undefined)[] = credentials.length > 0 ? credentials : [undefined];
    const errors: unknown[] = [];
    for (const used of all) {
      try {
        const options = { credentials: used?.credentials, sandbox, signal };
        return { ref: await this.#options.runtime.pullImage({ image }, options), used };
      } catch (error) {
        signal.throwIfAborted();
        errors.push(error);
      }
    }
    throw errors.length === 1 ? errors[0] : new Error(aggregate(errors.map(messageOf)));
  }

  async #turn(): Promise<void> {
    if (this.#running >= this.#options.maxParallelPulls)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#running++;
  }

  #done(): void {
    this.#running--;
    this.#waiting.shift()?.();
  }
}

function policyOf({ imagePullPolicy }: Container, image: string): string {
  return imagePullPolicy ?? (image.endsWith(':latest') ? 'Always' : 'IfNotPresent');
}

/** Runtimes begin their message with the kind of failure, where there is a name for it. */
const failureKinds = [
  { reason: 'RegistryUnavailable', because: 'the registry is unavailable' },
  { reason: 'SignatureValidationFailed', because: 'the signature validation failed' },
] as const;

function pullFailure(
  image: string,
  message: string,
): { readonly reason: ImageError['reason']; readonly message: string } {
  const kind = failureKinds.find(({ reason }) => message.startsWith(reason));
  if (!kind) return { reason: 'ErrImagePull', message };
  const { reason, because } = kind;
  return { reason, message: `image pull failed for ${image} because ${because}${message.slice(reason.length)}` };
}

const roundMs = (ms: number) => Math.round(ms);
