/** What the process of a node is given, all its parts alike. */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import type { ThisMachine } from '../machine/machine.ts';
import type { NodeConfig } from './node-config.ts';

export interface NodeProcessOptions {
  readonly directory: DataDirectory;
  readonly config: NodeConfig;
  readonly machine: ThisMachine;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}
