/**
 * JSON Web Signatures without their content, which stands beside them: `header..signature`, with HMAC-SHA256 and a secret that both sides
 * know. A cluster signs with each bootstrap token what a machine needs to know to join.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface SharedSecret {
  readonly id: string;
  readonly secret: string;
}

export function detachedSignature(content: string, { id, secret }: SharedSecret): string {
  const encode = (text: string) => Buffer.from(text).toString('base64url');
  const header = encode(JSON.stringify({ alg: 'HS256', kid: id }));
  const signature = createHmac('sha256', secret)
    .update(`${header}.${encode(content)}`)
    .digest('base64url');
  return `${header}..${signature}`;
}

/** Only what this very function's counterpart writes is believed: no other algorithm, no other header. */
export function isSignedWith(
  content: string,
  { signature, secret }: { readonly signature: string; readonly secret: SharedSecret },
): boolean {
  const expected = Buffer.from(detachedSignature(content, secret));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
