/**
 * Signs the ConfigMap `cluster-info` in `kube-public` with every bootstrap token that may be used for it, so that a machine that
 * knows nothing but a token can tell the cluster's real certificate from a forged one (`kubeadm join`).
 */
import { type ConfigMap, configMaps, type Secret, secrets } from '../../api/gen/core-v1.ts';
import { detachedSignature } from '../../pki/detached-signature.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import { bootstrapTokenOf, bootstrapTokenType } from '../common/bootstrap-token.ts';
import { equalOnWire } from '../common/wire-equality.ts';

const namespace = 'kube-public';
const name = 'cluster-info';
export const signaturePrefix = 'jws-kubeconfig-';

export async function runBootstrapSignerController(context: ComponentContext): Promise<void> {
  const { client, clock, informers } = context;
  const infos = informers.of(configMaps, { namespace, fieldSelector: `metadata.name=${name}` });
  const tokens = informers.of(secrets, { namespace: 'kube-system', fieldSelector: `type=${bootstrapTokenType}` });
  const controller = createController(context, {
    name: 'bootstrap-signer-controller',
    queue: 'bootstrap_signer_queue',
    workers: 1,
    waitFor: [infos, tokens],
    async reconcile(key: string) {
      const info = infos.get(key);
      const data = info && planSignatures(info, tokens.list(), clock.now());
      if (info && data && !equalOnWire(data, info.data)) await client.update(configMaps, { ...info, data });
    },
  });
  controller.watch(infos);
  controller.watchMapped(tokens, () => [`${namespace}/${name}`]);
  await controller.run();
}

/** The ConfigMap's data with the signatures that it should have; undefined when there is nothing to sign. */
function planSignatures(info: ConfigMap, tokens: readonly Secret[], nowMs: number): Record<string, string> | undefined {
  const kubeconfig = info.data?.kubeconfig;
  if (kubeconfig === undefined) return undefined;
  const data = Object.fromEntries(Object.entries(info.data ?? {}).filter(([key]) => !key.startsWith(signaturePrefix)));
  for (const secret of tokens) {
    const token = bootstrapTokenOf(secret, nowMs);
    if (token?.usages.has('signing')) data[signaturePrefix + token.id] = detachedSignature(kubeconfig, token);
  }
  return data;
}
