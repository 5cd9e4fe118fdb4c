/** Addresses of a node's Pods: taken in order from its range, used again only when the range has been gone through. */

export class AddressPool {
  readonly #cidr: () => string | undefined;
  readonly #used = new Set<string>();
  #current = '';
  #next = 2;

  constructor(cidr: () => string | undefined) {
    this.#cidr = cidr;
  }

  take(): string {
    const cidr = this.#cidr() ?? '10.88.0.0/16';
    if (cidr !== this.#current) {
      this.#current = cidr;
      this.#next = 2;
    }
    const [base, size] = parse(cidr);
    // The first address is the gateway's, the last the broadcast's.
    for (let tries = 0; tries < size; tries++) {
      const address = format(base + this.#next);
      this.#next = this.#next + 1 >= size - 1 ? 2 : this.#next + 1;
      if (this.#used.has(address)) continue;
      this.#used.add(address);
      return address;
    }
    throw new Error(`no IP addresses available in network: ${cidr}`);
  }

  giveBack(address: string): void {
    this.#used.delete(address);
  }
}

function parse(cidr: string): [base: number, size: number] {
  const [address = '', bits = '24'] = cidr.split('/');
  const base = address.split('.').reduce((value, part) => value * 256 + Number(part), 0);
  const size = 2 ** (32 - Number(bits));
  return [base - (base % size), size];
}

function format(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}
