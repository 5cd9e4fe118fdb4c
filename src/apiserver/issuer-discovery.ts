/**
 * Where others find the keys of our service account tokens: the documents of OpenID Connect Discovery, as far as the issuer's
 * name allows them.
 */
import { messageOf } from '../apimachinery/status.ts';
import type { Log } from '../base/log.ts';
import {
  discoveryContentType,
  discoveryDocument,
  discoveryMaxAgeSeconds,
  discoveryPath,
  keySetContentType,
  keySetPath,
} from '../pki/discovery.ts';
import type { TokenSigner } from '../pki/token-signer.ts';
import { textResponse } from './pages.ts';
import type { Handler } from './request.ts';

export interface IssuerDiscoveryOptions {
  readonly signer: TokenSigner;
  /** `--service-account-jwks-uri`. */
  readonly keySetUri?: string | undefined;
  /** `host:port` under which others reach this server. */
  readonly externalAddress: string;
  readonly log: Log;
}

/** By path; none for an issuer that is no HTTPS address, which is told in the log. */
export function issuerDiscoveryPages(options: IssuerDiscoveryOptions): ReadonlyMap<string, Handler> {
  const { signer, keySetUri, externalAddress, log } = options;
  try {
    const location = keySetUri ? { uri: keySetUri } : { externalAddress };
    const document = () => discoveryDocument(signer, location);
    // What cannot be served is known at once; what is served follows the signer's keys.
    document();
    const maxAgeSeconds = () => signer.keySetMaxAgeSeconds?.() ?? discoveryMaxAgeSeconds;
    return new Map([
      [discoveryPath, page(document, discoveryContentType, maxAgeSeconds)],
      [keySetPath, page(() => signer.jwks(), keySetContentType, maxAgeSeconds)],
    ]);
  } catch (error) {
    log.warn('the keys of service account tokens are not served', { reason: messageOf(error) });
    return new Map();
  }
}

function page(content: () => object, contentType: string, maxAgeSeconds: () => number): Handler {
  return async ({ method }) => {
    if (method !== 'GET' && method !== 'HEAD') return textResponse(405, '405: Method Not Allowed');
    const headers = { 'content-type': contentType, 'cache-control': `public, max-age=${maxAgeSeconds()}` };
    return { status: 200, headers, body: { kind: 'bytes', chunks: [Buffer.from(JSON.stringify(content()))] } };
  };
}
