/** How much a Secret or a ConfigMap may hold, and how to count it without decoding. */

export const largestSecretBytes = 1024 * 1024;

/** Number of bytes that a base64 text stands for. */
export function base64Length(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.floor((text.length * 3) / 4) - padding;
}
