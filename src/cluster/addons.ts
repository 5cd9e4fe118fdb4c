/**
 * What a cluster with real nodes has besides the API: the Service of its name server, with the address every Pod is told, a class of
 * storage, and the rights of the name servers and provisioners that run on the nodes. Made when missing; what somebody changed stays as it is.
 */
import { services } from '../api/gen/core-v1.ts';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../api/gen/rbac-v1.ts';
import { storageClasses } from '../api/gen/storage-v1.ts';
import { formatIp, parseCidr } from '../apimachinery/addresses.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import type { ResourceType } from '../apimachinery/resource.ts';
import { isNotFound } from '../apimachinery/status.ts';
import type { Client } from '../client/client.ts';
import { provisionerName } from '../controllers/local-provisioner/plan.ts';

/** User that a node's name server calls the API as. */
export const nameServerUser = 'system:kube-dns';

export const clusterDomain = 'cluster.local';

/** The cluster's name server is the tenth address of the Service range, by which every installer knows it. */
export function nameServerAddress(serviceCidr: string): string {
  const range = parseCidr(serviceCidr);
  if (!range) throw new Error(`${serviceCidr} is no address range`);
  return formatIp({ family: range.family, value: range.base + 10n });
}

/** What name servers may do. Not `system:kube-dns`: upstream has a ClusterRole of that name, with less. */
export const nameServerRole = 'coracle:name-server';

/** Throws when the API server refuses; calling it again is safe. */
export async function ensureAddons(client: Client, options: { readonly serviceCidr: string }): Promise<void> {
  const name = nameServerRole;
  const group = 'rbac.authorization.k8s.io';
  const subject = { kind: 'User', apiGroup: group, name: nameServerUser };
  await ensure(client, clusterRoles, {
    metadata: { name, labels: bootstrapping },
    rules: [
      { apiGroups: [''], resources: ['services', 'namespaces'], verbs: ['list', 'watch'] },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
    ],
  });
  await ensure(client, clusterRoleBindings, {
    metadata: { name, labels: bootstrapping },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name },
    subjects: [subject],
  });
  // Each node's name server announces itself in an EndpointSlice of its own.
  await ensure(client, roles, {
    metadata: { name, namespace: 'kube-system', labels: bootstrapping },
    rules: [
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['create', 'get', 'update'] },
      // An EndpointSlice may only name a Service whose endpoints its writer could have written.
      { apiGroups: [''], resources: ['endpoints/restricted'], verbs: ['create'] },
    ],
  });
  await ensure(client, roleBindings, {
    metadata: { name, namespace: 'kube-system', labels: bootstrapping },
    roleRef: { apiGroup: group, kind: 'Role', name },
    subjects: [subject],
  });
  await ensure(client, services, {
    metadata: {
      name: 'kube-dns',
      namespace: 'kube-system',
      labels: { 'k8s-app': 'kube-dns', 'kubernetes.io/cluster-service': 'true', 'kubernetes.io/name': 'Coracle' },
    },
    spec: {
      clusterIP: nameServerAddress(options.serviceCidr),
      ports: [
        { name: 'dns', protocol: 'UDP', port: 53, targetPort: 10053 },
        { name: 'dns-tcp', protocol: 'TCP', port: 53, targetPort: 10053 },
      ],
    },
  });
}

/** User that the provisioner of a node's folders calls the API as. */
export const provisionerUser = 'coracle:local-provisioner';

/** The class of claims that name none: folders of the node that a Pod comes to. Calling it again is safe. */
export async function ensureLocalStorage(client: Client): Promise<void> {
  const group = 'rbac.authorization.k8s.io';
  await ensure(client, clusterRoleBindings, {
    metadata: { name: provisionerUser, labels: bootstrapping },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'system:persistent-volume-provisioner' },
    subjects: [{ kind: 'User', apiGroup: group, name: provisionerUser }],
  });
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  await ensure(client, storageClasses, {
    metadata: { name: 'local', labels: bootstrapping, annotations },
    provisioner: provisionerName,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
  });
}

/** Labels of what is made here. */
export const bootstrapping = { 'kubernetes.io/bootstrapping': 'coracle-addons' };

/** Made when missing, left as it is otherwise. */
export async function ensure<T extends KubeObject>(client: Client, type: ResourceType<T>, object: T): Promise<void> {
  const { name = '', namespace } = object.metadata;
  try {
    // Asked for first: making a Service again fails for its address, which is taken, and not for its name.
    await client.get(type, { name, namespace });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await client.create(type, object);
  }
}
