/** PodCertificateRequests: a kubelet asks a signer for the certificate of a Pod. */
import { ageless, labelsText, nameColumn, text } from '../../columns.ts';
