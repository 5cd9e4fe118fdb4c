/** The client's certificates of a TLS connection, as it sent them: nothing is verified here, authentication does that. */
import type { TLSSocket } from 'node:tls';

/** In DER, leaf first; empty without TLS or without a certificate. */
export function peerChain(socket: TLSSocket): Buffer[] {
  if (typeof socket.getPeerCertificate !== 'function') return [];
  const chain: Buffer[] = [];
  let certificate = socket.getPeerCertificate(true);
  while (certificate?.raw && !chain.some((known) => known.equals(certificate.raw))) {
    chain.push(certificate.raw);
    certificate = certificate.issuerCertificate;
  }
  return chain;
}
