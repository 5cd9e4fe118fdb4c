/** The kubelet's heartbeat: a Lease in `kube-node-lease`, renewed every quarter of its duration, that goes away with its Node. */
import { type Lease, leases } from '../../api/gen/coordination-v1.ts';
import { nodes } from '../../api/gen/core-v1.ts';
import { isConflict, isNotFound, messageOf } from '../../apimachinery/status.ts';
import { formatMicroTime } from '../../apimachinery/time.ts';
import { type Clock, sleep, sleeper } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { jitter, type Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';

export interface NodeLeaseOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly nodeName: string;
  readonly leaseDurationSeconds: number;
}

const namespace = 'kube-node-lease';
const renewFraction = 0.25;
const renewJitter = 0.04;
const maxUpdateRetries = 5;
const firstBackoffMs = 200;
const maxBackoffMs = 7000;

/** Until the signal is aborted. */
export async function keepNodeLease(options: NodeLeaseOptions): Promise<void> {
  const { clock, random, signal, leaseDurationSeconds } = options;
  const pause = sleeper(clock, signal);
  let held: Lease | undefined;
  while (!signal.aborted) {
    held = (held && (await renew(held, options))) ?? (await ensure(options));
    const periodMs = leaseDurationSeconds * 1000 * renewFraction;
    await pause(jitter(random, periodMs, renewJitter)).catch(() => undefined);
  }
}

/** The lease, made if need be; undefined when stopped. Tries for ever, waiting twice as long each time up to the limit. */
async function ensure(options: NodeLeaseOptions): Promise<Lease | undefined> {
  const { client, clock, log, nodeName, signal } = options;
  for (let backoffMs = firstBackoffMs; !signal.aborted; backoffMs = Math.min(backoffMs * 2, maxBackoffMs)) {
    try {
      const found = await client.get(leases, { namespace, name: nodeName }, { signal });
      return (await renew(found, options)) ?? found;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (isNotFound(error)) {
        const made = await client
          .create(leases, await renewed(undefined, options), { signal })
          .catch((reason: unknown) => reason);
        if (!(made instanceof Error)) return made as Lease;
        log.warn('failed to ensure lease exists, will retry', { error: messageOf(made), retryAfterMs: backoffMs });
      } else
        log.warn('failed to ensure lease exists, will retry', { error: messageOf(error), retryAfterMs: backoffMs });
    }
    await sleep(clock, backoffMs, signal).catch(() => undefined);
  }
  return undefined;
}

/** Undefined when the tries of this round are used up: then the lease is looked at afresh. */
async function renew(held: Lease, options: NodeLeaseOptions): Promise<Lease | undefined> {
  const { client, log, nodeName, signal } = options;
  let base = held;
  for (let attempt = 0; attempt < maxUpdateRetries && !signal.aborted; attempt++) {
    try {
      return await client.update(leases, await renewed(base, options), { signal });
    } catch (error) {
      if (signal.aborted || isNotFound(error)) return undefined;
      log.warn('failed to update lease', { error: messageOf(error) });
      if (!isConflict(error)) continue;
      const fresh = await client.get(leases, { namespace, name: nodeName }, { signal }).catch(() => undefined);
      if (!fresh) return undefined;
      base = fresh;
    }
  }
  return undefined;
}

async function renewed(base: Lease | undefined, options: NodeLeaseOptions): Promise<Lease> {
  const { clock, nodeName, leaseDurationSeconds } = options;
  const lease: Lease = base ?? { metadata: { name: nodeName, namespace }, spec: {} };
  const metadata = lease.metadata.ownerReferences?.length
    ? lease.metadata
    : { ...lease.metadata, ...(await ownedByNode(options)) };
  return {
    ...lease,
    metadata,
    spec: { ...lease.spec, holderIdentity: nodeName, leaseDurationSeconds, renewTime: formatMicroTime(clock.now()) },
  };
}

/** Not known before the Node is registered; then the next renewal adds it. */
async function ownedByNode({ client, nodeName, signal }: NodeLeaseOptions) {
  const node = await client.get(nodes, { name: nodeName }, { signal }).catch(() => undefined);
  if (!node?.metadata.uid) return {};
  return { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: node.metadata.uid }] };
}
