/**
 * The names of a cluster, by the Kubernetes DNS specification (schema version 1.1.0), worked out from Services and EndpointSlices:
 *
 *     web.shop.svc.cluster.local              the Service's address, or its endpoints' when it is headless
 *     _http._tcp.web.shop.svc.cluster.local   SRV: port and target of a named port
 *     db-0.db.shop.svc.cluster.local          one endpoint of a headless Service, by its host name
 *     10-1-2-3.shop.pod.cluster.local         a Pod by its address
 *     5.0.96.10.in-addr.arpa                  PTR: the way back
 *
 * Pure: it answers from what the lookups give and knows no sockets.
 */
import { isIP } from 'node:net';
import type { Answer, RecordType } from 'dns-packet';
import type { Service } from '../api/gen/core-v1.ts';
import type { Endpoint, EndpointSlice } from '../api/gen/discovery-v1.ts';

export interface ClusterLookups {
  service(namespace: string, name: string): Service | undefined;
  namespaceExists(name: string): boolean;
  /** The slices of a Service. */
  slices(namespace: string, service: string): readonly EndpointSlice[];
  serviceByIp(ip: string): Service | undefined;
  /** Endpoints with this address, with the Service they belong to. */
  endpointsByIp(ip: string): readonly { readonly endpoint: Endpoint; readonly slice: EndpointSlice }[];
}

export type ZoneReply =
  /** Not our name: ask upstream. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'answer'; readonly answers: readonly Answer[]; readonly additionals?: readonly Answer[] }
  /** The name does not exist. A name that exists without records of this type is an answer without answers. */
  | { readonly kind: 'no-such-name' };

/** Seconds a resolver may keep an answer; the usual cluster DNS gives 5. */
export const ttlSeconds = 5;
const schemaVersion = '1.1.0';
const noSuchName: ZoneReply = { kind: 'no-such-name' };
const nothing: ZoneReply = { kind: 'answer', answers: [] };

export function resolve(
  question: { readonly name: string; readonly type: RecordType },
  domain: string,
  cluster: ClusterLookups,
): ZoneReply {
  const name = question.name.toLowerCase().replace(/\.$/, '');
  if (name.endsWith('.in-addr.arpa') || name.endsWith('.ip6.arpa'))
    return reverse(name, question.type, domain, cluster);
  if (name === domain) return nothing;
  if (!name.endsWith(`.${domain}`)) return { kind: 'foreign' };
  const labels = name.slice(0, -domain.length - 1).split('.');
  const area = labels.pop();
  if (area === 'dns-version' && labels.length === 0)
    return question.type === 'TXT'
      ? { kind: 'answer', answers: [{ type: 'TXT', name, ttl: ttlSeconds, data: schemaVersion }] }
      : nothing;
  const namespace = labels.pop();
  if (area !== 'svc' && area !== 'pod') return noSuchName;
  if (namespace === undefined) return nothing;
  if (area === 'pod') return podName(name, labels, namespace, question.type, cluster);
  const service = labels.pop();
  if (service === undefined) return cluster.namespaceExists(namespace) ? nothing : noSuchName;
  return serviceName(name, labels, cluster.service(namespace, service), question.type, domain, cluster);
}

function podName(
  name: string,
  labels: readonly string[],
  namespace: string,
  type: RecordType,
  cluster: ClusterLookups,
): ZoneReply {
  if (!cluster.namespaceExists(namespace)) return noSuchName;
  if (labels.length === 0) return nothing;
  const dashed = labels.length === 1 ? labels[0]! : '';
  const ip = /^\d+-\d+-\d+-\d+$/.test(dashed)
    ? dashed.replaceAll('-', '.')
    : dashed.includes('-')
      ? dashed.replaceAll('-', ':')
      : '';
  if (!isIP(ip)) return noSuchName;
  return { kind: 'answer', answers: addressRecords(name, [ip], type) };
}

function serviceName(
  name: string,
  labels: readonly string[],
  service: Service | undefined,
  type: RecordType,
  domain: string,
  cluster: ClusterLookups,
): ZoneReply {
  if (!service) return noSuchName;
  const { spec } = service;
  if (spec?.type === 'ExternalName')
    return labels.length > 0
      ? noSuchName
      : { kind: 'answer', answers: [{ type: 'CNAME', name, ttl: ttlSeconds, data: spec.externalName ?? '' }] };
  const backends = endpointsOf(service, cluster);
  const headless = spec?.clusterIP === 'None' || !spec?.clusterIP;
  if (labels.length === 0) {
    const ips = headless ? backends.map(({ ip }) => ip) : (spec.clusterIPs ?? [spec.clusterIP ?? '']);
    if (headless && ips.length === 0) return noSuchName;
    if (type === 'SRV') return srv(name, service, backends, domain, () => true);
    return { kind: 'answer', answers: addressRecords(name, ips, type) };
  }
  if (labels.length === 2 && labels.every((label) => label.startsWith('_'))) {
    const [port, protocol] = labels.map((label) => label.slice(1));
    const reply = srv(
      name,
      service,
      backends,
      domain,
      (candidate) => candidate.name === port && candidate.protocol.toLowerCase() === protocol,
    );
    if (reply.answers.length === 0) return noSuchName;
    return type === 'SRV' ? reply : nothing;
  }
  if (labels.length === 1 && headless) {
    const ips = backends.filter(({ host }) => host === labels[0]).map(({ ip }) => ip);
    return ips.length === 0 ? noSuchName : { kind: 'answer', answers: addressRecords(name, ips, type) };
  }
  return noSuchName;
}

