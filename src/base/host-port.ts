/** A host and a port in one text, as URLs, dialers and the `Host` header have them. */

/** `10.0.0.1:80`, `example.com:80`; an IPv6 address stands in brackets: `[fd00::1]:80`. */
export function hostPort({ host, port }: { readonly host: string; readonly port: number | string }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
