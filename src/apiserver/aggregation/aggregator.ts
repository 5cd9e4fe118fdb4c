/** What begins with the first remote APIService: the way to its server, looking after it, and telling clients what it serves. */
import { apiServices } from '../../api/gen/apiregistration-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { tcpDial } from '../../serving/dial.ts';
import type { AggregationOptions } from './aggregation-options.ts';
import { runAvailability } from './availability.ts';
import { RemoteDiscovery } from './remote-discovery.ts';
import { RemoteDescriptions } from './remote-openapi.ts';
import { RemoteRegistry } from './remote-registry.ts';
import type { ProxyCredentials } from './remote-server.ts';
import { ServiceLocations } from './service-location.ts';

const credentialsForMs = 60_000;

/** Runs until the context's signal is aborted. */
export async function runRemoteApis(context: ComponentContext, options: AggregationOptions): Promise<void> {
  const { clock, random, informers } = context;
  const locations = new ServiceLocations(informers, { routing: options.routing ?? 'cluster', random });
  const { dial = tcpDial({ clock }), rejectRedirects, resources } = options;
  const credentials = options.credentials && remembered(options.credentials, clock);
  const registry = new RemoteRegistry({ locations, dial, credentials, clock, rejectRedirects });
  const discovery = new RemoteDiscovery(context, { registry, resources });
  const descriptions = new RemoteDescriptions(context, registry);
  const services = informers.of(apiServices);
  const update = () => {
    registry.update(services.list());
    discovery.update(services.list());
    descriptions.update(services.list());
  };
  services.onChange({ added: update, updated: update, deleted: update });
  update();
  options.useRemoteApis({
    handler: (path) => registry.handler(path),
    get discovered() {
      return discovery.discovered;
    },
    get openApi() {
      return descriptions.openApi;
    },
  });
  const serverOf = (name: string) => registry.named(name)?.server;
  try {
    await Promise.all([runAvailability(context, { locations, serverOf }), discovery.run(), descriptions.run()]);
  } finally {
    registry.close();
  }
}

/** Reading and checking certificates for each request would cost more than the request. */
function remembered(credentials: ProxyCredentials, clock: Clock): ProxyCredentials {
  let last: { readonly value: ReturnType<ProxyCredentials>; readonly atMs: number } | undefined;
  return () => {
    const nowMs = clock.monotonic();
    if (!last || nowMs - last.atMs >= credentialsForMs) last = { value: credentials(), atMs: nowMs };
    return last.value;
  };
}
