/** `coracle token`: the same as `tokens.ts`, with the cluster of a data directory. */
import { existsSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { parseCertificates } from '../../pki/certificate.ts';
import { CommandError } from '../command-error.ts';
import { connectionOf, kubeconfigOptions } from '../components/flags/connection.ts';
import { layOut } from '../data/data-directory.ts';
import { nodeAddress } from '../machine/machine.ts';
import { keyHash } from './discovery.ts';
import { createToken, deleteToken, type ListedToken, listTokens, parseTtl } from './tokens.ts';

export interface TokenOptions {
  readonly ttl: string;
  readonly description?: string;
}

export interface MadeToken {
  readonly token: string;
  /** Throws a `CommandError` where no other machine could reach this one. */
  joinCommand(): string;
}

export function createJoinToken(root: string, options: TokenOptions & { readonly clock: Clock }): Promise<MadeToken> {
  const { clock, description } = options;
  const ttlMs = parseTtl(options.ttl);
  return withAdministrator(root, clock, async (client, { server, caPem }) => {
    const made = { ttlMs, nowMs: clock.now(), random: systemRandom, ...(description ? { description } : {}) };
    const token = await createToken(client, made);
    return { token, joinCommand: () => joinCommand({ server, caPem, token }) };
  });
}

export function listJoinTokens(root: string, clock: Clock): Promise<readonly ListedToken[]> {
  return withAdministrator(root, clock, (client) => listTokens(client, clock.now()));
}

export function deleteJoinToken(root: string, text: string, clock: Clock): Promise<void> {
  return withAdministrator(root, clock, (client) => deleteToken(client, text));
}

function joinCommand({ server, caPem, token }: { server: string; caPem: string; token: string }): string {
  const address = nodeAddress();
  if (address === undefined)
    throw new CommandError(
      'this machine has no address but loopback, and other machines could not reach it.',
      'Connect it to a network, and start the cluster again.',
    );
  const hash = parseCertificates(caPem).map(keyHash)[0];
  return `coracle join ${address}:${new URL(server).port} --token ${token} --discovery-token-ca-cert-hash ${hash}`;
}

async function withAdministrator<T>(
  root: string,
  clock: Clock,
  work: (client: Client, cluster: { readonly server: string; readonly caPem: string }) => Promise<T>,
): Promise<T> {
  const { kubeconfig } = layOut(root);
  if (!existsSync(kubeconfig))
    throw new CommandError(`there is no cluster at ${root}.`, 'Start one (coracle up), or give its --data-dir.');
  const options = await kubeconfigOptions(kubeconfig, { flag: '--kubeconfig', clock });
  await using connection = connectionOf(options);
  return await work(connection.client, { server: options.server, caPem: String(options.tls?.ca ?? '') });
}
