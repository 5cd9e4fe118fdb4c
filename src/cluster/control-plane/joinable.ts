/**
 * What a cluster keeps ready for machines that join it: who it is (`cluster-info` in `kube-public`, which anybody may read and every
 * bootstrap token signs, as kubeadm has it), what a node must know of it (`coracle-node` in `kube-system`), and the rights of nodes whose
 * proxy and name server have no users of their own.
 */
import { type ConfigMap, configMaps } from '../../api/gen/core-v1.ts';
import { clusterRoleBindings, clusterRoles, roleBindings, roles, type Subject } from '../../api/gen/rbac-v1.ts';
import type { Client } from '../../client/client.ts';
import { formatKubeconfig } from '../../client/kubeconfig.ts';
import { nodeCertificateBindings, servingApproverRole } from '../../controllers/certificatesigningrequest/rights.ts';
import { bootstrapping, clusterDomain, ensure, nameServerAddress, nameServerRole } from '../addons.ts';
import type { NodeConfig } from '../node/node-config.ts';

export const clusterInfo = { namespace: 'kube-public', name: 'cluster-info' } as const;
export const nodeSettings = { namespace: 'kube-system', name: 'coracle-node' } as const;

/** What is the same for all nodes of a cluster. */
export type SharedNodeSettings = Pick<NodeConfig, 'clusterDns' | 'clusterDomain' | 'serviceCidrs' | 'clusterCidrs'>;

export interface JoinableCluster {
  /** URL of the API server as other machines reach it. */
  readonly server: string;
  readonly caPem: string;
  readonly serviceCidrs: readonly string[];
  readonly clusterCidrs: readonly string[];
}

const rbacGroup = 'rbac.authorization.k8s.io';
const group = (name: string): Subject => ({ kind: 'Group', apiGroup: rbacGroup, name });
const everybody: Subject = { kind: 'User', apiGroup: rbacGroup, name: 'system:anonymous' };
const allNodes = group('system:nodes');

/** Safe to repeat; what has changed since is written anew. */
export async function ensureJoinable(client: Client, joinable: JoinableCluster): Promise<void> {
  const { server, caPem, serviceCidrs, clusterCidrs } = joinable;
  const clusterDns = nameServerAddress(serviceCidrs[0] ?? '');
  const settings: SharedNodeSettings = { clusterDns, clusterDomain, serviceCidrs, clusterCidrs };
  const cluster = { server, 'certificate-authority-data': Buffer.from(caPem).toString('base64') };
  const kubeconfig = formatKubeconfig({
    clusters: { '': cluster },
    users: {},
    contexts: {},
    currentContext: '',
    other: { preferences: {} },
  });
  await keep(client, { metadata: clusterInfo, data: { kubeconfig } });
  await mayRead(client, clusterInfo, [everybody]);
  await keep(client, { metadata: nodeSettings, data: { 'settings.json': JSON.stringify(settings) } });
  await mayRead(client, nodeSettings, [group('system:bootstrappers'), allNodes]);
  await ensure(client, clusterRoles, servingApproverRole);
  for (const binding of nodeCertificateBindings) await ensure(client, clusterRoleBindings, binding);
  for (const [name, role] of [
    ['coracle:node-proxier', 'system:node-proxier'],
    ['coracle:node-name-server', nameServerRole],
  ] as const)
    await ensure(client, clusterRoleBindings, {
      metadata: { name, labels: bootstrapping },
      roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: role },
      subjects: [allNodes],
    });
  await ensure(client, roleBindings, {
    metadata: { name: 'coracle:node-name-server', namespace: 'kube-system', labels: bootstrapping },
    roleRef: { apiGroup: rbacGroup, kind: 'Role', name: nameServerRole },
    subjects: [allNodes],
  });
}

async function mayRead(
  client: Client,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  subjects: readonly Subject[],
): Promise<void> {
  const metadata = { name: `coracle:${name}`, namespace, labels: bootstrapping };
  const rule = { apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get'] };
  await ensure(client, roles, { metadata, rules: [rule] });
  const roleRef = { apiGroup: rbacGroup, kind: 'Role', name: metadata.name };
  await ensure(client, roleBindings, { metadata, roleRef, subjects });
}

/** Signatures that others add to the data stay, and are made anew by them when the rest has changed. */
async function keep(client: Client, wanted: ConfigMap): Promise<void> {
  const { namespace, name = '' } = wanted.metadata;
  await ensure(client, configMaps, wanted);
  const { data } = await client.get(configMaps, { namespace, name });
  if (Object.entries(wanted.data ?? {}).every(([key, value]) => data?.[key] === value)) return;
  await client.patch(configMaps, { namespace, name }, { type: 'merge', body: { data: wanted.data } });
}
