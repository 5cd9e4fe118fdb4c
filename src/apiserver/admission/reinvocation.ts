/**
 * Who changes an object a second time. Of those that asked for it (`reinvocationPolicy: IfNeeded`), all that were called before the object was
 * last changed are called again in the second round of admission, and nobody else: webhooks by their own account, policies by theirs.
 */
import type { KubeObject } from '../../apimachinery/meta.ts';
import { jsonEqual } from '../../apimachinery/patch/merge-patch.ts';
import type { AdmissionAttributes, AdmissionRound } from './admission.ts';
import { snapshot } from './object-versions.ts';

/** What the first round leaves for the second. */
interface Memory {
  /** The object as they left it. */
  output: KubeObject | undefined;
  /** Called so far and willing to be called again. */
  readonly called: Set<string>;
  /** To be called again. */
  readonly again: Set<string>;
}

/** One round of one plugin on one object. */
export class Reinvocation {
  readonly #attributes: AdmissionAttributes;
  readonly #round: AdmissionRound | undefined;
  readonly #memory: Memory;

  /** `plugin`: whose memory it is. Without a round there is no second one. */
  constructor(plugin: string, attributes: AdmissionAttributes, round: AdmissionRound | undefined) {
    const known = round?.memory.get(plugin) as Memory | undefined;
    this.#attributes = attributes;
    this.#round = round;
    this.#memory = known ?? { output: undefined, called: new Set(), again: new Set() };
    round?.memory.set(plugin, this.#memory);
    // What others changed since is as good a reason as what one of them changes.
    if (round?.isSecond && !jsonEqual(this.#memory.output, attributes.object)) this.#recall();
  }

  /** Whether it is its turn: in the first round anybody's. */
  isDue(key: string): boolean {
    return this.#round?.isSecond !== true || this.#memory.again.has(key);
  }

  /** The object was changed: who was called before has to see it. */
  changed(): void {
    this.#recall();
    this.#round?.runAgain();
  }

  /** Was called now, and asks to be called again if need be. */
  called(key: string): void {
    this.#memory.called.add(key);
  }

  /** However the round ended. */
  end(): void {
    this.#memory.output = snapshot(this.#attributes.object);
  }

  #recall(): void {
    for (const key of this.#memory.called) this.#memory.again.add(key);
    this.#memory.called.clear();
  }
}
