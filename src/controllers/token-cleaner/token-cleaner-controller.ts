/** Deletes bootstrap tokens when they have ended. */
import { secrets } from '../../api/gen/core-v1.ts';
import { isConflict, isNotFound } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import { bootstrapTokenType, millisecondsLeft } from '../common/bootstrap-token.ts';

export async function runTokenCleanerController(context: ComponentContext): Promise<void> {
  const { client, clock, informers } = context;
  const tokens = informers.of(secrets, { namespace: 'kube-system', fieldSelector: `type=${bootstrapTokenType}` });
  const controller = createController(context, {
    name: 'token-cleaner-controller',
    queue: 'token_cleaner',
    workers: 1,
    waitFor: [tokens],
    async reconcile(key: string): Promise<ReconcileResult | undefined> {
      const secret = tokens.get(key);
      const leftMs = secret && millisecondsLeft(secret, clock.now());
      if (!secret || leftMs === undefined) return undefined;
      if (leftMs > 0) return { againAfterMs: leftMs };
      const { namespace, name = '', uid } = secret.metadata;
      try {
        await client.delete(secrets, { namespace, name }, { preconditions: { uid } });
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
      return undefined;
    },
  });
  controller.watch(tokens);
  await controller.run();
}
