/**
 * Ends the tokens that releases before v1.24 made for every ServiceAccount by themselves, once nobody has used them for a year: such a
 * Secret is marked invalid first, and deleted when it has been so for as long again. Tokens that somebody made on purpose stay.
 */
import { configMaps, type Pod, pods as podType, type Secret, secrets, serviceAccounts } from '../../api/gen/core-v1.ts';
import { isConflict, isNotFound, messageOf } from '../../apimachinery/status.ts';
import { sleep } from '../../base/clock.ts';
import type { ComponentContext } from '../../reconcile/component.ts';

export interface LegacyTokenCleanerOptions {
  /** `--legacy-service-account-token-clean-up-period`; default a year. */
  readonly cleanUpPeriodMs?: number | undefined;
}

const syncPeriodMs = 24 * 3600_000;
const yearMs = 365 * 24 * 3600_000;
const tracking = { namespace: 'kube-system', name: 'kube-apiserver-legacy-service-account-token-tracking' };
const lastUsedLabel = 'kubernetes.io/legacy-token-last-used';
const invalidSinceLabel = 'kubernetes.io/legacy-token-invalid-since';
const accountAnnotation = 'kubernetes.io/service-account.name';
const accountUidAnnotation = 'kubernetes.io/service-account.uid';

export async function runLegacyTokenCleanerController(
  context: ComponentContext,
  options: LegacyTokenCleanerOptions = {},
): Promise<void> {
  const { clock, informers, log, signal } = context;
  const sources = {
    secrets: informers.of(secrets),
    accounts: informers.of(serviceAccounts),
    pods: informers.of(podType),
  };
  const cleanUpPeriodMs = options.cleanUpPeriodMs ?? yearMs;
  try {
    await Promise.all(Object.values(sources).map((informer) => informer.whenSynced(signal)));
    while (!signal.aborted) {
      await clean(context, cleanUpPeriodMs).catch((error: unknown) =>
        log.error('cleaning legacy service account tokens failed', { error: messageOf(error) }),
      );
      await sleep(clock, syncPeriodMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function clean(context: ComponentContext, cleanUpPeriodMs: number): Promise<void> {
  const { client, clock, informers, log } = context;
  const nowMs = clock.now();
  const since = (await client.get(configMaps, tracking)).data?.since;
  // A day is added: the date may have been written at its very beginning or end.
  const trackedSinceMs = Date.parse(since ?? '') + 24 * 3600_000;
  if (!(nowMs >= trackedSinceMs + cleanUpPeriodMs)) return;
  for (const secret of informers.of(secrets).list()) {
    const step = stepFor(secret, {
      nowMs,
      cleanUpPeriodMs,
      isReferenced: (name) => isReferenced(context, secret, name),
      isMounted: () =>
        informers
          .of(podType)
          .list(secret.metadata.namespace)
          .some((pod) => mounts(pod, secret)),
    });
    const { namespace, name = '', uid, resourceVersion } = secret.metadata;
    try {
      if (step === 'invalidate') {
        const body = { metadata: { uid, labels: { [invalidSinceLabel]: dateOf(nowMs) } } };
        await client.patch(secrets, { namespace, name }, { type: 'merge', body });
      } else if (step === 'delete')
        await client.delete(secrets, { namespace, name }, { preconditions: { resourceVersion } });
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error))
        log.error('ending a legacy service account token failed', {
          secret: `${namespace}/${name}`,
          error: messageOf(error),
        });
    }
  }
}

export interface TokenFacts {
  readonly nowMs: number;
  readonly cleanUpPeriodMs: number;
  /** Whether the ServiceAccount of this name lists the Secret: only then it was made by itself. */
  isReferenced(account: string): boolean;
  isMounted(): boolean;
}

/** What is to become of a Secret: pure. */
function stepFor(secret: Secret, facts: TokenFacts): 'leave' | 'invalidate' | 'delete' {
  const { metadata, type } = secret;
  const { nowMs, cleanUpPeriodMs } = facts;
  const limitMs = nowMs - cleanUpPeriodMs;
  const limit = dateOf(limitMs);
  if (type !== 'kubernetes.io/service-account-token' || metadata.deletionTimestamp) return 'leave';
  if (Date.parse(metadata.creationTimestamp ?? '') >= limitMs) return 'leave';
  const lastUsed = metadata.labels?.[lastUsedLabel];
  if (lastUsed !== undefined && (!isDate(lastUsed) || lastUsed >= limit)) return 'leave';
  const account = metadata.annotations?.[accountAnnotation];
  if (!account || !facts.isReferenced(account) || facts.isMounted()) return 'leave';
  const invalidSince = metadata.labels?.[invalidSinceLabel] ?? '';
  if (!isDate(invalidSince)) return 'invalidate';
  return invalidSince >= limit ? 'leave' : 'delete';
}

function isReferenced({ informers }: ComponentContext, { metadata }: Secret, name: string): boolean {
  const account = informers.of(serviceAccounts).get(`${metadata.namespace}/${name}`);
  const uid = metadata.annotations?.[accountUidAnnotation];
  if (!account || (uid && uid !== account.metadata.uid)) return false;
  return account.secrets?.some((reference) => reference.name === metadata.name) ?? false;
}

function mounts({ spec }: Pod, { metadata }: Secret): boolean {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const names = [
    ...(spec.imagePullSecrets ?? []).map(({ name }) => name),
    ...(spec.volumes ?? []).flatMap(({ secret, projected }) => [
      secret?.secretName,
      ...(projected?.sources ?? []).map((source) => source.secret?.name),
    ]),
    ...containers.flatMap(({ env = [], envFrom = [] }) => [
      ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
      ...envFrom.map(({ secretRef }) => secretRef?.name),
    ]),
  ];
  return names.includes(metadata.name);
}

/** `2026-01-31` */
function dateOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

function isDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}
