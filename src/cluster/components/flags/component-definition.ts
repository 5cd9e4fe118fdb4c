/**
 * What a component's own command consists of: its flags, and how it runs with them.
 *
 * The room: what a component is told by flags and by files that they name, the API server it is to talk to included. It reads the
 * environment and configuration files; what flags mean for one component stands with that component.
 */
import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { FlagDefinition } from '../../../serving/flags.ts';
import type { ThisMachine } from '../../machine/machine.ts';
import type { GivenFlags } from './given-flags.ts';

export interface ComponentEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly machine: ThisMachine;
  /** Aborted by SIGTERM and SIGINT. */
  readonly signal: AbortSignal;
  /** To be called when all flags have been looked at, before the work begins. */
  readonly started: () => void;
}

export interface ComponentCommand {
  readonly name: string;
  readonly flags: readonly FlagDefinition[];
  /** Resolves when the component has ended. */
  run(flags: GivenFlags, environment: ComponentEnvironment): Promise<void>;
}
