/**
 * Runs admission plugins: all mutating ones in order, later all validating ones in the same order. The first that refuses ends it.
 * Which plugins look at a kind of request is worked out once and remembered, so a request that no plugin cares about costs a look-up.
 */
import type { GroupVersionResource } from '../../apimachinery/resource.ts';
import type { AdmissionAttributes, AdmissionPlugin, Operation } from './admission.ts';

interface Selection {
  readonly mutating: readonly AdmissionPlugin[];
  readonly validating: readonly AdmissionPlugin[];
}

export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  readonly #selections = new Map<string, Selection>();

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
    for (const plugin of mutating) {
      const pending = plugin.admit?.(attributes);
      if (pending) await pending;
    }
  }

  /** Runs what may only refuse, on the object as it will be stored. */
  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { validating } = this.#select(attributes.operation, attributes.resource, attributes.subresource);
    for (const plugin of validating) {
      const pending = plugin.validate?.(attributes);
      if (pending) await pending;
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
