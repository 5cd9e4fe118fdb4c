/**
 * Where a proxied request goes: `[scheme:]name[:port]` of a node, Pod or Service, looked up in the cluster. A node's kubelet is spoken to
 * with the API server's credentials; everything else gets none, and its certificate is not verified, as documented.
 */
import { type Pod, pods, services } from '../../api/gen/core-v1.ts';
import { type EndpointSlice, endpointSlices } from '../../api/gen/discovery-v1.ts';
import { parseIp } from '../../apimachinery/addresses.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { badRequest, isNotFound, messageOf, notFound, serviceUnavailable } from '../../apimachinery/status.ts';
import { hostPort } from '../../base/host-port.ts';
import type { TargetTls } from '../../serving/upgrade.ts';
import type { RequestInfo } from '../request.ts';
import type { NodeProxyContext } from './context.ts';

export interface ProxyLocation {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  readonly tls: TargetTls;
}

export type FindLocation = (
  context: NodeProxyContext,
  info: RequestInfo,
  signal: AbortSignal,
) => Promise<ProxyLocation>;

interface SchemeNamePort {
  readonly scheme: '' | 'http' | 'https';
  readonly name: string;
  readonly port: string;
}

/** `name`, `name:port` or `scheme:name:port`; undefined when it is none of them. */
function splitSchemeNamePort(id: string): SchemeNamePort | undefined {
  const parts = id.split(':');
  if (parts.length > 3) return undefined;
  const [scheme, name, port] = parts.length === 3 ? parts : ['', ...parts];
  if (scheme !== '' && scheme !== 'http' && scheme !== 'https') return undefined;
  return name ? { scheme, name, port: port ?? '' } : undefined;
}

const strangers: TargetTls = { verify: false };

/** `nodes/NAME/proxy`. */
export const nodeLocation: FindLocation = async ({ kubelets, lookup }, info, signal) => {
  const id = splitSchemeNamePort(info.name);
  if (!id) throw badRequest(`invalid node request ${quote(info.name)}`);
  const kubelet = await kubelets.of(id.name, signal);
  await checkHost(kubelet.host, lookup);
  if (id.port === '' || id.port === String(kubelet.port)) {
    return { scheme: 'https', host: kubelet.host, port: kubelet.port, tls: kubelet.tls };
  }
  const port = portNumber(id.port, `invalid node request ${quote(info.name)}`);
  return { scheme: id.scheme || 'http', host: kubelet.host, port, tls: strangers };
};

/** A Node must not lead requests to the API server's own machine. */
async function checkHost(host: string, lookup: NodeProxyContext['lookup']): Promise<void> {
  const addresses = parseIp(host)
    ? [host]
    : await lookup(host).catch((error: unknown) => {
        throw badRequest(messageOf(error));
      });
  if (addresses.length === 0) throw badRequest('no addresses for hostname');
  if (!addresses.every(isGlobalUnicast)) throw badRequest('address not allowed');
}

/** `pods/NAME/proxy`. Without a port the first one that a container names. */
export const podLocation: FindLocation = async ({ client }, info, signal) => {
  const id = splitSchemeNamePort(info.name);
  if (!id) throw badRequest(`invalid pod request ${quote(info.name)}`);
  const pod = await client.get(pods, { namespace: info.namespace, name: id.name }, { signal });
  const declared = pod.spec.containers.find((container) => container.ports?.length)?.ports?.[0]?.containerPort;
  const host = pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? '';
  if (!isGlobalUnicast(host)) throw badRequest('address not allowed');
  const scheme = id.scheme || 'http';
  const fallback = declared ?? (scheme === 'https' ? 443 : 80);
  const port = id.port === '' ? fallback : portNumber(id.port, `invalid pod request ${quote(info.name)}`);
  return { scheme, host, port, tls: strangers };
};

/** `services/NAME/proxy`: one of the ready Pods behind it, by chance. */
export const serviceLocation: FindLocation = async (context, info, signal) => {
  const { client, random } = context;
  const id = splitSchemeNamePort(info.name);
  if (!id) throw badRequest(`invalid service request ${quote(info.name)}`);
  const { namespace } = info;
  let portName = id.port;
  if (/^[+-]?\d+$/.test(id.port)) {
    const service = await client.get(services, { namespace, name: id.name }, { signal });
    const found = service.spec?.ports?.find(({ port }) => port === Number(id.port));
    if (!found) {
      throw serviceUnavailable(`no service port ${Number(id.port)} found for service ${quote(id.name)}`);
    }
    portName = found.name ?? '';
  }
  const labelSelector = `kubernetes.io/service-name=${id.name}`;
  const { items } = await client.list(endpointSlices, { namespace, labelSelector, signal });
  if (items.length === 0) await checkService(context, { namespace, name: id.name }, signal);
  const candidates = items.flatMap((slice) => readyAddresses(slice, { portName, namespace }));
  while (candidates.length > 0) {
    const [candidate] = candidates.splice(Math.floor(random.next() * candidates.length), 1);
    const { podName, address, port } = candidate!;
    const pod = await client.get(pods, { namespace, name: podName }, { signal }).catch(unlessMissing);
    if (pod && hasAddress(pod, address)) return { scheme: id.scheme || 'http', host: address, port, tls: strangers };
  }
  const about = items.some((slice) => slice.endpoints?.length) ? info.name : id.name;
  throw serviceUnavailable(`no endpoints available for service ${quote(about)}`);
};

/** Upstream looks for the Endpoints of the Service's name, and says so when there are none. */
async function checkService(
  { client }: NodeProxyContext,
  ref: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<void> {
  const service = await client.get(services, ref, { signal }).catch(unlessMissing);
  if (!service) throw notFound({ group: '', resource: 'services' }, ref.name);
}

/** Requests go to Pods alone: an address that somebody wrote by hand could lead anywhere. */
function readyAddresses(slice: EndpointSlice, want: { readonly portName: string; readonly namespace: string }) {
  const port = slice.ports?.find((candidate) => (candidate.name ?? '') === want.portName)?.port;
  if (port === undefined || slice.addressType === 'FQDN') return [];
  return (slice.endpoints ?? []).flatMap(({ addresses, conditions, targetRef }) => {
    const isPod = targetRef?.kind === 'Pod' && targetRef.namespace === want.namespace && targetRef.name;
    if (conditions?.ready === false || !isPod) return [];
    return addresses.map((address) => ({ podName: isPod, address, port }));
  });
}

function hasAddress({ status }: Pod, address: string): boolean {
  return status?.podIPs?.some(({ ip }) => ip === address) ?? status?.podIP === address;
}

function unlessMissing(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
  return undefined;
}

function portNumber(text: string, otherwise: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) throw badRequest(otherwise);
  return port;
}

/** As Go has it: no loopback, link-local, multicast, broadcast or unspecified address; private ones count. */
export function isGlobalUnicast(text: string): boolean {
  const ip = parseIp(text);
  if (!ip) return false;
  if (ip.family === 4) {
    const first = Number(ip.value >> 24n);
    const linkLocal = ip.value >> 16n === 0xa9fen;
    return ip.value !== 0n && first !== 127 && !linkLocal && first < 224;
  }
  const linkLocal = ip.value >> 118n === 0x3fan;
  return ip.value > 1n && !linkLocal && ip.value >> 120n !== 0xffn;
}

/** For messages and redirects: always with its port. */
export function locationHost(location: ProxyLocation): string {
  return hostPort(location);
}