interface Backend {
  readonly ip: string;
  /** Its own name below the Service: the Pod's hostname, or its address with dashes. */
  readonly host: string;
  readonly ports: readonly { readonly name: string; readonly protocol: string; readonly port: number }[];
}

function endpointsOf(service: Service, cluster: ClusterLookups): readonly Backend[] {
  const { namespace = '', name = '' } = service.metadata;
  return cluster.slices(namespace, name).flatMap((slice) =>
    (slice.endpoints ?? [])
      .filter((endpoint) => endpoint.conditions?.ready !== false)
      .flatMap((endpoint) =>
        endpoint.addresses.map((ip) => ({
          ip,
          host: hostOf(endpoint, ip),
          ports: (slice.ports ?? []).map((port) => ({
            name: port.name ?? '',
            protocol: port.protocol ?? 'TCP',
            port: port.port ?? 0,
          })),
        })),
      ),
  );
}

function hostOf(endpoint: Endpoint, ip: string): string {
  return endpoint.hostname || ip.replaceAll('.', '-').replaceAll(':', '-');
}

function srv(
  name: string,
  service: Service,
  backends: readonly Backend[],
  domain: string,
  wanted: (port: { readonly name: string; readonly protocol: string }) => boolean,
): Extract<ZoneReply, { readonly kind: 'answer' }> {
  const own = `${service.metadata.name}.${service.metadata.namespace}.svc.${domain}`;
  const answers: Answer[] = [];
  const additionals: Answer[] = [];
  const weight = 100;
  const record = (port: number, target: string, ip: string) => {
    answers.push({ type: 'SRV', name, ttl: ttlSeconds, data: { priority: 0, weight, port, target } });
    additionals.push(...addressRecords(target, [ip], ip.includes(':') ? 'AAAA' : 'A'));
  };
  if (service.spec?.clusterIP === 'None') {
    for (const { ip, host, ports } of backends)
      for (const port of ports) if (wanted(port)) record(port.port, `${host}.${own}`, ip);
  } else
    for (const port of service.spec?.ports ?? [])
      if (wanted({ name: port.name ?? '', protocol: port.protocol ?? 'TCP' }))
        record(port.port, own, service.spec?.clusterIP ?? '');
  return { kind: 'answer', answers, additionals };
}

function addressRecords(name: string, ips: readonly string[], type: RecordType): Answer[] {
  const unique = [...new Set(ips)];
  if (type === 'A')
    return unique.filter((ip) => ip && !ip.includes(':')).map((data) => ({ type, name, ttl: ttlSeconds, data }));
  if (type === 'AAAA')
    return unique.filter((ip) => ip.includes(':')).map((data) => ({ type, name, ttl: ttlSeconds, data }));
  return [];
}

function reverse(name: string, type: RecordType, domain: string, cluster: ClusterLookups): ZoneReply {
  const ip = ipOfReverse(name);
  if (ip === undefined) return { kind: 'foreign' };
  const service = cluster.serviceByIp(ip);
  const names = service
    ? [`${service.metadata.name}.${service.metadata.namespace}.svc.${domain}`]
    : cluster.endpointsByIp(ip).flatMap(({ endpoint, slice }) => {
        const owner = slice.metadata.labels?.['kubernetes.io/service-name'];
        return owner ? [`${hostOf(endpoint, ip)}.${owner}.${slice.metadata.namespace}.svc.${domain}`] : [];
      });
  if (names.length === 0) return { kind: 'foreign' };
  if (type !== 'PTR') return nothing;
  return { kind: 'answer', answers: names.map((data) => ({ type: 'PTR', name, ttl: ttlSeconds, data })) };
}

/** `5.0.96.10.in-addr.arpa` is 10.96.0.5; 32 nibbles under ip6.arpa are an IPv6 address in its canonical text. */
function ipOfReverse(name: string): string | undefined {
  if (name.endsWith('.in-addr.arpa')) {
    const ip = name.slice(0, -'.in-addr.arpa'.length).split('.').reverse().join('.');
    return isIP(ip) ? ip : undefined;
  }
  const nibbles = name.slice(0, -'.ip6.arpa'.length).split('.').reverse();
  if (nibbles.length !== 32 || !nibbles.every((nibble) => /^[0-9a-f]$/.test(nibble))) return undefined;
  const groups = Array.from({ length: 8 }, (_, i) =>
    nibbles
      .slice(4 * i, 4 * i + 4)
      .join('')
      .replace(/^0{1,3}/, ''),
  );
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
