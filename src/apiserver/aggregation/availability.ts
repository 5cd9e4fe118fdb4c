/**
 * Whether the servers that APIServices name can be used: looked into when anything about them changes, and every half minute, since what
 * lies between is not to be watched. The order of the checks and what is said of each are upstream's.
 */
import { semanticallyEqual } from '../../api/equality.ts';
import { type APIService, type APIServiceCondition, apiServices } from '../../api/gen/apiregistration-v1.ts';
import { services } from '../../api/gen/core-v1.ts';
import { endpointSlices } from '../../api/gen/discovery-v1.ts';
import { withCondition } from '../../apimachinery/conditions.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import { hostPort } from '../../base/host-port.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import type { RemoteServer } from './remote-server.ts';
import { isReady, type ServiceLocations, type ServicePlace } from './service-location.ts';
import { userHeaders } from './user-headers.ts';

export const availableType = 'Available';

type Verdict = Pick<APIServiceCondition, 'status' | 'reason' | 'message'>;

export interface AvailabilityOptions {
  readonly locations: ServiceLocations;
  /** Undefined where the APIService is none of a remote server by now. */
  serverOf(name: string): RemoteServer | undefined;
}

const recheckMs = 30_000;
const attempts = 5;
const attemptTimeoutMs = 5000;
/** Doubled with each failure. */
const firstRetryMs = 5;
const failedCheck = 'FailedDiscoveryCheck';

/** Runs until the context's signal is aborted. */
export async function runAvailability(context: ComponentContext, options: AvailabilityOptions): Promise<void> {
  const { client, clock, informers } = context;
  const all = informers.of(apiServices);
  const behind = (namespace: string | undefined, name: string | undefined) =>
    all
      .list()
      .filter(({ spec: { service } }) => service && service.namespace === namespace && service.name === name)
      .map(({ metadata }) => metadata.name ?? '');
  /** Checks in a row that failed. */
  const failures = new Map<string, number>();
  const controller = createController(context, {
    name: 'RemoteAvailabilityController',
    async reconcile(name, signal) {
      const service = all.get(name);
      const server = options.serverOf(name);
      if (!service || !server) return undefined;
      const verdict = await verdictOf(service, { server, locations: options.locations, clock, signal });
      await writeVerdict(client, service, { verdict, nowMs: clock.now() });
      if (verdict.reason !== failedCheck) failures.delete(name);
      else failures.set(name, (failures.get(name) ?? 0) + 1);
      return {
        againAfterMs: Math.min(recheckMs, firstRetryMs * 2 ** (failures.get(name) ?? Number.POSITIVE_INFINITY)),
      };
    },
  });
  controller.watchMapped(all, ({ metadata, spec }) => (spec.service ? [metadata.name ?? ''] : []));
  controller.watchMapped(informers.of(services), ({ metadata }) => behind(metadata.namespace, metadata.name));
  controller.watchMapped(informers.of(endpointSlices), ({ metadata }) =>
    behind(metadata.namespace, metadata.labels?.['kubernetes.io/service-name']),
  );
  await controller.run();
}

async function writeVerdict(
  client: ComponentContext['client'],
  service: APIService,
  { verdict, nowMs }: { readonly verdict: Verdict; readonly nowMs: number },
): Promise<void> {
  const before = service.status?.conditions ?? [];
  const conditions = withCondition(before, { type: availableType, ...verdict }, nowMs);
  if (semanticallyEqual(before, conditions)) return;
  await client.updateStatus(apiServices, { ...service, status: { ...service.status, conditions } });
}

interface Checking {
  readonly server: Pick<RemoteServer, 'place' | 'locate' | 'send'>;
  readonly locations: Pick<ServiceLocations, 'service' | 'slices'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The first thing that is wrong, or that all is well. */
export async function verdictOf(service: APIService, checking: Checking): Promise<Verdict> {
  const { place } = checking.server;
  const wrong = wrongInCluster(place, checking.locations);
  if (wrong) return { status: 'False', ...wrong };
  const failure = await discoveryFailure(service, checking);
  if (failure !== undefined) return { status: 'False', reason: failedCheck, message: failure };
  return { status: 'True', reason: 'Passed', message: 'all checks passed' };
}

function wrongInCluster(
  place: ServicePlace,
  locations: Pick<ServiceLocations, 'service' | 'slices'>,
): { readonly reason: string; readonly message: string } | undefined {
  const named = `service/${place.name} in ${quote(place.namespace)}`;
  const found = locations.service(place);
  if (!found) return { reason: 'ServiceNotFound', message: `${named} is not present` };
  const { type = 'ClusterIP', ports = [] } = found.spec ?? {};
  if (type !== 'ClusterIP') return undefined;
  const port = ports.find((candidate) => candidate.port === place.port);
  if (!port) return { reason: 'ServicePortError', message: `${named} is not listening on port ${place.port}` };
  const slices = locations.slices(place);
  if (slices.length === 0) {
    return { reason: 'EndpointsNotFound', message: `cannot find endpointslices for ${named}` };
  }
  const portName = port.name ?? '';
  const usable = slices.some(
    ({ endpoints, ports: slicePorts }) =>
      endpoints?.some(isReady) &&
      slicePorts?.some((candidate) => (candidate.name ?? '') === portName && candidate.port !== undefined),
  );
  if (usable) return undefined;
  return {
    reason: 'MissingEndpoints',
    message: `endpointslices for ${named} have no addresses with port name ${quote(portName)}`,
  };
}

/** Several are asked at once, since a Service may have many endpoints; one that answers is enough. */
async function discoveryFailure(service: APIService, checking: Checking): Promise<string | undefined> {
  const asked = Array.from({ length: attempts }, () => askDiscovery(service, checking));
  try {
    await Promise.any(asked);
    return undefined;
  } catch {
    const last = await asked.at(-1)?.catch((error: unknown) => error);
    return messageOf(last);
  }
}

/** The one document that a server of this group version must have. Rejects when it cannot be had. */
async function askDiscovery({ spec }: APIService, { server, clock, signal: outer }: Checking): Promise<void> {
  const { group = '', version = '' } = spec;
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const address = server.locate();
  const url = `https://${hostPort(address)}${path}`;
  const limit = new AbortController();
  const timer = clock.after(attemptTimeoutMs, () => {
    limit.abort(new Error('context deadline exceeded (Client.Timeout exceeded while awaiting headers)'));
  });
  const onAbort = () => limit.abort(outer.reason);
  outer.addEventListener('abort', onAbort, { once: true });
  try {
    const headers = userHeaders({ name: 'system:kube-aggregator', groups: ['system:masters'] });
    const answer = await server.send(address, { method: 'GET', path, headers, signal: limit.signal });
    if (answer.upgraded) {
      answer.socket.destroy();
      throw new Error('unexpected upgrade');
    }
    const { statusCode = 0 } = answer.response;
    // Read, so that the connection can be used again; a long one is not worth it.
    answer.response.on('error', () => {}).resume();
    if (statusCode >= 200 && statusCode < 300) return;
    throw new BadStatus(`bad status from ${url}: ${statusCode}`);
  } catch (error) {
    const why = error instanceof BadStatus ? error.message : `Get ${quote(url)}: ${messageOf(error)}`;
    throw new Error(`failing or missing response from ${url}: ${why}`, { cause: error });
  } finally {
    timer.cancel();
    outer.removeEventListener('abort', onAbort);
  }
}

class BadStatus extends Error {}
