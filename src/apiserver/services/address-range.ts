/** The addresses of one service CIDR. The network's own address is never handed out, nor IPv4's broadcast address. */

import type { IPFamily } from '../../api/gen/core-v1.ts';
import {
  type Cidr,
  cidrSize,
  formatCidr,
  formatIp,
  type IpAddress,
  parseCidr,
  parseIp,
} from '../../apimachinery/addresses.ts';
import type { Random } from '../../base/random.ts';
import { lowerBandOf, NumberRange } from './number-range.ts';

const widestIpv6Prefix = 64;
/** Upstream caps ranges it can hold; beyond that the lower band is as large as it gets anyway. */
const bandRule = { step: 16n, least: 16n, most: 256n };

export class AddressRange {
  readonly family: IPFamily;
  readonly text: string;
  readonly numbers: NumberRange;
  readonly #cidr: Cidr;

  /** Throws when the text is no CIDR, or one too wide. */
  constructor(text: string, random: Random) {
    const cidr = parseCidr(text);
    if (!cidr) throw new Error(`invalid CIDR address: ${text}`);
    if (cidr.family === 6 && cidr.prefixLength < widestIpv6Prefix) {
      throw new Error(`shortest allowed prefix length for service CIDR is 64, got ${cidr.prefixLength}`);
    }
    const size = cidrSize(cidr);
    const last = cidr.base + size - (cidr.family === 4 ? 2n : 1n);
    this.#cidr = cidr;
    this.family = cidr.family === 4 ? 'IPv4' : 'IPv6';
    this.text = formatCidr(cidr);
    this.numbers = new NumberRange({ first: cidr.base + 1n, last, lowerBand: lowerBandOf(size, bandRule), random });
  }

  /** Whether the address lies within the CIDR, though perhaps as one that is never handed out. */
  covers(address: IpAddress): boolean {
    const size = cidrSize(this.#cidr);
    return (
      address.family === this.#cidr.family && address.value >= this.#cidr.base && address.value < this.#cidr.base + size
    );
  }

  readonly format = (value: bigint): string => formatIp({ family: this.#cidr.family, value });

  /** The network's own, which nobody gets. */
  get networkAddress(): string {
    return this.format(this.#cidr.base);
  }

  /** The first address, which the `kubernetes` Service has. */
  get firstAddress(): string {
    return this.format(this.numbers.first);
  }
}

export function familyOf(text: string): IPFamily | undefined {
  const address = parseIp(text);
  return address && (address.family === 4 ? 'IPv4' : 'IPv6');
}
