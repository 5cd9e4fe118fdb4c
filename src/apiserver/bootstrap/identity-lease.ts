/**
 * Each API server shows that it lives by a Lease in kube-system, named after its machine so that a restarted server takes its old one
 * over under a new holder identity. Leases nobody renewed for their whole duration are collected by the servers still there.
 */
import { createHash } from 'node:crypto';
import { type Lease, leases } from '../../api/gen/coordination-v1.ts';
import { isConflict, isNotFound } from '../../apimachinery/status.ts';
import { formatMicroTime, parseTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { createOnce } from './ensure.ts';

export const identityLeaseRenewMs = 10_000;
export const identityLeaseCollectMs = 3_600_000;
const leaseDurationSeconds = 3600;
export const identityLeaseNamespace = 'kube-system';
export const identityLabel = 'apiserver.kubernetes.io/identity';
const component = 'kube-apiserver';

export interface IdentityLeaseOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly hostname: string;
}

export interface IdentityLease {
  readonly name: string;
  readonly holderIdentity: string;
  renew(): Promise<void>;
  /** Deletes the expired Leases of servers that are gone. */
  collectExpired(): Promise<void>;
}

/** `kube-apiserver-` and the lower-case base32 of the first 16 bytes of the hostname's SHA-256, without padding. */
export function identityLeaseName(hostname: string): string {
  return `${component}-${base32(createHash('sha256').update(hostname).digest().subarray(0, 16))}`;
}

export function identityLease({ client, clock, random, hostname }: IdentityLeaseOptions): IdentityLease {
  const name = identityLeaseName(hostname);
  const holderIdentity = `${name}_${random.uuid()}`;
  const labels = { [identityLabel]: component, 'k8s.io/component': component, 'kubernetes.io/hostname': hostname };

  return {
    name,
    holderIdentity,
    async renew() {
      const spec = { holderIdentity, leaseDurationSeconds, renewTime: formatMicroTime(clock.now()) };
      const present = await client.get(leases, { namespace: identityLeaseNamespace, name }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      if (!present)
        return createOnce(client, leases, { metadata: { name, namespace: identityLeaseNamespace, labels }, spec });
      const metadata = { ...present.metadata, labels: { ...present.metadata.labels, ...labels } };
      await client.update(leases, { ...present, metadata, spec: { ...present.spec, ...spec } });
    },
    async collectExpired() {
      const { items } = await client.list(leases, {
        namespace: identityLeaseNamespace,
        labelSelector: `${identityLabel}=${component}`,
      });
      const expired = items.filter((lease) => lease.metadata.name !== name && isExpired(lease, clock.now()));
      await Promise.all(
        expired.map(async ({ metadata }) => {
          const preconditions = { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
          try {
            await client.delete(
              leases,
              { namespace: identityLeaseNamespace, name: metadata.name ?? '' },
              { preconditions },
            );
          } catch (error) {
            // Collected by another server, or renewed after all.
            if (!isNotFound(error) && !isConflict(error)) throw error;
          }
        }),
      );
    },
  };
}

/** A Lease that says nothing about its time cannot be alive. */
function isExpired({ spec }: Lease, nowMs: number): boolean {
  const renewedAt = spec?.renewTime === undefined ? undefined : parseTime(spec.renewTime);
  if (renewedAt === undefined || spec.leaseDurationSeconds === undefined) return true;
  return renewedAt + spec.leaseDurationSeconds * 1000 < nowMs;
}

function base32(bytes: Uint8Array): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet[Number.parseInt(five.padEnd(5, '0'), 2)]).join('');
}
