/**
 * Sees to it that every live Namespace has its `default` ServiceAccount, without which no Pod could be made in it.
 */
import { namespaces, serviceAccounts } from '../../api/gen/core-v1.ts';
import { isAlreadyExists, isNamespaceTerminating, isNotFound } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';

export interface ServiceAccountControllerOptions {
  /** Names that every Namespace has; default: `default`. */
  readonly names?: readonly string[] | undefined;
}

export async function runServiceAccountController(
  context: ComponentContext,
  options: ServiceAccountControllerOptions = {},
): Promise<void> {
  const names = options.names ?? ['default'];
  const allNamespaces = context.informers.of(namespaces);
  const accounts = context.informers.of(serviceAccounts);
  const controller = createController(context, {
    name: 'serviceaccount-controller',
    queue: 'serviceaccount',
    workers: 1,
    waitFor: [allNamespaces, accounts],
    async reconcile(key: string) {
      if (allNamespaces.get(key)?.status?.phase !== 'Active') return;
      for (const name of names) {
        if (accounts.get(`${key}/${name}`)) continue;
        try {
          await context.client.create(serviceAccounts, { metadata: { namespace: key, name } });
        } catch (error) {
          // Somebody else made it, or the Namespace is going away: either way there is nothing left to do.
          if (!isAlreadyExists(error) && !isNamespaceTerminating(error) && !isNotFound(error)) throw error;
        }
      }
    },
  });
  controller.watch(allNamespaces);
  accounts.onChange({
    deleted: ({ metadata }) => {
      if (names.includes(metadata.name ?? '')) controller.enqueue(metadata.namespace ?? '');
    },
  });
  await controller.run();
}
