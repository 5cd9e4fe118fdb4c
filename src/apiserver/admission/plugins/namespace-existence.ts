/** NamespaceAutoProvision creates a missing namespace on the way; NamespaceExists refuses what names one. Both are off by default. */
import { namespaces } from '../../../api/gen/core-v1.ts';
import { isAlreadyExists } from '../../../apimachinery/status.ts';
import type { AdmissionPlugin } from '../admission.ts';
import { isResource, type PluginContext } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

export function namespaceAutoProvision(context: PluginContext): AdmissionPlugin {
  const informer = context.informers.of(namespaces);
  return {
    name: 'NamespaceAutoProvision',
    handles: (operation, resource) => operation === 'CREATE' && !isResource(resource, '', 'namespaces'),
    async admit(attributes) {
      const { namespace, dryRun } = attributes;
      if (namespace === '' || dryRun || informer.get(namespace)) return;
      try {
        await context.client.create(namespaces, { metadata: { name: namespace }, spec: {} });
      } catch (error) {
        if (!isAlreadyExists(error)) throw refusal(attributes, error);
      }
    },
  };
}

export function namespaceExists(context: PluginContext): AdmissionPlugin {
  const informer = context.informers.of(namespaces);
  return {
    name: 'NamespaceExists',
    handles: (operation, resource) => operation !== 'CONNECT' && !isResource(resource, '', 'namespaces'),
    async validate({ namespace }) {
      if (namespace === '' || informer.get(namespace)) return;
      await context.client.get(namespaces, { name: namespace });
    },
  };
}
