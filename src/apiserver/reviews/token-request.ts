/**
 * `serviceaccounts/token`: a token for a service account, for given audiences and a limited time, that dies with the Pod, Node or
 * Secret it is bound to.
 */
import type { TokenRequest } from '../../api/gen/authentication-v1.ts';
import {
  type Node,
  nodes,
  type Pod,
  pods,
  type Secret,
  type ServiceAccount,
  secrets,
  serviceAccounts,
} from '../../api/gen/core-v1.ts';
import { type FieldError, invalid as invalidValue, path } from '../../apimachinery/field-error.ts';
import type { Draft } from '../../apimachinery/meta.ts';
import { parseApiVersion } from '../../apimachinery/resource.ts';
import { badRequest, conflict, internalError, invalid, isNotFound, messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import {
  boundTokenClaims,
  extendedExpirationSeconds,
  warnOnlyExpirationSeconds,
} from '../../pki/service-account-token.ts';
import type { TokenSigner } from '../../pki/token-signer.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import type { Handler } from '../request.ts';
import { type ReviewContext, reviewHandler } from './review-handler.ts';

/** How long tokens may live. */
export interface TokenLimits {
  /** `--service-account-max-token-expiration`; 0 or absent: no limit. */
  readonly maxExpirationSeconds?: number | undefined;
  /** `--service-account-extend-token-expiration`; default true. */
  readonly extendExpiration?: boolean | undefined;
  /** How long extended tokens live; default a year. */
  readonly extendedExpirationSeconds?: number | undefined;
}

export interface TokenRequestOptions extends TokenLimits {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly signer: Pick<TokenSigner, 'sign'>;
  readonly apiAudiences: readonly string[];
  readonly admission: () => AdmissionChain;
}

const kind = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' };
const defaultExpirationSeconds = 3600;
const leastExpirationSeconds = 600;

interface Bound {
  readonly pod?: Pod;
  readonly node?: { readonly metadata: Node['metadata'] };
  readonly secret?: Secret;
}

export function tokenRequestHandler(options: TokenRequestOptions): Handler {
  const { client, admission, clock } = options;
  return reviewHandler<TokenRequest>({
    resource: { group: '', version: 'v1', resource: 'serviceaccounts' },
    subresource: 'token',
    kind,
    admission,
    clock,
    defaults(request) {
      request.spec ??= {};
      request.spec.expirationSeconds ??= defaultExpirationSeconds;
    },
    async review(request, context) {
      const { namespace, name } = context.info;
      if (request.metadata.name && request.metadata.name !== name) {
        const detail = 'must match the service account name if specified';
        throw invalid(kind, name, [invalidValue(path('metadata', 'name'), request.metadata.name, detail)]);
      }
      const account = await client.get(serviceAccounts, { namespace, name });
      checkUid(request, account);
      const { spec } = request;
      if (!spec.audiences?.length) spec.audiences = [...options.apiAudiences];
      const nowMs = options.clock.now();
      const { uid } = account.metadata;
      request.metadata = { ...request.metadata, name, namespace, uid, creationTimestamp: formatTime(nowMs) };
      const errors = expirationErrors(spec.expirationSeconds ?? 0);
      if (errors.length > 0) throw invalid(kind, '', errors);
      await context.validateAdmission();
      const bound = await boundObject(client, request, account);
      shorten(request, options, context);
      const claims = claimsFor(request, { account, bound, options });
      const token = await options.signer.sign(claims).catch((error: unknown) => {
        throw internalError(`failed to generate token: ${messageOf(error)}`, { cause: error });
      });
      const { jti } = claims;
      const annotation = 'authentication.kubernetes.io/issued-credential-id';
      context.request.audit?.annotate(annotation, `JTI=${jti}`);
      const expirationTimestamp = formatTime(nowMs + spec.expirationSeconds! * 1000);
      return { ...(request as TokenRequest), status: { token, expirationTimestamp } };
    },
  });
}

function checkUid({ metadata }: Draft<TokenRequest>, account: ServiceAccount): void {
  if (!metadata.uid || metadata.uid === account.metadata.uid) return;
  const mismatch = `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${account.metadata.uid})`;
  throw conflict({ group: kind.group, resource: kind.kind }, account.metadata.name ?? '', mismatch);
}

function expirationErrors(seconds: number): FieldError[] {
  const at = path('spec', 'expirationSeconds');
  return [
    ...(seconds < leastExpirationSeconds
      ? [invalidValue(at, seconds, 'may not specify a duration less than 10 minutes')]
      : []),
    ...(seconds > 2 ** 32 ? [invalidValue(at, seconds, 'may not specify a duration larger than 2^32 seconds')] : []),
  ];
}

async function boundObject(client: Client, request: Draft<TokenRequest>, account: ServiceAccount): Promise<Bound> {
  const reference = request.spec.boundObjectRef;
  if (!reference) return {};
  const { namespace, name: accountName } = account.metadata;
  const { name = '', kind: boundKind = '', apiVersion = '' } = reference;
  const { group, version } = parseApiVersion(apiVersion);
  const check = <T extends Bound>(bound: T, object: { readonly metadata: Pod['metadata'] }): T => {
    if (!reference.uid || reference.uid === object.metadata.uid) return bound;
    const mismatch = `the UID in the bound object reference (${reference.uid}) does not match the UID in record`;
    const why = `${mismatch}. The object might have been deleted and then recreated`;
    throw conflict({ group, resource: boundKind }, name, why);
  };
  if (group === '' && boundKind === 'Pod') {
    const pod = await client.get(pods, { namespace, name });
    if (pod.spec.serviceAccountName !== accountName) {
      throw badRequest(
        `cannot bind token for serviceaccount "${accountName}" to pod running with different serviceaccount name.`,
      );
    }
    const node = await nodeOf(client, pod);
    return check({ pod, ...(node ? { node } : {}) }, pod);
  }
  if (group === '' && boundKind === 'Node') {
    const node = await client.get(nodes, { name });
    return check({ node }, node);
  }
  if (group === '' && boundKind === 'Secret') {
    const secret = await client.get(secrets, { namespace, name });
    return check({ secret }, secret);
  }
  throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${boundKind}`);
}

/** A node that is gone is still named, so that whoever reads the token sees where the Pod was. */
async function nodeOf(client: Client, pod: Pod): Promise<Bound['node']> {
  const name = pod.spec.nodeName;
  if (!name) return undefined;
  try {
    return await client.get(nodes, { name });
  } catch (error) {
    if (isNotFound(error)) return { metadata: { name } };
    throw internalError(messageOf(error), { cause: error });
  }
}

function shorten(
  request: Draft<TokenRequest>,
  { maxExpirationSeconds = 0 }: TokenRequestOptions,
  context: ReviewContext,
): void {
  const asked = request.spec.expirationSeconds ?? 0;
  if (maxExpirationSeconds <= 0 || asked <= maxExpirationSeconds) return;
  context.warn(`requested expiration of ${asked} seconds shortened to ${maxExpirationSeconds} seconds`);
  request.spec.expirationSeconds = maxExpirationSeconds;
}

function claimsFor(
  { spec }: Draft<TokenRequest>,
  from: { readonly account: ServiceAccount; readonly bound: Bound; readonly options: TokenRequestOptions },
): ReturnType<typeof boundTokenClaims> {
  const { account, bound, options } = from;
  const audiences = spec.audiences ?? [];
  const asked = spec.expirationSeconds ?? 0;
  const forApi = audiences.every((audience) => options.apiAudiences.includes(audience));
  const extend = options.extendExpiration !== false && bound.pod && asked === warnOnlyExpirationSeconds && forApi;
  const reference = ({ metadata }: { readonly metadata: Pod['metadata'] }) => ({
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
  });
  const node = bound.node?.metadata;
  return boundTokenClaims(
    {
      namespace: account.metadata.namespace ?? '',
      serviceAccount: reference(account),
      audiences,
      expirationSeconds: extend ? (options.extendedExpirationSeconds ?? extendedExpirationSeconds) : asked,
      warnAfterSeconds: extend ? asked : undefined,
      pod: bound.pod && reference(bound.pod),
      secret: bound.secret && reference(bound.secret),
      node: node && { name: node.name ?? '', ...(node.uid ? { uid: node.uid } : {}) },
    },
    options,
  );
}
