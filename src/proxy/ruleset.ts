/**
 * Services as nftables: one table of our own per address family. Packets find their Service by a look-up in a map, so the time for
 * the first packet does not grow with the number of Services.
 *
 *     nat-prerouting, nat-output -> services -> map service-ips: (address, protocol, port) -> chain of the service
 *                                            -> map service-nodeports: (protocol, port)    -> chain for traffic from outside
 *     service chain -> one endpoint at random (or the client's own, with affinity) -> endpoint chain: destination is rewritten
 *     filter-input, -forward, -output (new connections) -> map no-endpoint-services -> reject or drop
 *     nat-postrouting -> masquerading: marked packets leave with the node's own address
 *
 * `desiredRuleset` says what must stand; `transactionTo` says which commands lead there from what stands now.
 */
import { createHash } from 'node:crypto';
import type { Endpoint, IpFamily, ServicePort } from './service-ports.ts';

/** An nftables expression or command in libnftables' JSON. */
export type NftJson = Readonly<Record<string, unknown>>;

export interface Ruleset {
  /** Rules of each chain that comes and goes with Services, in order. */
  readonly chains: ReadonlyMap<string, readonly (readonly NftJson[])[]>;
  /** Elements of each map: key as text, with what nft wants to see. */
  readonly maps: ReadonlyMap<string, ReadonlyMap<string, MapElement>>;
  /** Elements of the plain sets. */
  readonly sets: ReadonlyMap<string, ReadonlySet<string>>;
  /** Sets that remember clients, with their time-out in seconds. */
  readonly affinitySets: ReadonlyMap<string, number>;
}

export interface MapElement {
  readonly key: unknown;
  readonly verdict: NftJson;
}

export interface RulesetOptions {
  readonly family: IpFamily;
  /** Ranges of Pod addresses: traffic from elsewhere to a cluster IP is masqueraded. Empty: nobody knows, nothing is. */
  readonly clusterCidrs: readonly string[];
  /** Range of Service addresses: what is not a Service in it is refused. */
  readonly serviceCidrs: readonly string[];
  /** Addresses of this node on which node ports answer. */
  readonly nodeIps: readonly string[];
  /** Masquerade all traffic to cluster IPs. */
  readonly masqueradeAll: boolean;
  /** Bit of the packet mark that asks for masquerading; upstream's default is 14. */
  readonly masqueradeBit: number;
}

export const tableName = 'kube-proxy';

const verdict = {
  goto: (target: string): NftJson => ({ goto: { target } }),
  jump: (target: string): NftJson => ({ jump: { target } }),
};

export function desiredRuleset(ports: readonly ServicePort[], options: RulesetOptions): Ruleset {
  const chains = new Map<string, readonly (readonly NftJson[])[]>();
  const serviceIps = new Map<string, MapElement>();
  const nodePorts = new Map<string, MapElement>();
  const noEndpoints = new Map<string, MapElement>();
  const noEndpointNodePorts = new Map<string, MapElement>();
  const affinitySets = new Map<string, number>();
  const clusterIps = new Set<string>();
  for (const port of ports) {
    for (const ip of port.clusterIps) clusterIps.add(ip);
    addChains(port, options, chains, affinitySets);
    const internal = port.internalLocal ? port.localEndpoints : port.clusterEndpoints;
    const external = port.externalLocal ? port.localEndpoints : port.clusterEndpoints;
    const refusal = verdict.goto(port.hasAnyEndpoint ? 'drop-chain' : 'reject-chain');
    for (const ip of port.clusterIps) {
      if (internal.length > 0) serviceIps.set(...addressElement(ip, port, verdict.goto(chainName('service', port))));
      else noEndpoints.set(...addressElement(ip, port, refusal));
    }
    for (const ip of port.externalIps) {
      const filtered = port.loadBalancerIps.includes(ip) && port.loadBalancerSourceRanges.length > 0;
      if (external.length > 0 || (port.externalLocal && port.clusterEndpoints.length > 0))
        serviceIps.set(...addressElement(ip, port, verdict.goto(chainName(filtered ? 'firewall' : 'external', port))));
      if (external.length === 0) noEndpoints.set(...addressElement(ip, port, refusal));
    }
    if (port.nodePort > 0) {
      if (external.length > 0 || (port.externalLocal && port.clusterEndpoints.length > 0))
        nodePorts.set(...nodePortElement(port, verdict.goto(chainName('external', port))));
      if (external.length === 0) noEndpointNodePorts.set(...nodePortElement(port, refusal));
    }
  }
  return {
    chains,
    maps: new Map([
      ['service-ips', serviceIps],
      ['service-nodeports', nodePorts],
      ['no-endpoint-services', noEndpoints],
      ['no-endpoint-nodeports', noEndpointNodePorts],
    ]),
    sets: new Map([
      ['cluster-ips', clusterIps],
      ['nodeport-ips', new Set(options.nodeIps)],
    ]),
    affinitySets,
  };
}

