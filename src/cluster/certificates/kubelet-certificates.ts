/** The certificates that a kubelet asks the cluster for and renews itself: what it shows the API server, and what it serves with. */
import type { NodeAddress } from '../../api/gen/core-v1.ts';
import { isIp } from '../../apimachinery/addresses.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { clientCertificateName, nodeTemplate } from '../../kubelet/certificates/bootstrap.ts';
import { CertificateFiles, type KeyPair } from '../../kubelet/certificates/certificate-files.ts';
import { CertificateRotation, kubeletSigners } from '../../kubelet/certificates/certificate-rotation.ts';
import type { CertificateTemplate } from '../../kubelet/certificates/signing-request.ts';
import { systemKeys } from '../../pki/keys.ts';
import { CommandError } from '../command-error.ts';

interface RotationOptions {
  readonly client: Client;
  /** `--cert-dir`. */
  readonly folder: string;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export interface ClientRotationOptions extends RotationOptions {
  /** Of somebody else's making, and good for one thing: to ask for one's own. Used where the folder holds none. */
  readonly given?: KeyPair | undefined;
  readonly onRotated: (pair: KeyPair) => void;
}

export function clientRotation({ folder, nodeName, given, ...options }: ClientRotationOptions): CertificateRotation {
  const files = openFiles(folder, clientCertificateName);
  const isFirst = given !== undefined && files.current() === undefined;
  if (isFirst) files.update(given, options.clock.now());
  const rotation = new CertificateRotation({
    ...options,
    keys: systemKeys,
    files,
    template: nodeTemplate(nodeName),
    signerName: kubeletSigners.client,
    use: 'client auth',
  });
  if (isFirst) rotation.renewNow();
  return rotation;
}

export interface PemPair {
  readonly certificate: string;
  readonly key: string;
}

/** What a kubelet's server shows, wherever it comes from. */
export interface ServedCertificate {
  /** Undefined: the first one is still being asked for. */
  readonly current: PemPair | undefined;
  readonly rotation?: CertificateRotation | undefined;
  /** Calls `taken` with each newer one, until the kubelet ends. */
  follow(taken: (pair: PemPair) => void): Promise<void>;
}

export interface ServingRotationOptions extends RotationOptions {
  /** As the Node's status tells them now. */
  readonly addresses: () => readonly NodeAddress[];
}

/** Requests are approved by people, or by whom they appoint. */
export function rotatedServing({ folder, nodeName, addresses, ...options }: ServingRotationOptions): ServedCertificate {
  const pems = ({ certificatePem, keyPem }: KeyPair): PemPair => ({ certificate: certificatePem, key: keyPem });
  let taken: (pair: PemPair) => void = () => {};
  const rotation = new CertificateRotation({
    ...options,
    keys: systemKeys,
    files: openFiles(folder, 'kubelet-server'),
    template: () => servingTemplate(nodeName, addresses()),
    signerName: kubeletSigners.serving,
    use: 'server auth',
    onRotated: (pair) => taken(pems(pair)),
  });
  return {
    current: rotation.current && pems(rotation.current),
    rotation,
    follow(callback) {
      taken = callback;
      return rotation.run();
    },
  };
}

/** Undefined for a node of which no address is known yet: nobody signs a name that cannot be checked. */
function servingTemplate(nodeName: string, addresses: readonly NodeAddress[]): CertificateTemplate | undefined {
  const distinct = (isWanted: (address: NodeAddress) => boolean) =>
    [...new Set(addresses.filter(isWanted).map(({ address }) => address))].sort();
  const hasIp = ({ type, address }: NodeAddress) => !type.endsWith('DNS') && isIp(address);
  const hasName = ({ type, address }: NodeAddress) => type.endsWith('DNS') || (type === 'Hostname' && !isIp(address));
  const ipAddresses = distinct(hasIp);
  return ipAddresses.length > 0 ? { ...nodeTemplate(nodeName), dnsNames: distinct(hasName), ipAddresses } : undefined;
}

function openFiles(folder: string, name: string): CertificateFiles {
  try {
    const files = new CertificateFiles({ folder, name });
    files.current();
    return files;
  } catch (error) {
    throw new CommandError(
      `the certificate in ${folder} cannot be used: ${messageOf(error)}`,
      'Remove the file; the kubelet asks for another certificate.',
    );
  }
}
