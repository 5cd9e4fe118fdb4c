/**
 * Servers behind this one: APIServices tell which group versions they serve, and requests for those are handed on. While no APIService
 * names a Service, all there is is the list of what this server serves itself, and requests cost nothing more.
 */
import { type APIService, apiServices } from '../../api/gen/apiregistration-v1.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import type { AggregationOptions } from './aggregation-options.ts';
import { runAutoregistration } from './autoregistration.ts';

/** Runs until the context's signal is aborted. The context's client passes every check. */
export async function runAggregation(context: ComponentContext, options: AggregationOptions): Promise<void> {
  const { informers } = context;
  const services = informers.of(apiServices);
  let remote: Promise<void> | undefined;
  const startRemote = async () => {
    const { runRemoteApis } = await import('./aggregator.ts');
    await runRemoteApis(context, options);
  };
  const look = ({ spec }: APIService) => {
    if (!spec.service || remote) return;
    remote = startRemote().catch((error: unknown) => {
      if (!context.signal.aborted) context.log.error('remote APIs are not served', { error: String(error) });
    });
  };
  services.onChange({ added: look, updated: look });
  await runAutoregistration(context, options.resources);
  await remote;
}
