/**
 * Runs admission plugins: all mutating ones in order, later all validating ones in the same order. The first that refuses ends it.
 * Which plugins look at a kind of request is worked out once and remembered, so a request that no plugin cares about costs a look-up.
 */

import type { ManagedFieldsEntry } from '../../apimachinery/gen/meta-v1.ts';
import { readManagers } from '../../apimachinery/managed-fields/managers.ts';
import type { Draft } from '../../apimachinery/meta.ts';
import { jsonEqual } from '../../apimachinery/patch/merge-patch.ts';
import type { GroupVersionResource } from '../../apimachinery/resource.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import { copyStandingParts } from '../registry/standing-parts.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionRound, Operation } from './admission.ts';
import type { AdmissionStatistics } from './admission-statistics.ts';
import type { AdmissionStep } from './outcome.ts';

/** What is told of each plugin and each step. */
export interface AdmissionMeter {
  readonly clock: Clock;
  readonly statistics: AdmissionStatistics;
}

interface Selection {
  readonly mutating: readonly AdmissionPlugin[];
  readonly validating: readonly AdmissionPlugin[];
  /** Whether some mutating plugin may change what is within the parts of an object. */
  readonly changesParts: boolean;
}

export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  /** By what a resource is, then by operation and subresource. */
  readonly #selections = new WeakMap<GroupVersionResource, Map<string, Selection>>();
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
    const { mutating, changesParts } = this.#select(attributes.operation, attributes.resource, attributes.subresource);
    if (changesParts && attributes.object) copyStandingParts(attributes.object);
    const owners = attributes.object?.metadata?.managedFields;
    const round = new Round();
    const admit = (plugin: AdmissionPlugin) => plugin.admit?.(attributes, round);
    await this.#run({ plugins: mutating, operation: attributes.operation, type: 'admit', call: admit });
    if (round.wanted) {
      round.isSecond = true;
      await this.#run({ plugins: mutating, operation: attributes.operation, type: 'admit', call: admit });
    }
    keepReadable(attributes, owners);
  }

  /** Runs what may only refuse, on the object as it will be stored. */
  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { validating } = this.#select(attributes.operation, attributes.resource, attributes.subresource);
    const validate = (plugin: AdmissionPlugin) => plugin.validate?.(attributes);
    await this.#run({ plugins: validating, operation: attributes.operation, type: 'validate', call: validate });
  }

  async #run({ plugins, operation, type, call }: Step): Promise<void> {
    if (plugins.length === 0) return;
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
        const pending = call(plugin);
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
    let ofResource = this.#selections.get(resource);
    if (!ofResource) {
      ofResource = new Map();
      this.#selections.set(resource, ofResource);
    }
    const key = subresource === '' ? operation : `${operation} ${subresource}`;
    let selection = ofResource.get(key);
    if (!selection) {
      const interested = this.#plugins.filter((plugin) => plugin.handles(operation, resource, subresource));
      const mutating = interested.filter((plugin) => plugin.admit);
      const changesParts = mutating.some((plugin) => !plugin.replacesParts);
      selection = { mutating, validating: interested.filter((plugin) => plugin.validate), changesParts };
      ofResource.set(key, selection);
    }
    return selection;
  }
}

interface Step {
  readonly plugins: readonly AdmissionPlugin[];
  readonly operation: Operation;
  readonly type: AdmissionStep;
  call(plugin: AdmissionPlugin): Promise<void> | undefined | void;
}

class Round implements AdmissionRound {
  isSecond = false;
  wanted = false;
  #memory: Map<string, unknown> | undefined;

  get memory(): Map<string, unknown> {
    this.#memory ??= new Map();
    return this.#memory;
  }

  runAgain(): void {
    this.wanted = true;
  }
}

const unreadable =
  '.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests';

/** Whoever changes an object in admission may change who owns its fields, but not into what nobody can read. */
function keepReadable(
  { object, subresource, warn }: AdmissionAttributes,
  owners: Draft<ManagedFieldsEntry>[] | undefined,
): void {
  const metadata = object?.metadata;
  if (!metadata || subresource !== '' || metadata.managedFields === owners) return;
  if (jsonEqual(metadata.managedFields, owners)) return;
  try {
    readManagers((metadata.managedFields ?? []) as readonly ManagedFieldsEntry[]);
  } catch (error) {
    if (owners === undefined) delete metadata.managedFields;
    else metadata.managedFields = owners;
    warn(`${unreadable}: ${messageOf(error)}`);
  }
}
