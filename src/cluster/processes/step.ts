/** What the commands that start something do alike: steps that are told and timed, and packages that are installed when they are missing. */
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { CommandError } from '../command-error.ts';
import type { ThisMachine } from '../machine/machine.ts';
import { findProgram, missingRequirements } from '../machine/requirements.ts';
import type { Report } from './progress.ts';

export interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly machine: ThisMachine;
  readonly report: Report;
}

/** How a running cluster ends: with its Pods, or leaving them to the next start. */
export type Ending = 'everything' | 'processes';

export interface StartedCluster {
  stop(ending: Ending): Promise<void>;
}

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

export interface InstallOptions {
  readonly ownRuntime: boolean;
  readonly mayInstall: boolean;
  /** Ends downloads; what is being set up is finished. */
  readonly signal: AbortSignal;
}

/** Installs what a node with containers needs; throws a `CommandError` where that is not wanted or not possible. */
export async function installMissing(
  { machine, ...telling }: StepOptions & { readonly machine: ThisMachine },
  { ownRuntime, mayInstall, signal }: InstallOptions,
): Promise<void> {
  const missing = missingRequirements(machine, ownRuntime);
  if (missing.length === 0) return;
  const names = missing.map((one) => one.package).join(' ');
  const problem = `missing on this machine: ${names.replaceAll(' ', ', ')}`;
  const byHand = `apt-get install ${names}`;
  if (!mayInstall)
    throw new CommandError(
      `${problem}, and --no-install was given.`,
      `Install them (${byHand}), or use --runtime simulated.`,
    );
  if (!machine.isRoot)
    throw new CommandError(`${problem}.`, `Install them as root (${byHand}), or use --runtime simulated.`);
  if (!findProgram(machine, 'apt-get', ['/usr/bin']))
    throw new CommandError(
      `${problem}, and there is no apt-get to install them with.`,
      'Install them with your package manager, or use --runtime simulated.',
    );
  const say = (text: string) => telling.report({ kind: 'say', text: `  ${text}` });
  await runStep('packages', telling, async (note) => {
    for (const one of missing) say(`installing ${one.package}: ${one.purpose}`);
    const { installPackages } = await import('../machine/package-installation.ts');
    const packages = missing.map((one) => one.package);
    await installPackages(packages, { machine, clock: telling.clock, say, note, signal });
  });
  const [absent] = missingRequirements(machine, ownRuntime);
  if (absent)
    throw new CommandError(
      `the package ${absent.package} is installed, but its program ${absent.program} is not on this machine.`,
      `Install it anew: apt-get install --reinstall ${absent.package}`,
    );
}
