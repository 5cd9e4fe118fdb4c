/**
 * Fills Secrets of type `kubernetes.io/service-account-token` that users make for a ServiceAccount with a token that never expires,
 * and deletes them with their account. Pods do not use these: they get bound, expiring tokens.
 */
import { type Secret, type ServiceAccount, secrets, serviceAccounts } from '../../api/gen/core-v1.ts';
import { isConflict, isNotFound } from '../../apimachinery/status.ts';
import type { LegacyTokenOptions } from '../../pki/service-account-token.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';

const serviceAccountTokenType = 'kubernetes.io/service-account-token';
const nameAnnotation = 'kubernetes.io/service-account.name';
const uidAnnotation = 'kubernetes.io/service-account.uid';

export interface ServiceAccountTokenControllerOptions {
  readonly workers?: number | undefined;
  /** Signs a token for the account; the API server must know the key. */
  issueToken(of: LegacyTokenOptions): Promise<string>;
  /** PEM, given to clients with the token; left out when absent. */
  readonly rootCA?: string | undefined;
}

export async function runServiceAccountTokenController(
  context: ComponentContext,
  options: ServiceAccountTokenControllerOptions,
): Promise<void> {
  const { client, informers } = context;
  const accounts = informers.of(serviceAccounts);
  const tokens = informers.of(secrets, { fieldSelector: `type=${serviceAccountTokenType}` });
  tokens.addIndex('serviceaccount-token/account', (secret) => [accountKey(secret)]);

  const controller = createController(context, {
    name: 'serviceaccount-token-controller',
    queue: 'serviceaccount_tokens_service',
    workers: options.workers ?? 5,
    maxRetries: 10,
    waitFor: [accounts, tokens],
    async reconcile(key: string) {
      const secret = tokens.get(key);
      if (!secret || secret.metadata.deletionTimestamp) return;
      const account = accounts.get(accountKey(secret)) ?? (await liveAccount(secret));
      if (!account || !belongsTo(secret, account)) {
        await remove(secret);
        return;
      }
      const filled = await planToken(secret, account, options);
      if (filled) await client.update(secrets, filled);
    },
  });

  /** The account may be too new for the informer: only the server can say that it does not exist. */
  async function liveAccount(secret: Secret): Promise<ServiceAccount | undefined> {
    const name = secret.metadata.annotations?.[nameAnnotation];
    if (!name) return undefined;
    try {
      return await client.get(serviceAccounts, { namespace: secret.metadata.namespace, name });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async function remove({ metadata }: Secret): Promise<void> {
    const { namespace, name = '', uid, resourceVersion } = metadata;
    try {
      await client.delete(secrets, { namespace, name }, { preconditions: { uid, resourceVersion } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  controller.watch(tokens);
  controller.watchMapped(accounts, ({ metadata }) =>
    tokens
      .byIndex('serviceaccount-token/account', `${metadata.namespace}/${metadata.name}`)
      .map((secret) => `${secret.metadata.namespace}/${secret.metadata.name}`),
  );
  await controller.run();
}

function accountKey({ metadata }: Secret): string {
  return `${metadata.namespace}/${metadata.annotations?.[nameAnnotation] ?? ''}`;
}

/** A Secret that names a uid belongs to that very account, not to a later one of the same name. */
function belongsTo(secret: Secret, account: ServiceAccount): boolean {
  const uid = secret.metadata.annotations?.[uidAnnotation];
  return !uid || uid === account.metadata.uid;
}

/** The Secret with all that it lacks, or undefined when it is complete. */
async function planToken(
  secret: Secret,
  account: ServiceAccount,
  options: ServiceAccountTokenControllerOptions,
): Promise<Secret | undefined> {
  const { namespace = '', name = '' } = secret.metadata;
  const data = { ...secret.data };
  const serviceAccount = { name: account.metadata.name ?? '', uid: account.metadata.uid ?? '' };
  const encode = (text: string) => Buffer.from(text).toString('base64');
  if (options.rootCA !== undefined) data['ca.crt'] = encode(options.rootCA);
  data.namespace = encode(namespace);
  if (!data.token) data.token = encode(await options.issueToken({ namespace, serviceAccount, secretName: name }));
  const annotations = {
    ...secret.metadata.annotations,
    [nameAnnotation]: account.metadata.name ?? '',
    [uidAnnotation]: account.metadata.uid ?? '',
  };
  const complete =
    Object.entries(data).every(([key, value]) => secret.data?.[key] === value) &&
    secret.metadata.annotations?.[uidAnnotation] === account.metadata.uid;
  return complete ? undefined : { ...secret, metadata: { ...secret.metadata, annotations }, data };
}
