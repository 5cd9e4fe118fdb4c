/** Who a certificate signing request is for. */
import { parseCertificateRequest } from '../../pki/certificate-request.ts';

export interface CertificateRequestSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** `request` is base64 of PEM, as in `spec.request`. Throws for what is no request. */
export function certificateRequestSubject(request: string): CertificateRequestSubject {
  return parseCertificateRequest(Buffer.from(request ?? '', 'base64').toString('latin1')).subject;
}
