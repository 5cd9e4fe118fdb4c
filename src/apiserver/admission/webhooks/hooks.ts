/**
 * The webhooks that are configured, in the order in which they are called: by the name of their configuration, then as that lists them.
 * What is read out of a configuration is kept until it changes.
 */
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from '../../../api/gen/admissionregistration-v1.ts';
import { type LabelMatcher, labelMatcherOf } from '../../../apimachinery/labels.ts';
import type { Informer } from '../../../reconcile/informer.ts';

export type WebhookType = 'admit' | 'validating';

export interface Hook {
  /** Unlike its name, this says which one it is. */
  readonly uid: string;
  readonly configuration: string;
  readonly type: WebhookType;
  readonly webhook: ValidatingWebhook & Pick<MutatingWebhook, 'reinvocationPolicy'>;
  /** Both throw for selectors that older servers let in. */
  readonly namespaceSelector: () => LabelMatcher;
  readonly objectSelector: () => LabelMatcher;
}

type Configuration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration;

export class HookSource {
  readonly #type: WebhookType;
  readonly #informer: Pick<Informer<Configuration>, 'list' | 'onChange'>;
  readonly #known = new WeakMap<Configuration, readonly Hook[]>();
  #hooks: readonly Hook[] | undefined;

  constructor(type: WebhookType, informer: Pick<Informer<Configuration>, 'list' | 'onChange'>) {
    this.#type = type;
    this.#informer = informer;
    const changed = () => {
      this.#hooks = undefined;
    };
    informer.onChange({ added: changed, updated: changed, deleted: changed });
  }

  hooks(): readonly Hook[] {
    this.#hooks ??= this.#informer
      .list()
      .toSorted((a, b) => compare(a.metadata.name ?? '', b.metadata.name ?? ''))
      .flatMap((configuration) => this.#hooksOf(configuration));
    return this.#hooks;
  }

  #hooksOf(configuration: Configuration): readonly Hook[] {
    const known = this.#known.get(configuration);
    if (known) return known;
    const { name = '' } = configuration.metadata;
    const seen = new Map<string, number>();
    const hooks = (configuration.webhooks ?? []).map((webhook): Hook => {
      const count = seen.get(webhook.name) ?? 0;
      seen.set(webhook.name, count + 1);
      return {
        uid: `${name}/${webhook.name}/${count}`,
        configuration: name,
        type: this.#type,
        webhook,
        namespaceSelector: once(() => labelMatcherOf(webhook.namespaceSelector)),
        objectSelector: once(() => labelMatcherOf(webhook.objectSelector)),
      };
    });
    this.#known.set(configuration, hooks);
    return hooks;
  }
}

/** As Go compares strings: by bytes, which for code units below the surrogates is the same. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function once<T>(compute: () => T): () => T {
  let memo: { readonly value: T } | undefined;
  return () => {
    memo ??= { value: compute() };
    return memo.value;
  };
}
