/** Bootstrap tokens as `coracle token` makes, lists and removes them: Secrets in upstream's form, which kubeadm understands too. */
import { type Secret, secrets } from '../../api/gen/core-v1.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import { formatTime, parseDuration } from '../../apimachinery/time.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { bootstrapTokenOf, bootstrapTokenType, millisecondsLeft } from '../../controllers/common/bootstrap-token.ts';
import { CommandError } from '../command-error.ts';

const namespace = 'kube-system';

export interface ListedToken {
  readonly token: string;
  /** Undefined: it does not end. */
  readonly secondsLeft: number | undefined;
}

export interface JoinToken {
  readonly id: string;
  readonly secret: string;
}

/** `abcdef.0123456789abcdef`. */
export function parseToken(text: string): JoinToken {
  const [, id, secret] = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(text) ?? [];
  if (id && secret) return { id, secret };
  throw new CommandError(
    `the bootstrap token ${JSON.stringify(text)} was not of the form "\\A([a-z0-9]{6})\\.([a-z0-9]{16})\\z".`,
    'Make one on the control plane: coracle token create.',
  );
}

/** Milliseconds of `--ttl`; 0: for ever. */
export function parseTtl(text: string): number {
  const ttlMs = text === '0' ? 0 : parseDuration(text);
  if (ttlMs !== undefined && ttlMs >= 0) return ttlMs;
  throw new CommandError(
    `--ttl ${JSON.stringify(text)} is no duration.`,
    'Write it as in --ttl 24h0m0s, or 0 for a token without end.',
  );
}

/** Resolves with `id.secret`. */
export async function createToken(
  client: Client,
  options: { readonly ttlMs: number; readonly nowMs: number; readonly random: Random; readonly description?: string },
): Promise<string> {
  const { ttlMs, nowMs, random, description } = options;
  const [id, secret] = [letters(random, 6), letters(random, 16)];
  await client.create(secrets, {
    metadata: { name: `bootstrap-token-${id}`, namespace },
    type: bootstrapTokenType,
    stringData: {
      'token-id': id,
      'token-secret': secret,
      'usage-bootstrap-authentication': 'true',
      'usage-bootstrap-signing': 'true',
      ...(ttlMs > 0 ? { expiration: formatTime(nowMs + ttlMs) } : {}),
      ...(description ? { description } : {}),
    },
  });
  return `${id}.${secret}`;
}

export async function listTokens(client: Client, nowMs: number): Promise<readonly ListedToken[]> {
  const { items } = await client.list(secrets, { namespace, fieldSelector: `type=${bootstrapTokenType}` });
  return items.flatMap((secret: Secret) => {
    const token = bootstrapTokenOf(secret, nowMs);
    const leftMs = millisecondsLeft(secret, nowMs);
    return token ? [{ token: `${token.id}.${token.secret}`, secondsLeft: leftMs && leftMs / 1000 }] : [];
  });
}

/** By its id or the whole token. */
export async function deleteToken(client: Client, text: string): Promise<void> {
  const [id = ''] = text.split('.');
  try {
    await client.delete(secrets, { namespace, name: `bootstrap-token-${id}` });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new CommandError(`there is no token ${JSON.stringify(id)}.`, 'See those that there are: coracle token list.');
  }
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** Every letter equally likely: bytes beyond a whole number of alphabets are thrown away. */
function letters(random: Random, count: number): string {
  const usable = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < count) {
    for (const byte of random.bytes(count)) if (byte < usable) text += alphabet[byte % alphabet.length];
  }
  return text.slice(0, count);
}
