/**
 * Who may read the guarded pages of a component's secure port, by upstream's flags: certificates of the cluster's authority, which the
 * API server tells in a ConfigMap, and tokens that it reviews (`--authentication-kubeconfig`); rights that it decides
 * (`--authorization-kubeconfig`). Without the former everybody is anonymous, without the latter only `system:masters` may.
 */
import { configMaps } from '../../../api/gen/core-v1.ts';
import { messageOf } from '../../../apimachinery/status.ts';
import type { Client } from '../../../client/client.ts';
import { createHttpTransport, type HttpTransport } from '../../../client/http-transport.ts';
import { createClient } from '../../../client/typed-client.ts';
import { type Authenticate, delegatedAuthentication } from '../../../serving/delegated-authentication.ts';
import {
  type AccessDecision,
  type Authorize,
  delegatedAuthorization,
} from '../../../serving/delegated-authorization.ts';
import { readOptionalPem } from '../../certificates/pem-files.ts';
import { versions } from '../../versions.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import { kubeconfigOptions } from '../flags/connection.ts';
import type { GivenFlags } from '../flags/given-flags.ts';

export interface DelegatedAccess extends AsyncDisposable {
  readonly authenticate: Authenticate;
  readonly authorize: Authorize;
}

/** Where the API server tells whose client certificates count. */
const trust = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
const trustedForMs = 60_000;
const masters = 'system:masters';

export async function delegatedAccess(
  name: string,
  given: GivenFlags,
  environment: Pick<ComponentEnvironment, 'clock' | 'log'>,
): Promise<DelegatedAccess> {
  const { clock, log } = environment;
  const transports: HttpTransport[] = [];
  const clientOf = async (flag: string): Promise<Client | undefined> => {
    const path = given.optionalText(flag);
    if (path === undefined) return undefined;
    const options = await kubeconfigOptions(path, { flag: `--${flag}`, clock });
    const transport = createHttpTransport({ ...options, userAgent: `${name}/${versions.kubernetes}` });
    transports.push(transport);
    return createClient(transport);
  };
  const reviewer = await clientOf('authentication-kubeconfig');
  const decider = await clientOf('authorization-kubeconfig');
  const authorities = clientAuthorities(given, reviewer, environment);
  const authenticate = delegatedAuthentication({
    clock,
    clientAuthorities: authorities.current,
    tokenReviews: reviewer,
    cacheTtlMs: given.milliseconds('authentication-token-webhook-cache-ttl'),
    anonymous: true,
  });
  const delegated = decider
    ? delegatedAuthorization({
        client: decider,
        clock,
        allowedTtlMs: given.milliseconds('authorization-webhook-cache-authorized-ttl'),
        refusedTtlMs: given.milliseconds('authorization-webhook-cache-unauthorized-ttl'),
        alwaysAllowGroups: [masters],
      })
    : mastersAlone;
  return {
    async authenticate(request) {
      await authorities.refresh().catch((error: unknown) => {
        log.warn('whose client certificates count cannot be read', { error: messageOf(error) });
      });
      return authenticate(request);
    },
    authorize: delegated,
    async [Symbol.asyncDispose]() {
      await Promise.all(transports.map((transport) => transport.close()));
    },
  };
}

async function mastersAlone({ user }: Parameters<Authorize>[0]): Promise<AccessDecision> {
  return { allowed: user.groups.includes(masters), reason: '' };
}

/** `--client-ca-file`, else what the API server tells; read anew once a minute, and only while somebody asks. */
function clientAuthorities(
  given: GivenFlags,
  reviewer: Client | undefined,
  { clock }: Pick<ComponentEnvironment, 'clock'>,
): { readonly current: () => string; readonly refresh: () => Promise<void> } {
  const file = given.text('client-ca-file');
  if (file !== '')
    return { current: () => readOptionalPem('--client-ca-file', file) ?? '', refresh: async () => undefined };
  const looksUp = !given.flag('authentication-skip-lookup');
  let known = { pem: '', goodUntilMs: Number.NEGATIVE_INFINITY };
  return {
    current: () => known.pem,
    async refresh() {
      if (!reviewer || !looksUp || clock.monotonic() < known.goodUntilMs) return;
      const { data } = await reviewer.get(configMaps, trust);
      known = { pem: data?.['client-ca-file'] ?? '', goodUntilMs: clock.monotonic() + trustedForMs };
    },
  };
}
