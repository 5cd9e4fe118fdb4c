/** The `/etc/resolv.conf` and `/etc/hosts` of a Pod. Pure. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { DnsConfig } from '../runtime/runtime.ts';

export interface DnsSettings {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** Content of the host's resolv.conf. */
  readonly hostResolvConf: string;
}

const maxNameservers = 3;
const maxSearches = 32;

export function parseResolvConf(text: string): DnsConfig {
  const servers: string[] = [];
  let searches: string[] = [];
  let options: string[] = [];
  for (const line of text.split('\n')) {
    const [keyword, ...fields] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/);
    if (keyword === 'nameserver' && fields[0]) servers.push(fields[0]);
    // The last search line counts.
    else if (keyword === 'search') searches = fields;
    else if (keyword === 'options') options = fields;
  }
  return { servers, searches, options };
}

export function podDns(pod: Pod, settings: DnsSettings): DnsConfig {
  const base = baseConfig(pod, settings);
  const extra = pod.spec.dnsConfig;
  const options = new Map(base.options.map((option) => [option.split(':')[0]!, option]));
  for (const { name, value } of extra?.options ?? [])
    if (name) options.set(name, value === undefined ? name : `${name}:${value}`);
  return {
    servers: unique([...base.servers, ...(extra?.nameservers ?? [])]).slice(0, maxNameservers),
    searches: unique([...base.searches, ...(extra?.searches ?? [])]).slice(0, maxSearches),
    options: [...options.values()],
  };
}

function baseConfig(pod: Pod, { clusterDns, clusterDomain, hostResolvConf }: DnsSettings): DnsConfig {
  const policy = pod.spec.dnsPolicy ?? 'ClusterFirst';
  if (policy === 'None') return { servers: [], searches: [], options: [] };
  const usesCluster = policy === 'ClusterFirstWithHostNet' || (policy === 'ClusterFirst' && !pod.spec.hostNetwork);
  const host = parseResolvConf(hostResolvConf);
  if (!usesCluster || clusterDns.length === 0) return host;
  const own = clusterDomain
    ? [`${pod.metadata.namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain]
    : [];
  return { servers: clusterDns, searches: [...own, ...host.searches], options: ['ndots:5'] };
}

const unique = (values: readonly string[]): string[] => [...new Set(values)];

/** What `hostname` prints in the Pod, and the name under which it is found when it has a subdomain. */
export function podHostname(pod: Pod, clusterDomain: string): { readonly hostname: string; readonly domain: string } {
  const own = pod.spec.hostname || (pod.metadata.name ?? '');
  const hostname = pod.spec.hostnameOverride || own.slice(0, 63).replace(/[-.]+$/, '');
  const { subdomain } = pod.spec;
  const domain = subdomain && clusterDomain ? `${subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}` : '';
  return { hostname, domain };
}

const managedHeader = '# Kubernetes-managed hosts file.\n';
const managedHostHeader = '# Kubernetes-managed hosts file (host network).\n';

export function etcHosts(pod: Pod, podIps: readonly string[], clusterDomain: string): string {
  const { hostname, domain } = podHostname(pod, clusterDomain);
  const names = domain ? `${hostname}.${domain}\t${hostname}` : hostname;
  const lines = [
    '127.0.0.1\tlocalhost',
    '::1\tlocalhost ip6-localhost ip6-loopback',
    'fe00::\tip6-localnet',
    'fe00::\tip6-mcastprefix',
    'fe00::1\tip6-allnodes',
    'fe00::2\tip6-allrouters',
    ...podIps.map((ip) => `${ip}\t${names}`),
  ];
  return `${managedHeader}${lines.join('\n')}\n${hostAliases(pod)}`;
}

/** A Pod on the host's network sees the host's own file. */
export function etcHostsOfHost(pod: Pod, hostFile: string): string {
  return `${managedHostHeader}${hostFile}${hostAliases(pod)}`;
}

function hostAliases(pod: Pod): string {
  const aliases = pod.spec.hostAliases ?? [];
  if (aliases.length === 0) return '';
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join('\t')}`);
  return `\n# Entries added by HostAliases.\n${lines.join('\n')}\n`;
}
