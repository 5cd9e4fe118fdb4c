/**
 * Why a text is no address or range: the words of Go's `net/netip`, which end up in what users read. The address itself is read
 * by `addresses.ts`; this walks the text as Go does to name the first thing wrong with it.
 */
import { type Cidr, type IpAddress, parseCidr, parseIp } from '../../addresses.ts';
import { quote } from '../../go-text.ts';

class AddressError extends Error {
  override readonly name: string = 'AddressError';
}

/** An address without a zone, not an IPv4 one dressed as IPv6. Throws `AddressError`. */
export function strictIp(text: string): IpAddress {
  const fault = addressFault(text);
  if (fault !== undefined) {
    throw new AddressError(`IP Address ${quote(text)} parse error during conversion from string: ${fault}`);
  }
  if (text.includes('%')) throw new AddressError(`IP address ${quote(text)} with zone value is not allowed`);
  return unmapped(text, parseIp(text));
}

/** A range whose address is such a one. Throws `AddressError`. */
export function strictCidr(text: string): Cidr {
  const fault = prefixFault(text);
  if (fault !== undefined) {
    const words = `netip.ParsePrefix(${quote(text)}): ${fault}`;
    throw new AddressError(`network address parse error during conversion from string: ${words}`);
  }
  unmapped(text, parseIp(text.slice(0, text.lastIndexOf('/'))));
  return parseCidr(text)!;
}

function unmapped(text: string, address: IpAddress | undefined): IpAddress {
  if (!address || address.mapped) {
    throw new AddressError(`IPv4-mapped IPv6 address ${quote(text)} is not allowed`);
  }
  return address;
}

function prefixFault(text: string): string | undefined {
  const slash = text.lastIndexOf('/');
  if (slash < 0) return "no '/'";
  const address = text.slice(0, slash);
  const fault = addressFault(address);
  if (fault !== undefined) return fault;
  if (address.includes('%')) return 'IPv6 zones cannot be present in a prefix';
  const bits = text.slice(slash + 1);
  if (!/^(?:0|[1-9][0-9]*)$/.test(bits)) return `bad bits after slash: ${quote(bits)}`;
  if (BigInt(bits) >= 1n << 63n) return `bad bits after slash: ${quote(bits)}`;
  return Number(bits) > (address.includes(':') ? 128 : 32) ? 'prefix length out of range' : undefined;
}

/** `ParseAddr("1.2"): IPv4 address too short`, or undefined for an address. */
function addressFault(text: string): string | undefined {
  const fault = faultOf(text);
  if (!fault) return undefined;
  const at = fault.at === undefined || fault.at === '' ? '' : ` (at ${quote(fault.at)})`;
  return `ParseAddr(${quote(text)}): ${fault.words}${at}`;
}

interface Fault {
  readonly words: string;
  /** The rest of the text from the fault on. */
  readonly at?: string;
}

function faultOf(text: string): Fault | undefined {
  const first = /[.:%]/.exec(text)?.[0];
  if (first === '.') return ipv4Fault(text);
  if (first === ':') return ipv6Fault(text);
  return { words: first === '%' ? 'missing IPv6 address' : 'unable to parse IP' };
}

function ipv4Fault(text: string): Fault | undefined {
  let dots = 0;
  let octet = '';
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!;
    if (/[0-9]/.test(character)) {
      if (octet === '0') return { words: 'IPv4 field has octet with leading zero' };
      octet += character;
      if (Number(octet) > 255) return { words: 'IPv4 field has value >255' };
    } else if (character === '.') {
      if (octet === '' || i === text.length - 1) {
        return { words: 'IPv4 field must have at least one digit', at: text.slice(i) };
      }
      if (dots === 3) return { words: 'IPv4 address too long' };
      dots++;
      octet = '';
    } else return { words: 'unexpected character', at: text.slice(i) };
  }
  return dots < 3 ? { words: 'IPv4 address too short' } : undefined;
}

function ipv6Fault(text: string): Fault | undefined {
  const percent = text.indexOf('%');
  if (percent >= 0 && percent === text.length - 1) return { words: 'zone must be a non-empty string' };
  let rest = percent < 0 ? text : text.slice(0, percent);
  let ellipsis = rest.startsWith('::');
  if (ellipsis) rest = rest.slice(2);
  if (ellipsis && rest === '') return undefined;
  let groups = 0;
  while (groups < 8) {
    const digits = /^[0-9a-fA-F]*/.exec(rest)![0];
    if (digits.length > 4) return { words: 'each group must have 4 or fewer digits', at: rest };
    if (digits === '') return { words: 'each colon-separated field must have at least one digit', at: rest };
    if (rest[digits.length] === '.') return embeddedFault(rest, { groups, ellipsis });
    groups++;
    rest = rest.slice(digits.length);
    if (rest === '') break;
    if (!rest.startsWith(':')) return { words: 'unexpected character, want colon', at: rest };
    if (rest === ':') return { words: 'colon must be followed by more characters', at: rest };
    rest = rest.slice(1);
    if (!rest.startsWith(':')) continue;
    if (ellipsis) return { words: 'multiple :: in address', at: rest };
    ellipsis = true;
    rest = rest.slice(1);
    if (rest === '') break;
  }
  if (rest !== '') return { words: 'trailing garbage after address', at: rest };
  return lengthFault(groups, ellipsis);
}

/** The last two groups may be written as an IPv4 address. */
function embeddedFault(rest: string, before: { groups: number; ellipsis: boolean }): Fault | undefined {
  if (!before.ellipsis && before.groups !== 6) {
    return { words: 'embedded IPv4 address must replace the final 2 fields of the address', at: rest };
  }
  if (before.groups > 6) {
    return { words: 'too many hex fields to fit an embedded IPv4 at the end of the address', at: rest };
  }
  return ipv4Fault(rest) ?? lengthFault(before.groups + 2, before.ellipsis);
}

function lengthFault(groups: number, ellipsis: boolean): Fault | undefined {
  if (groups < 8 && !ellipsis) return { words: 'address string too short' };
  if (groups >= 8 && ellipsis) return { words: 'the :: must expand to at least one field of zeros' };
  return undefined;
}
