/** A client for Coracle's own verbs: by the kubeconfig that a person names, or that the cluster of a data directory wrote. */
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf } from '../apimachinery/status.ts';
import type { Clock } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import { createHttpTransport, type HttpTransportOptions } from '../client/http-transport.ts';
import { parseKubeconfig, transportOptions } from '../client/kubeconfig.ts';
import { createClient } from '../client/typed-client.ts';
import { CommandError } from './command-error.ts';
import { layOut } from './data-directory.ts';

export { discover } from '../controllers/common/discovery.ts';
export { type Cause, type CauseList, causesPath } from '../reconcile/causes.ts';

export interface UserClientOptions {
  readonly clock: Clock;
  readonly dataDirectory: string;
  /** Default: the data directory's. */
  readonly kubeconfig?: string | undefined;
}

const requestTimeoutMs = 10_000;

/**
 * `use` gets a client, and how it connects. Throws a `CommandError` when there is no such cluster, or it does not answer as it should.
 */
export async function withUserClient<T>(
  options: UserClientOptions,
  use: (client: Client, connection: HttpTransportOptions) => Promise<T>,
): Promise<T> {
  const path = options.kubeconfig ?? layOut(options.dataDirectory).kubeconfig;
  if (!existsSync(path))
    throw new CommandError(
      `There is no kubeconfig at ${path}.`,
      'Name one with --kubeconfig, or start a cluster: coracle up.',
    );
  const config = parseKubeconfig(readFileSync(path, 'utf8'), dirname(path));
  const reading = { clock: options.clock, readFile: (file: string) => readFile(file, 'utf8') };
  const connection = { ...(await transportOptions(config, reading)), timeoutMs: requestTimeoutMs };
  const transport = createHttpTransport(connection);
  try {
    return await use(createClient(transport), connection);
  } catch (error) {
    throw error instanceof CommandError ? error : new CommandError(`${messageOf(error)}.`, 'kubectl may tell more.');
  } finally {
    await transport.close();
  }
}
