/**
 * ImagePolicyWebhook: somebody else says whether a Pod may run its images, by answering an ImageReview; the answers are remembered for a
 * while. Off by default, and it does not start without a configuration. What `kubeConfigFile` names is read by whoever gives it.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { ImageReviewSpec } from '../../../api/gen/imagepolicy-v1alpha1.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { messageOf } from '../../../apimachinery/status.ts';
import { formatDuration } from '../../../apimachinery/time.ts';
import type { Clock } from '../../../base/clock.ts';
import { withBackoff } from '../../webhook-client/backoff.ts';
import type { WebhookServer } from '../../webhook-client/endpoint.ts';
import { reviewStatus } from '../../webhook-client/review-reply.ts';
import { serverWebhook } from '../../webhook-client/webhook-clients.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { handling, type PluginContext } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

export interface ImagePolicyConfiguration {
  readonly imagePolicy?: null | {
    readonly kubeConfigFile?: string;
    /** Seconds; 0 is the default of five minutes, -1 none at all. */
    readonly allowTTL?: number;
    /** Seconds; 0 is the default of half a minute, -1 none at all. */
    readonly denyTTL?: number;
    /** Milliseconds before the second try; 0 is the default of 500, -1 none at all. */
    readonly retryBackoff?: number;
    /** Whether Pods are admitted that nobody could be asked about. */
    readonly defaultAllow?: boolean;
  };
  /** What the kubeconfig says. */
  readonly server?: WebhookServer;
}

interface Answer {
  readonly allowed: boolean;
  readonly reason: string;
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

const group = 'imagepolicy.k8s.io';
const kind = 'ImageReview';
const auditPrefix = 'imagepolicywebhook.image-policy.k8s.io/';
const failedOpenAnnotation = 'alpha.image-policy.k8s.io/failed-open';
const rememberedAnswers = 1024;
const minuteMs = 60_000;

/** Throws when the configuration is none. */
export function imagePolicyWebhook(context: PluginContext, configuration?: unknown): AdmissionPlugin {
  const { server, firstPauseMs, allowMs, denyMs, defaultAllow } = settingsOf(configuration);
  const { webhook, close } = serverWebhook(server, context);
  context.signal?.addEventListener('abort', close, { once: true });
  const answers = new Answers(context.clock);

  async function ask(spec: ImageReviewSpec, signal: AbortSignal | undefined): Promise<Answer> {
    const review = { kind, apiVersion: `${group}/v1alpha1`, metadata: {}, spec, status: { allowed: false } };
    const { clock, random } = context;
    return withBackoff(
      async () => {
        const status = reviewStatus(await webhook.post(review, { signal }), { group, kind });
        return {
          allowed: status.flag('allowed'),
          reason: status.text('reason'),
          auditAnnotations: status.textMap('auditAnnotations'),
        };
      },
      { clock, random, signal, firstPauseMs },
    );
  }

  /** Undefined when there is no answer, and none is needed. */
  async function answerTo(attributes: AdmissionAttributes): Promise<Answer | undefined> {
    const spec = specOf(attributes);
    const key = JSON.stringify(spec);
    const known = answers.get(key);
    if (known) return known;
    try {
      const answer = await ask(spec, attributes.signal);
      answers.keep(key, answer, answer.allowed ? allowMs : denyMs);
      return answer;
    } catch (error) {
      context.log.info('error contacting webhook backend', { error: messageOf(error), allowed: defaultAllow });
      if (!defaultAllow) throw refusal(attributes, error);
      tellFailedOpen(attributes);
      return undefined;
    }
  }

  return {
    name: 'ImagePolicyWebhook',
    handles: handling(['CREATE', 'UPDATE'], '', 'pods', ['', 'ephemeralcontainers']),
    async validate(attributes) {
      const answer = await answerTo(attributes);
      if (!answer) return;
      const { allowed, reason, auditAnnotations } = answer;
      for (const [key, value] of Object.entries(auditAnnotations)) attributes.annotate?.(`${auditPrefix}${key}`, value);
      if (allowed) return;
      throw refusal(
        attributes,
        reason === ''
          ? 'one or more images rejected by webhook backend'
          : `image policy webhook backend denied one or more images: ${reason}`,
      );
    },
  };
}

function specOf({ object, subresource, namespace }: AdmissionAttributes): ImageReviewSpec {
  const { metadata, spec } = object as Pod;
  const containers =
    subresource === '' ? [...spec.containers, ...(spec.initContainers ?? [])] : (spec.ephemeralContainers ?? []);
  const annotations = Object.entries(metadata.annotations ?? {})
    .filter(([key]) => key.includes('.image-policy.k8s.io/'))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    containers: containers.map(({ image }) => (image ? { image } : {})),
    ...(annotations.length > 0 ? { annotations: Object.fromEntries(annotations) } : {}),
    namespace,
  };
}

