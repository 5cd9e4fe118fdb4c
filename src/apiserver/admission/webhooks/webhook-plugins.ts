/**
 * MutatingAdmissionWebhook and ValidatingAdmissionWebhook as the chain sees them: two informers that hold nothing in most clusters. The code
 * that calls webhooks is loaded when the first one is configured; until then a request costs a look at an empty list.
 */
import {
  type MutatingWebhookConfiguration,
  mutatingWebhookConfigurations,
  type ValidatingWebhookConfiguration,
  validatingWebhookConfigurations,
} from '../../../api/gen/admissionregistration-v1.ts';
import { namespaces } from '../../../api/gen/core-v1.ts';
import type { ResourceType } from '../../../apimachinery/resource.ts';
import { onFirstCall } from '../../../base/lazy-module.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionRound } from '../admission.ts';
import { isConfiguration } from '../configuration-resources.ts';
import { type PluginContext, whenReady } from '../plugin-context.ts';

export function mutatingAdmissionWebhook(context: PluginContext): AdmissionPlugin {
  const dispatch = dispatcher(context, 'admit', mutatingWebhookConfigurations);
  return { name: 'MutatingAdmissionWebhook', handles, replacesParts: true, admit: dispatch };
}

export function validatingAdmissionWebhook(context: PluginContext): AdmissionPlugin {
  const dispatch = dispatcher(context, 'validating', validatingWebhookConfigurations);
  return { name: 'ValidatingAdmissionWebhook', handles, validate: (attributes) => dispatch(attributes) };
}

/** What says which webhooks there are is never sent to them: a broken one could not be removed. */
const handles: AdmissionPlugin['handles'] = (_operation, resource) => !isConfiguration(resource);

type Dispatch = (attributes: AdmissionAttributes, round?: AdmissionRound) => Promise<void>;

function dispatcher(
  context: PluginContext,
  type: 'admit' | 'validating',
  configurations: ResourceType<MutatingWebhookConfiguration> | ResourceType<ValidatingWebhookConfiguration>,
): (attributes: AdmissionAttributes, round?: AdmissionRound) => Promise<void> | undefined {
  const informer = context.informers.of<MutatingWebhookConfiguration | ValidatingWebhookConfiguration>(configurations);
  const known = context.informers.of(namespaces);
  const call: Dispatch = onFirstCall(async () =>
    (await import('./dispatch.ts')).createDispatcher(type, informer, context),
  );
  const run: Dispatch = async (attributes, round) => {
    await whenReady(context, informer, attributes);
    if (informer.list().length === 0) return;
    await whenReady(context, known, attributes);
    await call(attributes, round);
  };
  return (attributes, round) => (informer.synced && informer.list().length === 0 ? undefined : run(attributes, round));
}
