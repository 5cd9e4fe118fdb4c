/**
 * Makes sure that a container's image is on the node, as its pull policy says. Pulls run one at a time (or as many as configured),
 * a failed one is not tried again before its back-off is over, and every step is told as an Event in upstream's words.
 */
import type { Container, Pod, Secret } from '../../api/gen/core-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { formatDuration } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import { KeyedBackoff } from '../keyed-backoff.ts';
import type { ContainerRuntime, Image, RegistryCredentials, SandboxConfig } from '../runtime/runtime.ts';
import { credentialsFor, withDefaultTag } from './credentials.ts';

/** Why there is no image: a waiting reason of the container. */
export class ImageError extends Error {
  readonly reason: 'ErrImagePull' | 'ImagePullBackOff' | 'ErrImageNeverPull' | 'InvalidImageName' | 'ImageInspectError';
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
}

export interface ImageRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly sandbox: SandboxConfig;
  readonly secrets: readonly Secret[];
  readonly signal: AbortSignal;
  event(type: 'Normal' | 'Warning', reason: string, message: string): void;
}

export interface PresentImage {
  /** By which containers are made from it. */
  readonly ref: string;
  readonly image: Image;
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
    const { container, event } = request;
    const requested = container.image ?? '';
    if (!validReference.test(requested) || /[A-Z]/.test(requested.replace(/[:@][^/]*$/, '').replace(/^[^/]*\//, ''))) {
      const message = `Failed to apply default image tag ${quote(requested)}: couldn't parse image name ${quote(requested)}: invalid reference format`;
      event('Warning', 'InspectFailed', message);
      throw new ImageError('InvalidImageName', message);
    }
    const image = withDefaultTag(requested);
    const policy = container.imagePullPolicy ?? (image.endsWith(':latest') ? 'Always' : 'IfNotPresent');
    const present = await this.#inspect(image, request);
    if (present && policy !== 'Always') {
      event(
        'Normal',
        'Pulled',
        `Container image ${quote(requested)} already present on machine and can be accessed by the pod`,
      );
      return { ref: present.id, image: present };
    }
    if (policy === 'Never') {
      const message = `Container image ${quote(requested)} is not present with pull policy of Never`;
      event('Warning', 'ErrImageNeverPull', message);
      throw new ImageError('ErrImageNeverPull', message);
    }
    return this.#pull(image, requested, request);
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

  /** Messages name the image as the Pod does. */
  async #pull(image: string, requested: string, request: ImageRequest): Promise<PresentImage> {
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
      const ref = await this.#pullWithCredentials(image, request);
      const present = await this.#inspect(image, request);
      if (!present) throw new Error(`image ${quote(requested)} is not there after pulling it`);
      const now = clock.monotonic();
      const took = `${formatDuration(roundMs(now - startedAtMs))} (${formatDuration(roundMs(now - askedAtMs))} including waiting)`;
      event(
        'Normal',
        'Pulled',
        `Successfully pulled image ${quote(requested)} in ${took}. Image size: ${present.sizeBytes} bytes.`,
      );
      return { ref: ref || present.id, image: present };
    } catch (error) {
      signal.throwIfAborted();
      event('Warning', 'Failed', `Failed to pull image ${quote(requested)}: ${messageOf(error)}`);
      this.#backoff.next(key, clock.now());
      this.#lastError.set(key, `ErrImagePull: ${messageOf(error)}`);
      throw new ImageError('ErrImagePull', messageOf(error), this.#backoff.remainingSinceUpdate(key, clock.now()));
    } finally {
      this.#done();
    }
  }

  /** With each matching set of credentials until one works; without any when none matches. */
  async #pullWithCredentials(image: string, { secrets, sandbox, signal }: ImageRequest): Promise<string> {
    const all: (RegistryCredentials | undefined)[] = credentialsFor(image, secrets);
    if (all.length === 0) all.push(undefined);
    const errors: unknown[] = [];
    for (const credentials of all) {
      try {
        return await this.#options.runtime.pullImage({ image }, { credentials, sandbox, signal });
      } catch (error) {
        signal.throwIfAborted();
        errors.push(error);
      }
    }
    throw errors.at(-1);
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

const roundMs = (ms: number) => Math.round(ms);
