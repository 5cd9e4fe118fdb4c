/** A client for commands that talk to a cluster: by the kubeconfig that was given, the user's own, or that of the data directory. */
import { existsSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import { isConnectionError } from '../../client/connection-error.ts';
import type { HttpTransportOptions } from '../../client/http-transport.ts';
import { CommandError } from '../command-error.ts';
import { connectionOf, kubeconfigOptions } from '../components/flags/connection.ts';
import { layOut } from '../data/data-directory.ts';
import { thisMachine } from '../machine/machine.ts';

export interface ClusterPlace {
  readonly kubeconfig?: string | undefined;
  /** Where it was given it counts more than the user's own. */
  readonly dataDir?: string | undefined;
  readonly defaultDataDir: string;
  readonly clock: Clock;
}

const timeoutMs = 60_000;

/** `work` gets a client, and how it connects. Throws a `CommandError` when there is no such cluster, or it does not answer. */
export async function withClusterClient<T>(
  place: ClusterPlace,
  work: (client: Client, options: HttpTransportOptions) => Promise<T>,
): Promise<T> {
  const { clock } = place;
  const options = await kubeconfigOptions(kubeconfigFor(place), { flag: '--kubeconfig', clock });
  await using connection = connectionOf({ ...options, timeoutMs });
  try {
    return await work(connection.client, connection.options);
  } catch (error) {
    if (!isConnectionError(error)) throw error;
    throw new CommandError(
      `${options.server} does not answer: ${error.message}.`,
      'Start the cluster with `coracle up`, or name another kubeconfig with --kubeconfig.',
    );
  }
}

function kubeconfigFor({ kubeconfig, dataDir, defaultDataDir }: ClusterPlace): string {
  if (kubeconfig !== undefined) return kubeconfig;
  const own = thisMachine().environment.KUBECONFIG;
  if (dataDir === undefined && own !== undefined && own !== '') return own;
  const file = layOut(dataDir ?? defaultDataDir).kubeconfig;
  if (existsSync(file)) return file;
  throw new CommandError(
    `there is no cluster at ${layOut(dataDir ?? defaultDataDir).root}.`,
    'Start one with `coracle up`, or say how to reach another with --kubeconfig.',
  );
}
