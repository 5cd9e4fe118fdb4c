/** Namespaces, priority classes and what components look up about the server: its client CA, its service range. */

import { semanticallyEqual } from '../../api/equality.ts';
import { type ConfigMap, configMaps, type Namespace, namespaces } from '../../api/gen/core-v1.ts';
import { serviceCIDRs } from '../../api/gen/networking-v1.ts';
import { priorityClasses } from '../../api/gen/scheduling-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
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

/**
 * The service range as an object, which addresses are taken from. One that is there stays as it is, but that a second family may be
 * added, and that it becomes ready when it is what this server was told.
 */
export async function ensureServiceCidr(
  client: Client,
  input: { readonly cidrs: readonly string[]; readonly nowMs: number },
): Promise<void> {
  const name = 'kubernetes';
  const { cidrs, nowMs } = input;
  const { items } = await client.list(serviceCIDRs);
  let range = items.find(({ metadata }) => metadata.name === name);
  range ??= await client.create(serviceCIDRs, { metadata: { name }, spec: { cidrs } });
  const stored = range.spec?.cidrs ?? [];
  if (cidrs.length === 2 && stored.length === 1 && stored[0] === cidrs[0]) {
    await client.update(serviceCIDRs, { ...range, spec: { ...range.spec, cidrs } });
    return;
  }
  const condition = findCondition(range.status?.conditions, 'Ready');
  const settled = condition !== undefined && condition.status !== 'Unknown';
  if (settled || range.metadata.deletionTimestamp || !semanticallyEqual(cidrs, stored)) return;
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: '',
    message: 'Kubernetes default Service CIDR is ready',
    lastTransitionTime: formatTime(nowMs),
  };
  await client.updateStatus(serviceCIDRs, { ...range, status: { conditions: [ready] } });
}

async function find(client: Client, name: string): Promise<ConfigMap | undefined> {
  try {
    return await client.get(configMaps, { namespace: systemNamespace, name });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
