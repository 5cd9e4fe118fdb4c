/** What both sorts of webhooks need, put together when the first webhook is configured. */
import { onFirstCall } from '../../../base/lazy-module.ts';
import { WebhookClients } from '../../webhook-client/webhook-clients.ts';
import type { AdmissionAttributes, AdmissionRound } from '../admission.ts';
import { Namespaces } from '../matching/selectors.ts';
import type { PluginContext } from '../plugin-context.ts';
import type { Dispatch, DispatchContext } from './dispatch-context.ts';
import type { HookConditions } from './hook-conditions.ts';
import { HookSource, type WebhookType } from './hooks.ts';
import { mutate } from './mutating.ts';
import { validate } from './validating.ts';

const dispatches: Readonly<Record<WebhookType, Dispatch>> = { admit: mutate, validating: validate };

export function createDispatcher(
  type: WebhookType,
  informer: ConstructorParameters<typeof HookSource>[1],
  { client, informers, clock, random, log, signal, authorizer, meter = () => undefined }: PluginContext,
): (attributes: AdmissionAttributes, round?: AdmissionRound) => Promise<void> {
  const source = new HookSource(type, informer);
  const clients = new WebhookClients({ clock, client });
  signal?.addEventListener('abort', () => clients.close(), { once: true });
  const namespaces = new Namespaces({ client, informers });
  const conditions: HookConditions = onFirstCall(async () =>
    (await import('./hook-conditions.ts')).hookConditions(authorizer, meter),
  );
  const context: DispatchContext = { clients, random, log, meter, namespaces, conditions };
  return (attributes, round) => dispatches[type](context, source.hooks(), attributes, round);
}
