/** What the commands that start something do alike: steps that are told and timed, and packages that are installed when they are missing. */
import type { Clock } from '../base/clock.ts';
import { CommandError } from './command-error.ts';
import type { ThisMachine } from './machine.ts';
import type { Report } from './progress.ts';
import { installRequirements, missingRequirements } from './requirements.ts';

export interface StepOptions {
  readonly clock: Clock;
  readonly report: Report;
}

/** Tells that a step begins, what it waits for, and how long it took. */
export async function runStep<T>(
  step: string,
  { clock, report }: StepOptions,
  work: (note: (text: string) => void) => Promise<T>,
): Promise<T> {
  const startedMs = clock.monotonic();
  report({ kind: 'begin', step });
  const result = await work((text) => report({ kind: 'note', text }));
  report({ kind: 'done', step, tookMs: clock.monotonic() - startedMs });
  return result;
}

/** Installs what a node with containers needs; throws a `CommandError` where that is not wanted or not possible. */
export async function installMissing(
  { machine, ...telling }: StepOptions & { readonly machine: ThisMachine },
  { ownRuntime, mayInstall }: { readonly ownRuntime: boolean; readonly mayInstall: boolean },
): Promise<void> {
  const missing = missingRequirements(machine, ownRuntime);
  if (missing.length === 0) return;
  const names = missing.map((one) => one.package);
  if (!mayInstall)
    throw new CommandError(
      `missing on this machine: ${names.join(', ')}, and --no-install was given.`,
      `Install them (apt-get install ${names.join(' ')}), or use --runtime simulated.`,
    );
  const say = (text: string) => telling.report({ kind: 'say', text: `  ${text}` });
  await runStep('packages', telling, async () => installRequirements(machine, missing, say));
}
