/**
 * EventRateLimit: so many Events a second from all, from a namespace, from a user, or about one object, and no more. Off by default; it
 * does nothing without a configuration, and does not start without one.
 */
import type { Event } from '../../../api/gen/core-v1.ts';
import { errorsText, type FieldError, invalid, notSupported, path } from '../../../apimachinery/field-error.ts';
import { aggregate } from '../../../apimachinery/go-text.ts';
import { tooManyRequests } from '../../../apimachinery/status.ts';
import type { Clock } from '../../../base/clock.ts';
import { TokenBucket } from '../../../reconcile/token-bucket.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import type { PluginContext } from '../plugin-context.ts';

/** Of a `Configuration` of eventratelimit.admission.k8s.io/v1alpha1. */
export interface EventLimit {
  readonly type: string;
  readonly qps: number;
  readonly burst: number;
  /** Buckets that are remembered; the one that was longest not asked is forgotten. Default 4096. */
  readonly cacheSize?: number;
}

const keys: Readonly<Record<string, (attributes: AdmissionAttributes) => string>> = {
  Server: () => '',
  Namespace: ({ namespace }) => namespace,
  User: ({ user }) => user.name,
  SourceAndObject({ object }) {
    const { source, involvedObject: about } = object as unknown as Partial<Event>;
    const parts = [source?.component, source?.host, about?.kind, about?.namespace, about?.name, about?.uid];
    return [...parts, about?.apiVersion].map((part) => part ?? '').join('');
  },
};

/** Throws when the configuration is none. */
export function eventRateLimit({ clock }: PluginContext, configuration?: unknown): AdmissionPlugin {
  const { limits = [] } = (configuration ?? {}) as { readonly limits?: readonly EventLimit[] };
  const errors = validate(limits);
  if (errors.length > 0) throw new Error(errorsText(errors));
  const enforced = limits.map((limit) => ({ limit, buckets: new Buckets(clock, limit) }));
  return {
    name: 'EventRateLimit',
    handles: (operation, { group, resource }, subresource) =>
      (operation === 'CREATE' || operation === 'UPDATE') &&
      resource === 'events' &&
      (group === '' || group === 'events.k8s.io') &&
      subresource === '',
    validate(attributes) {
      if (attributes.dryRun) return;
      // Each is asked, so that each counts what was tried.
      const reached = enforced.flatMap(({ limit, buckets }) => {
        const key = keys[limit.type]!(attributes);
        return buckets.at(key).tryTake() ? [] : [`limit reached on type ${limit.type} for key ${key}`];
      });
      if (reached.length > 0) throw tooManyRequests(aggregate(reached));
    },
  };
}

function validate(limits: readonly EventLimit[]): FieldError[] {
  const at = path('limits');
  if (limits.length === 0) return [invalid(at, null, 'must not be empty')];
  return limits.flatMap(({ type, qps, burst, cacheSize = 0 }, index) => {
    const here = at.index(index);
    return [
      ...(Object.hasOwn(keys, type) ? [] : [notSupported(here.child('type'), type, Object.keys(keys))]),
      ...(burst > 0 ? [] : [invalid(here.child('burst'), burst, 'must be positive')]),
      ...(qps > 0 ? [] : [invalid(here.child('qps'), qps, 'must be positive')]),
      ...(type === 'Server' || cacheSize >= 0
        ? []
        : [invalid(here.child('cacheSize'), cacheSize, 'must not be negative')]),
    ];
  });
}

class Buckets {
  readonly #clock: Clock;
  readonly #limit: EventLimit;
  /** Those asked last come last. */
  readonly #byKey = new Map<string, TokenBucket>();

  constructor(clock: Clock, limit: EventLimit) {
    this.#clock = clock;
    this.#limit = limit;
  }

  at(key: string): TokenBucket {
    const { qps: perSecond, burst, cacheSize } = this.#limit;
    const bucket = this.#byKey.get(key) ?? new TokenBucket(this.#clock, { perSecond, burst });
    this.#byKey.delete(key);
    this.#byKey.set(key, bucket);
    const [oldest] = this.#byKey.keys();
    if (this.#byKey.size > (cacheSize || 4096)) this.#byKey.delete(oldest!);
    return bucket;
  }
}
