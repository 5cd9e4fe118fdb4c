/** Namespaces, priority classes and what components look up about the server: its client CA, its service range. */

import { semanticallyEqual } from '../../api/equality.ts';
import { type ConfigMap, configMaps, type Namespace, namespaces } from '../../api/gen/core-v1.ts';
import { type ServiceCIDR, serviceCIDRs } from '../../api/gen/networking-v1.ts';
import { priorityClasses } from '../../api/gen/scheduling-v1.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Client } from '../../client/client.ts';
import type { SystemObjects } from './bootstrap-data.ts';
import { createOnce, ensureObjects } from './ensure.ts';

const systemNamespace = 'kube-system';

export async function ensureNamespaces(client: Client, names: SystemObjects['namespaces']): Promise<void> {
  await ensureObjects<Namespace>(
    client,
    namespaces,
    names.map((name) => ({ metadata: { name }, spec: {} })),
  );
}

export async function ensurePriorityClasses(client: Client, classes: SystemObjects['priorityClasses']): Promise<void> {
  await ensureObjects(client, priorityClasses, classes);
}

export interface ClientTrust {
  /** PEM of `--client-ca-file`. */
  readonly clientCa?: string | undefined;
  readonly requestHeader?:
    | {
        readonly ca: string;
        readonly allowedNames: readonly string[];
        readonly usernameHeaders: readonly string[];
        readonly uidHeaders: readonly string[];
        readonly groupHeaders: readonly string[];
        readonly extraHeaderPrefixes: readonly string[];
      }
    | undefined;
}

/** `extension-apiserver-authentication`: how servers beside this one recognise its clients and its proxy. */
export async function ensureClientTrust(client: Client, trust: ClientTrust): Promise<void> {
  const { clientCa, requestHeader } = trust;
  const data: Record<string, string> = {
    ...(clientCa ? { 'client-ca-file': clientCa } : {}),
    ...(requestHeader
      ? {
          'requestheader-client-ca-file': requestHeader.ca,
          'requestheader-allowed-names': JSON.stringify(requestHeader.allowedNames),
          'requestheader-username-headers': JSON.stringify(requestHeader.usernameHeaders),
          'requestheader-uid-headers': JSON.stringify(requestHeader.uidHeaders),
          'requestheader-group-headers': JSON.stringify(requestHeader.groupHeaders),
          'requestheader-extra-headers-prefix': JSON.stringify(requestHeader.extraHeaderPrefixes),
        }
      : {}),
  };
  if (Object.keys(data).length === 0) return;
  const metadata = { name: 'extension-apiserver-authentication', namespace: systemNamespace };
  const present = await find(client, metadata.name);
  if (!present) return createOnce(client, configMaps, { metadata, data });
  // Another server may trust more; bundles are only ever added to by hand.
  const next = { ...present, data: { ...present.data, ...data } };
  if (!semanticallyEqual(next, present)) await client.update(configMaps, next);
}

/** Since when tokens kept in Secrets are watched for use. */
export async function ensureLegacyTokenTracking(client: Client, nowMs: number): Promise<void> {
  const metadata = { name: 'kube-apiserver-legacy-service-account-token-tracking', namespace: systemNamespace };
  if (!(await find(client, metadata.name))) {
    await createOnce(client, configMaps, { metadata, data: { since: formatTime(nowMs).slice(0, 10) } });
  }
}

/** The service range as an object. */
export async function ensureServiceCidr(
  client: Client,
  input: { readonly cidrs: readonly string[]; readonly nowMs: number },
): Promise<void> {
  const name = 'kubernetes';
  const { items } = await client.list(serviceCIDRs);
  let present = items.find((item) => item.metadata.name === name);
  if (!present) {
    const wanted: ServiceCIDR = { metadata: { name }, spec: { cidrs: input.cidrs } };
    present = await client.create(serviceCIDRs, wanted);
  }
  if (present.status?.conditions?.some((condition) => condition.type === 'Ready')) return;
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: '',
    message: 'Kubernetes default Service CIDR is ready',
    lastTransitionTime: formatTime(input.nowMs),
  };
  await client.updateStatus(serviceCIDRs, { ...present, status: { conditions: [condition] } });
}

async function find(client: Client, name: string): Promise<ConfigMap | undefined> {
  try {
    return await client.get(configMaps, { namespace: systemNamespace, name });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
