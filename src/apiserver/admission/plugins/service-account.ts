/**
 * ServiceAccount: every Pod runs as a service account that exists, `default` unless it says otherwise, and gets that account's token,
 * the cluster's root certificate and its namespace mounted, and the account's pull secrets.
 */
import { isMirrorPod } from '../../../api/core/v1/mirror-pod.ts';
import { type Container, type Pod, type ServiceAccount, serviceAccounts } from '../../../api/gen/core-v1.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { isNotFound, notFound } from '../../../apimachinery/status.ts';
import { sleep } from '../../../base/clock.ts';
import { once } from '../../../base/once.ts';
import { randomSuffix } from '../../../base/random.ts';
import { secretNames } from '../../authorization/pod-references.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { isResource, type PluginContext } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';
import { mountableSecretsProblem } from './mountable-secrets.ts';

const defaultAccount = 'default';
const tokenMountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
const tokenVolumePrefix = 'kube-api-access-';
/** An hour and seven seconds: the odd number marks a token that was not asked for by hand, whose use past its time only warns. */
const tokenExpirationSeconds = 3607;
/** A controller makes the default account soon after its namespace, so a missing one is asked for again. */
const defaultAccountAttempts = 10;

export function serviceAccount(context: PluginContext): AdmissionPlugin {
  const informer = context.informers.of(serviceAccounts);
  // Upstream draws a name for each Pod. It need be told only from those of other volumes, and Pods of one making stay alike (`registry/makings.ts`).
  const tokenVolume = once(() => `${tokenVolumePrefix}${randomSuffix(context.random)}`);
  return {
    name: 'ServiceAccount',
    handles: (operation, resource, subresource) =>
      isResource(resource, '', 'pods') &&
      ((operation === 'CREATE' && subresource === '') ||
        (operation === 'UPDATE' && subresource === 'ephemeralcontainers')),
    admit(attributes) {
      if (attributes.operation !== 'CREATE') return undefined;
      const pod = attributes.object as Draft<Pod>;
      // The kubelet deletes a mirror Pod that differs from its manifest.
      if (isMirrorPod(pod as Pod)) return checkMirrorPod(attributes, pod as Pod);
      // The deprecated field of the same meaning is kept equal, as upstream's conversion does.
      pod.spec.serviceAccountName ||= pod.spec.serviceAccount || defaultAccount;
      pod.spec.serviceAccount = pod.spec.serviceAccountName;
      const known = informer.get(`${attributes.namespace}/${pod.spec.serviceAccountName}`);
      if (known) return applyAccount(known, pod);
      return lookUp(attributes, pod.spec.serviceAccountName).then((account) => applyAccount(account, pod));
    },
    async validate(attributes) {
      const pod = attributes.object as Pod;
      if (attributes.operation === 'CREATE' && isMirrorPod(pod)) return checkMirrorPod(attributes, pod);
      const name = pod.spec.serviceAccountName;
      if (!name) {
        throw refusal(
          attributes,
          `no service account specified for pod ${attributes.namespace}/${pod.metadata.name ?? ''}`,
        );
      }
      const account = informer.get(`${attributes.namespace}/${name}`) ?? (await lookUp(attributes, name));
      const ephemeralOnly = attributes.operation === 'UPDATE';
      const problem = mountableSecretsProblem(account, pod, { ephemeralOnly });
      if (problem !== undefined) throw refusal(attributes, problem);
    },
  };

  function applyAccount(account: ServiceAccount, pod: Draft<Pod>): void {
    const automount = pod.spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
    if (automount) mountToken(pod, tokenVolume);
    if (!pod.spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
      pod.spec.imagePullSecrets = account.imagePullSecrets.map(({ name }) => ({ name }));
    }
  }

  async function lookUp(attributes: AdmissionAttributes, name: string): Promise<ServiceAccount> {
    const { namespace } = attributes;
    const attempts = name === defaultAccount ? defaultAccountAttempts : 1;
    const pauseMs = 100 + context.random.next() * 100;
    try {
      for (let attempt = 0; attempt < attempts; attempt++) {
        if (attempt > 0) await sleep(context.clock, pauseMs);
        const found = await context.client.get(serviceAccounts, { namespace, name }).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
        if (found) return found;
      }
      throw notFound({ group: '', resource: 'serviceaccount' }, name);
    } catch (error) {
      throw refusal(attributes, `error looking up service account ${namespace}/${name}: ${(error as Error).message}`);
    }
  }
}

/** The node wrote it; it must not gain anything from the API by it. */
function checkMirrorPod(attributes: AdmissionAttributes, pod: Pod): void {
  if (pod.spec.serviceAccountName) throw refusal(attributes, 'a mirror pod may not reference service accounts');
  if (secretNames(pod).size > 0) throw refusal(attributes, 'a mirror pod may not reference secrets');
  const projections = (pod.spec.volumes ?? []).flatMap((volume) => volume.projected?.sources ?? []);
  if (projections.some((source) => source.serviceAccountToken)) {
    throw refusal(attributes, 'a mirror pod may not use ServiceAccountToken volume projections');
  }
}

/** Adds the token volume to every container that does not mount something of its own there. */
function mountToken(pod: Draft<Pod>, newName: () => string): void {
  const containers: Draft<Container>[] = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const without = containers.filter(
    (container) => !container.volumeMounts?.some((mount) => mount.mountPath === tokenMountPath),
  );
  if (without.length === 0) return;
  const existing = pod.spec.volumes?.find((volume) => volume.name.startsWith(tokenVolumePrefix));
  const name = existing?.name ?? newName();
  for (const container of without) {
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath: tokenMountPath }];
  }
  if (existing) return;
  const sources = [
    { serviceAccountToken: { expirationSeconds: tokenExpirationSeconds, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    {
      downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] },
    },
  ];
  pod.spec.volumes = [...(pod.spec.volumes ?? []), { name, projected: { sources, defaultMode: 0o644 } }];
}
