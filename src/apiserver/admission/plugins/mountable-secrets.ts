/**
 * An account annotated `kubernetes.io/enforce-mountable-secrets: "true"` lets its Pods use only the Secrets and pull secrets that
 * the account itself lists.
 */
import type { Container, EphemeralContainer, Pod, ServiceAccount } from '../../../api/gen/core-v1.ts';

const annotation = 'kubernetes.io/enforce-mountable-secrets';
/** What Go's ParseBool takes for true. */
const trueTexts: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);

/** The first use of a Secret that the account does not list, in upstream's words. */
export function mountableSecretsProblem(
  account: ServiceAccount,
  pod: Pod,
  options: { readonly ephemeralOnly: boolean },
): string | undefined {
  if (!trueTexts.has(account.metadata.annotations?.[annotation] ?? '')) return undefined;
  const listed = new Set((account.secrets ?? []).map((reference) => reference.name ?? ''));
  const because = `because service account ${account.metadata.name} does not reference that`;
  const ofContainers = (containers: readonly (Container | EphemeralContainer)[] | undefined, title: string) =>
    (containers ?? []).map((container) => containerProblem(container, title, listed, because)).find(Boolean);
  if (options.ephemeralOnly) return ofContainers(pod.spec.ephemeralContainers, 'ephemeral container');

  const volume = pod.spec.volumes?.find(({ secret }) => secret && !listed.has(secret.secretName ?? ''));
  if (volume)
    return `volume with secret.secretName="${volume.secret?.secretName ?? ''}" is not allowed ${because} secret`;
  const inContainers =
    ofContainers(pod.spec.initContainers, 'init container') ?? ofContainers(pod.spec.containers, 'container');
  if (inContainers) return inContainers;

  const pullSecrets = new Set((account.imagePullSecrets ?? []).map((reference) => reference.name));
  const foreign = (pod.spec.imagePullSecrets ?? []).findIndex((reference) => !pullSecrets.has(reference.name));
  if (foreign < 0) return undefined;
  const name = pod.spec.imagePullSecrets?.[foreign]?.name ?? '';
  return `imagePullSecrets[${foreign}].name="${name}" is not allowed ${because} imagePullSecret`;
}

function containerProblem(
  container: Container | EphemeralContainer,
  title: string,
  listed: ReadonlySet<string>,
  because: string,
): string | undefined {
  for (const { name, valueFrom } of container.env ?? []) {
    const secret = valueFrom?.secretKeyRef?.name ?? '';
    if (!valueFrom?.secretKeyRef || listed.has(secret)) continue;
    return `${title} ${container.name} with envVar ${name} referencing secret.secretName="${secret}" is not allowed ${because} secret`;
  }
  for (const { secretRef } of container.envFrom ?? []) {
    if (!secretRef || listed.has(secretRef.name ?? '')) continue;
    return `${title} ${container.name} with envFrom referencing secret.secretName="${secretRef.name ?? ''}" is not allowed ${because} secret`;
  }
  return undefined;
}
