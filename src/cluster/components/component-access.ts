/**
 * Who may read the pages of kube-controller-manager and kube-scheduler, by the flags that both have: client certificates of
 * `--client-ca-file`, bearer tokens where `--authentication-kubeconfig` says whom to ask, rights where `--authorization-kubeconfig` does.
 * Nobody else gets more than `--authorization-always-allow-paths`. Health pages are open by default.
 */
import type { IncomingMessage } from 'node:http';
import { forbidden, messageOf, type StatusError, unauthorized } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import { type Authenticate, delegatedAuthentication, type UserInfo } from '../../serving/delegated-authentication.ts';
import { type Authorize, delegatedAuthorization } from '../../serving/delegated-authorization.ts';
import type { ComponentEnvironment } from './component.ts';
import { type Connection, connectionOf, kubeconfigOptions } from './connection.ts';
import type { GivenFlags } from './given-flags.ts';
import { readPem } from './serving-certificate.ts';

export interface ComponentAccess extends AsyncDisposable {
  /** What refuses the request; undefined: they may. */
  refusal(request: IncomingMessage, path: string): Promise<StatusError | undefined>;
}

const administrators = 'system:masters';

/** Rejects with a `CommandError` for a kubeconfig that cannot be read. */
export async function componentAccess(given: GivenFlags, environment: ComponentEnvironment): Promise<ComponentAccess> {
  const { clock, log } = environment;
  const caFile = given.optionalText('client-ca-file');
  const connections: Connection[] = [];
  const clientOf = async (flag: string): Promise<Client | undefined> => {
    const path = given.optionalText(flag);
    if (path === undefined) return undefined;
    const connection = connectionOf(await kubeconfigOptions(path, { flag: `--${flag}`, clock }));
    connections.push(connection);
    return connection.client;
  };
  const authenticate = delegatedAuthentication({
    clock,
    clientAuthorities: caFile === undefined ? undefined : () => readPem('--client-ca-file', caFile),
    tokenReviews: await clientOf('authentication-kubeconfig'),
    cacheTtlMs: given.milliseconds('authentication-token-webhook-cache-ttl'),
    anonymous: true,
  });
  const reviewer = await clientOf('authorization-kubeconfig');
  const alwaysAllowPaths = given.list('authorization-always-allow-paths');
  const authorize = reviewer
    ? delegatedAuthorization({
        client: reviewer,
        clock,
        allowedTtlMs: given.milliseconds('authorization-webhook-cache-authorized-ttl'),
        refusedTtlMs: given.milliseconds('authorization-webhook-cache-unauthorized-ttl'),
        alwaysAllowGroups: [administrators],
      })
    : onlyAdministrators;
  const isOpen = (path: string) =>
    alwaysAllowPaths.some((open) => (open.endsWith('*') ? path.startsWith(open.slice(0, -1)) : path === open));
  return {
    refusal: async (request, path) => {
      if (isOpen(path)) return undefined;
      try {
        return await refusalOf(request, { path, authenticate, authorize });
      } catch (error) {
        log.warn('cannot find out whether a request is allowed', { path, error: messageOf(error) });
        return unauthorized('Unauthorized');
      }
    },
    async [Symbol.asyncDispose]() {
      for (const connection of connections) await connection[Symbol.asyncDispose]();
    },
  };
}

const onlyAdministrators: Authorize = async ({ user }) => ({
  allowed: user.groups.includes(administrators),
  reason: '',
});

interface Asked {
  readonly path: string;
  readonly authenticate: Authenticate;
  readonly authorize: Authorize;
}

async function refusalOf(
  request: IncomingMessage,
  { path, authenticate, authorize }: Asked,
): Promise<StatusError | undefined> {
  const user: UserInfo | undefined = await authenticate(request);
  if (!user) return unauthorized('Unauthorized');
  const verb = (request.method ?? 'GET').toLowerCase();
  const { allowed, reason } = await authorize({ user, path, verb });
  if (allowed) return undefined;
  const why = reason === '' ? '' : `: ${reason}`;
  return forbidden(
    { group: '', resource: '' },
    '',
    `User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(path)}${why}`,
  );
}
