/**
 * Runs admission plugins: all mutating ones in order, later all validating ones in the same order. The first that refuses ends it.
 * Which plugins look at a kind of request is worked out once and remembered, so a request that no plugin cares about costs a look-up.
 */
import type { GroupVersionResource } from '../../apimachinery/resource.ts';
import type { Clock } from '../../base/clock.ts';
import type { AdmissionAttributes, AdmissionPlugin, Operation } from './admission.ts';
import type { AdmissionStatistics, AdmissionStep } from './admission-statistics.ts';

/** What is told of each plugin and each step. */
export interface AdmissionMeter {
  readonly clock: Clock;
  readonly statistics: AdmissionStatistics;
}

interface Selection {
  readonly mutating: readonly AdmissionPlugin[];
  readonly validating: readonly AdmissionPlugin[];
}

export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  readonly #selections = new Map<string, Selection>();
  /** Set by the server that runs the chain. */
  meter: AdmissionMeter | undefined;

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins;
  }

  get pluginNames(): readonly string[] {
    return this.#plugins.map((plugin) => plugin.name);
  }

  /** Whether any plugin looks at such a request; when not, its attributes need not be put together. */
  handles(operation: Operation, resource: GroupVersionResource, subresource: string): boolean {
    const { mutating, validating } = this.#select(operation, resource, subresource);
    return mutating.length + validating.length > 0;
  }

  /** Runs what may change the object, after decoding and defaulting and before validation. */
  async admit(attributes: AdmissionAttributes): Promise<void> {
    const { mutating } = this.#select(attributes.operation, attributes.resource, attributes.subresource);
    await this.#run(mutating, 'admit', attributes);
  }

  /** Runs what may only refuse, on the object as it will be stored. */
  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { validating } = this.#select(attributes.operation, attributes.resource, attributes.subresource);
    await this.#run(validating, 'validate', attributes);
  }

  async #run(plugins: readonly AdmissionPlugin[], type: AdmissionStep, attributes: AdmissionAttributes): Promise<void> {
    if (plugins.length === 0) return;
    const { operation } = attributes;
    const { clock, statistics } = this.meter ?? {};
    const beganMs = clock?.monotonic() ?? 0;
    let lastMs = beganMs;
    let name = '';
    const told = (rejected: boolean) => {
      const nowMs = clock?.monotonic() ?? 0;
      statistics?.plugin(name, { operation, type, rejected }, (nowMs - lastMs) / 1000);
      lastMs = nowMs;
    };
    let rejected = true;
    try {
      for (const plugin of plugins) {
        name = plugin.name;
        const pending = plugin[type]?.(attributes);
        if (pending) await pending;
        told(false);
      }
      rejected = false;
    } finally {
      if (rejected) told(true);
      statistics?.step({ operation, type, rejected }, (lastMs - beganMs) / 1000);
    }
  }

  #select(operation: Operation, resource: GroupVersionResource, subresource: string): Selection {
    const key = `${operation} ${resource.group}/${resource.version}/${resource.resource}/${subresource}`;
    let selection = this.#selections.get(key);
    if (!selection) {
      const interested = this.#plugins.filter((plugin) => plugin.handles(operation, resource, subresource));
      selection = {
        mutating: interested.filter((plugin) => plugin.admit),
        validating: interested.filter((plugin) => plugin.validate),
      };
      this.#selections.set(key, selection);
    }
    return selection;
  }
}
