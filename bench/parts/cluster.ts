/**
 * A cluster as a user starts it, `./coracle up --detach`, in a network namespace and on a data directory of its own, so that it meets
 * nothing of the machine's and leaves nothing behind.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { layOut } from '../../src/cluster/data/data-directory.ts';
import { missingParts } from '../../src/testing/needs.ts';
import { testNetwork } from '../../src/testing/network.ts';

export interface StartedCluster {
  /** Of `up`, until it said that the node is Ready. */
  readonly tookMs: number;
  /** Where the processes' ids are. */
  readonly runFolder: string;
  /** `coracle down`, keeping the data, and `up` again: how long that took. */
  again(): number;
  stop(): void;
}

const root = resolve(import.meta.dirname, '../..');

/** Or why there is none. */
export async function startCluster(folder: string): Promise<StartedCluster | string> {
  const missing = missingParts('containers');
  if (missing) return missing;
  if (!existsSync(join(root, 'src/cli/main.ts'))) return 'there is no `coracle up` yet';
  const directory = layOut(join(folder, 'data'));
  const network = testNetwork();
  const { namespace } = network.host(['192.168.79.1/24']);
  const coracle = (...words: string[]) => {
    const beganMs = performance.now();
    execFileSync(
      'nsenter',
      [`--net=/run/netns/${namespace}`, join(root, 'coracle'), ...words, '--data-dir', directory.root],
      { stdio: ['ignore', 'ignore', 'inherit'], timeout: 180_000, env: { ...process.env, HOME: folder } },
    );
    return performance.now() - beganMs;
  };
  const stop = () => {
    try {
      coracle('down', '--purge');
    } finally {
      network.close();
    }
  };
  const up = () => coracle('up', '--detach', '--no-install');
  try {
    const tookMs = up();
    const again = () => {
      coracle('down');
      return up();
    };
    return { tookMs, runFolder: directory.run, again, stop };
  } catch (error) {
    stop();
    throw error;
  }
}
