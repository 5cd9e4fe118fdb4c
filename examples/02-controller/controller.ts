/**
 * A controller in one screen: every ConfigMap labelled `example.com/shared=true` in namespace `shared` is kept as a copy in each
 * namespace labelled `example.com/wants-shared=true`. Copies that somebody changes are put right, those no longer wanted deleted.
 *
 *     kubectl label namespace team-a example.com/wants-shared=true
 *     kubectl -n shared create configmap settings --from-literal=colour=blue
 *     kubectl -n shared label configmap settings example.com/shared=true
 *     node examples/02-controller/main.ts --kubeconfig ~/.kube/config
 */
import { type ConfigMap, configMaps, namespaces } from 'coracle/api/core-v1';
import { keyOf, splitKey } from 'coracle/client';
import { type ComponentContext, createController, type Informer } from 'coracle/reconcile';

const home = 'shared';
const sharedLabel = 'example.com/shared';
const copyLabel = 'example.com/copied-by';
const wantsSelector = 'example.com/wants-shared=true';

export async function runCopyController(context: ComponentContext): Promise<void> {
  const { client, informers } = context;
  const targets = informers.of(namespaces, { labelSelector: wantsSelector });
  const originals = informers.of(configMaps, { namespace: home, labelSelector: `${sharedLabel}=true` });
  const copies = informers.of(configMaps, { labelSelector: `${copyLabel}=example` });

  /** The key is that of a copy: `team-a/settings`. */
  async function reconcile(key: string): Promise<void> {
    const { namespace, name } = splitKey(key);
    const original = originals.get(`${home}/${name}`);
    const copy = copies.get(key);
    const wanted = original !== undefined && targets.get(namespace) !== undefined && namespace !== home;
    if (!wanted) {
      if (copy) await client.delete(configMaps, { namespace, name }, { preconditions: { uid: copy.metadata.uid } });
    } else if (!copy) {
      await client.create(configMaps, {
        metadata: { namespace, name, labels: { [copyLabel]: 'example' } },
        ...content(original),
      });
    } else if (JSON.stringify(content(copy)) !== JSON.stringify(content(original))) {
      await client.update(configMaps, { ...copy, ...content(original) });
    }
  }

  const controller = createController(context, { name: 'copy-controller', reconcile });
  controller.watch(copies);
  controller.watchMapped(originals, ({ metadata }) =>
    targets.list().map((target) => `${keyOf(target)}/${metadata.name}`),
  );
  controller.watchMapped(targets, ({ metadata }) => [
    ...names(originals).map((name) => `${metadata.name}/${name}`),
    ...copies.list(metadata.name).map(keyOf),
  ]);
  await controller.run();
}

const content = ({ data, binaryData }: ConfigMap) => ({ data, binaryData });
const names = (informer: Informer<ConfigMap>) => informer.list().map(({ metadata }) => metadata.name);
