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
    const document = discoveryDocument(signer, location);
    return new Map([
      [discoveryPath, page(JSON.stringify(document), discoveryContentType)],
      [keySetPath, page(JSON.stringify(signer.jwks()), keySetContentType)],
    ]);
  } catch (error) {
    log.warn('the keys of service account tokens are not served', { reason: messageOf(error) });
    return new Map();
  }
}

function page(text: string, contentType: string): Handler {
  const body = Buffer.from(text);
  const headers = { 'content-type': contentType, 'cache-control': `public, max-age=${discoveryMaxAgeSeconds}` };
  return async ({ method }) => {
    if (method !== 'GET' && method !== 'HEAD') return textResponse(405, '405: Method Not Allowed');
    return { status: 200, headers, body: { kind: 'bytes', chunks: [body] } };
  };
}
