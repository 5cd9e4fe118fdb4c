/**
 * What components that run on their own say of held-up objects, asked of each where its Lease says that it listens. A component that
 * does not answer, or refuses, is told of and keeps nobody from an explanation.
 */
import { request } from 'node:https';
import { leases } from '../../../api/gen/coordination-v1.ts';
import { messageOf, type Status } from '../../../apimachinery/status.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Client } from '../../../client/client.ts';
import type { HttpTransportOptions } from '../../../client/http-transport.ts';
import type { Cause } from '../../../reconcile/causes.ts';
import { type CausesAddress, causesAddressOf } from './causes-annotation.ts';

export interface ComponentCauses {
  readonly causes: readonly Cause[];
  /** A sentence for each component that could not be asked. */
  readonly problems: readonly string[];
}

const components = ['kube-controller-manager', 'kube-scheduler'];
const patienceMs = 5000;

export async function componentCauses(
  client: Client,
  credentials: Pick<HttpTransportOptions, 'clock' | 'tls' | 'token'>,
): Promise<ComponentCauses> {
  const causes: Cause[] = [];
  const problems: string[] = [];
  const ask = async (component: string) => {
    const lease = await client.get(leases, { namespace: 'kube-system', name: component }).catch(() => undefined);
    const address = causesAddressOf(lease?.metadata.annotations);
    if (!address || address.holder !== lease?.spec?.holderIdentity) return;
    try {
      causes.push(...(await fetchCauses(address, credentials)));
    } catch (error) {
      problems.push(`${component} at ${address.url} was not heard: ${messageOf(error)}`);
    }
  };
  await Promise.all(components.map(ask));
  return { causes, problems };
}

/** With the user's own credentials, to nobody but the holder of that very certificate. */
async function fetchCauses(
  { url, certificate }: CausesAddress,
  { clock, tls, token }: Pick<HttpTransportOptions, 'clock' | 'tls' | 'token'>,
): Promise<readonly Cause[]> {
  const bearer = typeof token === 'function' ? await token() : token;
  const { status, body } = await get(url, clock, {
    ca: certificate,
    // The certificate itself is trusted, whoever issued it, and whatever names it has.
    allowPartialTrustChain: true,
    checkServerIdentity: () => undefined,
    cert: tls?.cert,
    key: tls?.key,
    headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
  });
  if (status !== 200) throw new Error(refusalIn(body) ?? `the answer is ${status}`);
  return (JSON.parse(body) as { readonly items: readonly Cause[] }).items;
}

function refusalIn(body: string): string | undefined {
  try {
    return (JSON.parse(body) as Status).message;
  } catch {
    return undefined;
  }
}

function get(
  url: string,
  clock: Clock,
  options: Parameters<typeof request>[1] & { readonly allowPartialTrustChain: boolean },
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { ...options, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        timer.cancel();
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() });
      });
    });
    const timer = clock.after(patienceMs, () => asked.destroy(new Error(`no answer within ${patienceMs / 1000}s`)));
    asked.on('error', (error) => {
      timer.cancel();
      reject(error);
    });
    asked.end();
  });
}
