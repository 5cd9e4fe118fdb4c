/** The page of a component's secure port that tells what holds objects up, and how its leader's Lease says where that is. */

import { hostPort } from '../../../base/host-port.ts';
import { type CauseLedger, causesPath } from '../../../reconcile/causes.ts';
import { nodeAddress } from '../../machine/machine.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import { type CausesAddress, causesAnnotation } from './causes-annotation.ts';
import type { DelegatedAccess } from './delegated-access.ts';
import type { GuardedPages, HealthServer } from './health-server.ts';

export function causesPage(
  causes: CauseLedger,
  { authenticate, authorize }: DelegatedAccess,
  { log }: Pick<ComponentEnvironment, 'log'>,
): GuardedPages {
  return { authenticate, authorize, log, pages: { [causesPath]: () => causes.toList() } };
}

/** The server's own: whoever issued it is believed in nothing else. */
const firstCertificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/;

/** Of the process that leads as `identity`; none when it serves nothing. */
export function causesAnnotations(
  server: Pick<HealthServer, 'certificate'>,
  { host, port }: { readonly host: string; readonly port: number },
): (identity: string) => Readonly<Record<string, string>> {
  return (identity) => {
    const [certificate] = server.certificate?.match(firstCertificate) ?? [];
    if (certificate === undefined) return {};
    const url = `https://${hostPort({ host: reachable(host), port })}${causesPath}`;
    const address: CausesAddress = { holder: identity, url, certificate };
    return { [causesAnnotation]: JSON.stringify(address) };
  };
}

/** A server that listens at every address is found at the machine's own. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return nodeAddress() ?? '127.0.0.1';
  return host;
}
