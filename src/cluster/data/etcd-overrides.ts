/**
 * `--etcd-servers-overrides`: resources that lie in an etcd of their own, e.g. `/events#http://10.0.0.4:2379;http://10.0.0.5:2379`. Several
 * resources may share such an etcd, in whatever order their servers are named. Only what the server brings with it can be moved:
 * definitions, APIServices and custom resources stay in the cluster's own etcd, as with upstream.
 */
import { FlagError } from '../../serving/flags.ts';

export interface EtcdOverride {
  readonly servers: readonly string[];
  /** By name, as in `events`, `deployments.apps`. */
  keeps(resource: string): boolean;
}

const invalid =
  '--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated';
const alwaysHome = new Set(['customresourcedefinitions.apiextensions.k8s.io', 'apiservices.apiregistration.k8s.io']);

/** One for each set of servers, in the order in which they are first named. */
export function parseOverrides(texts: readonly string[]): readonly EtcdOverride[] {
  const serversByKey = new Map<string, readonly string[]>();
  // The last word on a resource counts; one on the resource before one on its group.
  const keyByResource = new Map<string, string>();
  for (const text of texts) {
    const { group, resource, servers } = parseOverride(text);
    const key = [...servers].sort().join(';');
    if (!serversByKey.has(key)) serversByKey.set(key, servers);
    keyByResource.set(nameOf(group, resource), key);
  }
  const keyOf = (name: string) => {
    const [, ...group] = name.split('.');
    return keyByResource.get(name) ?? keyByResource.get(nameOf(group.join('.'), '*'));
  };
  return [...serversByKey].map(([key, servers]) => ({
    servers,
    keeps: (resource) => !alwaysHome.has(resource) && keyOf(resource) === key,
  }));
}

function parseOverride(text: string) {
  const [path = '', list = '', ...more] = text.split('#');
  const [group = '', resource, ...deeper] = path.split('/');
  const servers = list.split(';');
  if (more.length > 0 || resource === undefined || deeper.length > 0 || servers.includes(''))
    throw new FlagError(invalid);
  return { group, resource, servers };
}

function nameOf(group: string, resource: string): string {
  return group === '' ? resource : `${resource}.${group}`;
}
