/** How a server behind this one is told who asks; it believes them from whoever shows the front proxy's certificate. */
import type { UserInfo } from '../request.ts';

export function userHeaders({ name, uid, groups, extra = {} }: UserInfo): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { 'x-remote-user': headerText(name) };
  if (uid) headers['x-remote-uid'] = headerText(uid);
  if (groups.length > 0) headers['x-remote-group'] = groups.map(headerText);
  for (const [key, values] of Object.entries(extra)) {
    if (values.length > 0) headers[`x-remote-extra-${escapedKey(key)}`] = values.map(headerText);
  }
  return headers;
}

/** Bytes that no header name takes are percent-encoded; the percent sign too. */
function escapedKey(key: string): string {
  return Array.from(Buffer.from(key), (byte) => {
    const character = String.fromCharCode(byte);
    return /[!#$&'*+.^_`|~0-9A-Za-z-]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
}

/** Node.js writes headers as Latin-1: the bytes of UTF-8 go through as such. */
function headerText(text: string): string {
  return Buffer.from(text).toString('latin1');
}