/** Upstream too writes it on the Pod although it only validates: who reviews Pods later finds those that slipped through. */
function tellFailedOpen(attributes: AdmissionAttributes): void {
  attributes.annotate?.(`${auditPrefix}failed-open`, 'true');
  const { metadata } = attributes.object as Draft<Pod>;
  metadata.annotations = { ...metadata.annotations, [failedOpenAnnotation]: 'true' };
}

/** The newest answers, each for as long as it holds. */
class Answers {
  readonly #clock: Clock;
  /** Those used last are last. */
  readonly #known = new Map<string, { readonly untilMs: number; readonly answer: Answer }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(key: string): Answer | undefined {
    const known = this.#known.get(key);
    this.#known.delete(key);
    if (!known || known.untilMs <= this.#clock.monotonic()) return undefined;
    this.#known.set(key, known);
    return known.answer;
  }

  keep(key: string, answer: Answer, forMs: number): void {
    if (forMs <= 0) return;
    const oldest = this.#known.keys().next();
    if (this.#known.size >= rememberedAnswers && !oldest.done) this.#known.delete(oldest.value);
    this.#known.set(key, { untilMs: this.#clock.monotonic() + forMs, answer });
  }
}

function settingsOf(configuration: unknown) {
  if (configuration === undefined) throw new Error('no config specified');
  const { imagePolicy, server } = (configuration ?? {}) as ImagePolicyConfiguration;
  const { retryBackoff, allowTTL, denyTTL, defaultAllow = false } = imagePolicy ?? {};
  if (typeof defaultAllow !== 'boolean') throw new Error('imagePolicy.defaultAllow is not true or false');
  const settings = {
    firstPauseMs: durationOf('retryBackoff', retryBackoff, { unitMs: 1, mostMs: 5 * minuteMs, otherwiseMs: 500 }),
    allowMs: durationOf('allowTTL', allowTTL, { unitMs: 1000, mostMs: 30 * minuteMs, otherwiseMs: 5 * minuteMs }),
    denyMs: durationOf('denyTTL', denyTTL, { unitMs: 1000, mostMs: 30 * minuteMs, otherwiseMs: minuteMs / 2 }),
    defaultAllow,
  };
  if (!server) throw new Error('invalid configuration: no configuration has been provided');
  return { ...settings, server };
}

interface Bounds {
  readonly unitMs: number;
  readonly mostMs: number;
  readonly otherwiseMs: number;
}

function durationOf(name: string, value: unknown = 0, { unitMs, mostMs, otherwiseMs }: Bounds): number {
  if (!Number.isInteger(value)) throw new Error(`imagePolicy.${name} is not a whole number`);
  if (value === -1) return 0;
  if (value === 0) return otherwiseMs;
  const durationMs = Number(value) * unitMs;
  if (durationMs > 0 && durationMs <= mostMs) return durationMs;
  const least = unitMs === 1 ? '1ns' : formatDuration(unitMs);
  throw new Error(`valid value is between ${least} and ${formatDuration(mostMs)}, got ${formatDuration(durationMs)}`);
}
