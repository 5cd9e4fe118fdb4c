/**
 * Keeps the rules of the Pods' network in the kernel: writes them for each range that the node is given, and anew when somebody else has
 * flushed them, which is looked for twice a minute since the kernel tells nobody.
 */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';

export interface PodNetworkRulesOptions {
  readonly write: (podCidrs: readonly string[]) => Promise<void>;
  readonly areThere: (podCidrs: readonly string[]) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export interface PodNetworkRules {
  /** The node's range is this one from now on. */
  take(podCidrs: readonly string[]): void;
  /** From the first range on, until the signal is aborted. Rejects when rules cannot be written or looked for. */
  run(): Promise<void>;
}

export const lookMs = 30_000;

export function podNetworkRules({ write, areThere, clock, log, signal }: PodNetworkRulesOptions): PodNetworkRules {
  let given: readonly string[] = [];
  let changed = Promise.withResolvers<void>();
  /** Resolves with true once the rules are gone, with false once the range has changed. */
  const areLost = async () => {
    for (;;) {
      const pause = Promise.withResolvers<'look'>();
      const timer = clock.after(lookMs, () => pause.resolve('look'));
      const next = await Promise.race([pause.promise, changed.promise]);
      timer.cancel();
      if (next !== 'look') return false;
      if (!(await areThere(given))) return true;
    }
  };
  return {
    take(podCidrs) {
      if (String(podCidrs) === String(given)) return;
      given = podCidrs;
      changed.resolve();
    },
    async run() {
      signal.addEventListener('abort', () => changed.resolve(), { once: true });
      if (!signal.aborted && given.length === 0) await changed.promise;
      while (!signal.aborted) {
        changed = Promise.withResolvers<void>();
        await write(given);
        if (await areLost())
          log.warn('the rules of the Pods´ network were flushed by somebody else; writing them anew');
      }
    },
  };
}
