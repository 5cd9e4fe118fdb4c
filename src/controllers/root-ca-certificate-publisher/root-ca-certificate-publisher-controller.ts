/**
 * Publishes the cluster's root certificate into every Namespace as ConfigMap `kube-root-ca.crt`, from which Pods learn whom to
 * trust when they talk to the API server. What users write into it is overwritten.
 */
import { configMaps, namespaces } from '../../api/gen/core-v1.ts';
import { isAlreadyExists, isNamespaceTerminating, isNotFound } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import { equalOnWire } from '../common/wire-equality.ts';

const rootCAConfigMapName = 'kube-root-ca.crt';

const annotations = {
  'kubernetes.io/description':
    'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.',
};

export interface RootCAPublisherOptions {
  /** PEM. */
  readonly rootCA: string;
}

export async function runRootCACertificatePublisherController(
  context: ComponentContext,
  options: RootCAPublisherOptions,
): Promise<void> {
  const data = { 'ca.crt': options.rootCA };
  const allNamespaces = context.informers.of(namespaces);
  const published = context.informers.of(configMaps, { fieldSelector: `metadata.name=${rootCAConfigMapName}` });
  const controller = createController(context, {
    name: 'root-ca-certificate-publisher-controller',
    queue: 'root_ca_cert_publisher',
    workers: 1,
    waitFor: [allNamespaces, published],
    async reconcile(namespace: string) {
      if (allNamespaces.get(namespace)?.status?.phase !== 'Active') return;
      const present = published.get(`${namespace}/${rootCAConfigMapName}`);
      try {
        if (!present) {
          await context.client.create(configMaps, {
            metadata: { namespace, name: rootCAConfigMapName, annotations },
            data,
          });
          return;
        }
        const described = Object.entries(annotations).every(
          ([key, value]) => present.metadata.annotations?.[key] === value,
        );
        if (described && equalOnWire(present.data, data)) return;
        const metadata = { ...present.metadata, annotations: { ...present.metadata.annotations, ...annotations } };
        await context.client.update(configMaps, { ...present, metadata, data });
      } catch (error) {
        if (!isAlreadyExists(error) && !isNamespaceTerminating(error) && !isNotFound(error)) throw error;
      }
    },
  });
  controller.watch(allNamespaces);
  controller.watchMapped(published, ({ metadata }) => [metadata.namespace ?? '']);
  await controller.run();
}
