/** PEM, the text form of keys and certificates: blocks of base64 between labelled lines, with any other text around them. */

export interface PemBlock {
  /** `CERTIFICATE`, `CERTIFICATE REQUEST`, `EC PRIVATE KEY`, ... */
  readonly label: string;
  readonly bytes: Buffer;
}

export function encodePem(label: string, bytes: Uint8Array): string {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** All blocks of a text, in order; what stands between them is skipped. */
export function decodePem(text: string): PemBlock[] {
  const pattern = /-----BEGIN ([A-Z0-9 ]+)-----([\s\S]*?)-----END \1-----/g;
  return [...text.matchAll(pattern)].map(([, label, body]) => ({
    label: label!,
    bytes: Buffer.from(body!.replace(/^.*:.*$/gm, ''), 'base64'),
  }));
}