function addChains(
  port: ServicePort,
  options: RulesetOptions,
  chains: Map<string, readonly (readonly NftJson[])[]>,
  affinitySets: Map<string, number>,
): void {
  const { family } = options;
  const internal = port.internalLocal ? port.localEndpoints : port.clusterEndpoints;
  const fromOutside = options.clusterCidrs.map((cidr) => compare(source(family), '!=', prefix(cidr)));
  const masquerade = options.masqueradeAll
    ? [
        port.clusterIps.map((ip) => [compare(destination(family), '==', ip), verdict.jump('mark-for-masquerade')]),
      ].flat()
    : options.clusterCidrs.length === 0
      ? []
      : port.clusterIps.map((ip) => [
          compare(destination(family), '==', ip),
          ...fromOutside,
          verdict.jump('mark-for-masquerade'),
        ]);
  if (internal.length > 0) chains.set(chainName('service', port), [...masquerade, ...choose(port, internal, family)]);
  if (port.nodePort > 0 || port.externalIps.length > 0) {
    if (port.externalLocal) addLocalExternal(port, options, chains);
    else if (port.clusterEndpoints.length > 0)
      chains.set(chainName('external', port), [
        [verdict.jump('mark-for-masquerade')],
        ...choose(port, port.clusterEndpoints, family),
      ]);
    if (port.loadBalancerSourceRanges.length > 0)
      chains.set(chainName('firewall', port), [
        ...port.loadBalancerSourceRanges.map((range) => [
          compare(source(family), '==', prefix(range)),
          verdict.goto(chainName('external', port)),
        ]),
        [verdict.goto('drop-chain-nat')],
      ]);
  }
  for (const endpoint of new Map(
    [...port.clusterEndpoints, ...port.localEndpoints].map((e) => [`${e.ip}:${e.port}`, e]),
  ).values()) {
    const name = endpointChain(port, endpoint);
    const remember: (readonly NftJson[])[] = [];
    if (port.affinitySeconds > 0) {
      affinitySets.set(affinitySet(port, endpoint), port.affinitySeconds);
      remember.push([{ set: { op: 'update', elem: source(family), set: `@${affinitySet(port, endpoint)}` } }]);
    }
    chains.set(name, [
      // A Pod that reaches itself through its Service must see another address than its own.
      [compare(source(family), '==', endpoint.ip), verdict.jump('mark-for-masquerade')],
      ...remember,
      [
        compare({ meta: { key: 'l4proto' } }, '==', port.protocol),
        { dnat: { addr: endpoint.ip, port: endpoint.port } },
      ],
    ]);
  }
}

/** externalTrafficPolicy Local: only this node's endpoints and the client's address kept; Pods and the node itself go anywhere. */
function addLocalExternal(
  port: ServicePort,
  options: RulesetOptions,
  chains: Map<string, readonly (readonly NftJson[])[]>,
): void {
  const { family } = options;
  const anywhere = port.clusterEndpoints.length > 0 ? chainName('anywhere', port) : undefined;
  const rules: (readonly NftJson[])[] = [];
  if (anywhere) {
    chains.set(anywhere, choose(port, port.clusterEndpoints, family));
    const local: NftJson = { fib: { result: 'type', flags: ['saddr'] } };
    for (const cidr of options.clusterCidrs)
      rules.push([compare(source(family), '==', prefix(cidr)), verdict.goto(anywhere)]);
    rules.push([compare(local, '==', 'local'), verdict.jump('mark-for-masquerade')]);
    rules.push([compare(local, '==', 'local'), verdict.goto(anywhere)]);
  }
  if (port.localEndpoints.length > 0) rules.push(...choose(port, port.localEndpoints, family));
  if (rules.length > 0) chains.set(chainName('external', port), rules);
}

function choose(port: ServicePort, endpoints: readonly Endpoint[], family: IpFamily): (readonly NftJson[])[] {
  const rules: (readonly NftJson[])[] = [];
  if (port.affinitySeconds > 0)
    for (const endpoint of endpoints)
      rules.push([
        compare(source(family), '==', `@${affinitySet(port, endpoint)}`),
        verdict.goto(endpointChain(port, endpoint)),
      ]);
  const targets = endpoints.map((endpoint, index) => [index, verdict.goto(endpointChain(port, endpoint))]);
  rules.push([
    { vmap: { key: { numgen: { mode: 'random', mod: endpoints.length, offset: 0 } }, data: { set: targets } } },
  ]);
  return rules;
}

function compare(left: unknown, op: string, right: unknown): NftJson {
  return { match: { op, left, right } };
}

const source = (family: IpFamily) => ({ payload: { protocol: family, field: 'saddr' } });
const destination = (family: IpFamily) => ({ payload: { protocol: family, field: 'daddr' } });

function prefix(cidr: string): unknown {
  const [addr, length] = cidr.split('/');
  return length === undefined ? addr : { prefix: { addr, len: Number(length) } };
}

/** Names hold no colon and at most 127 characters; a hash keeps shortened ones apart. */
function nameOf(kind: string, text: string): string {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8);
  return `${kind}-${hash}-${text.replaceAll(':', '.')}`.slice(0, 127);
}

function chainName(kind: string, port: ServicePort): string {
  return nameOf(kind, port.id);
}

function endpointChain(port: ServicePort, endpoint: Endpoint): string {
  return nameOf('endpoint', `${port.id}__${endpoint.ip}/${endpoint.port}`);
}

function affinitySet(port: ServicePort, endpoint: Endpoint): string {
  return nameOf('affinity', `${port.id}__${endpoint.ip}/${endpoint.port}`);
}

function addressElement(ip: string, port: ServicePort, to: NftJson): [string, MapElement] {
  return [`${ip} ${port.protocol} ${port.port}`, { key: { concat: [ip, port.protocol, port.port] }, verdict: to }];
}

function nodePortElement(port: ServicePort, to: NftJson): [string, MapElement] {
  return [`${port.protocol} ${port.nodePort}`, { key: { concat: [port.protocol, port.nodePort] }, verdict: to }];
}
