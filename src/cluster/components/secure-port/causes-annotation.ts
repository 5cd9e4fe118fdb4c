/**
 * Where a component that runs on its own keeps what it says of held-up objects: at its secure port, which its leader's Lease names. The
 * Lease also holds the port's certificate, since it is the component's own more often than not, and whoever may read the Lease then knows
 * whom to believe.
 */

/** Of the leader's Lease. */
export const causesAnnotation = 'coracle.io/causes';

export interface CausesAddress {
  /** Who led when it was written: an address of somebody who no longer does is stale. */
  readonly holder: string;
  readonly url: string;
  /** PEM. */
  readonly certificate: string;
}

export function causesAddressOf(annotations: Readonly<Record<string, string>> | undefined): CausesAddress | undefined {
  try {
    const { holder, url, certificate } = JSON.parse(annotations?.[causesAnnotation] ?? '') as Partial<CausesAddress>;
    const isWhole = [holder, url, certificate].every((part) => typeof part === 'string' && part !== '');
    return isWhole && URL.canParse(url ?? '') ? ({ holder, url, certificate } as CausesAddress) : undefined;
  } catch {
    return undefined;
  }
}
