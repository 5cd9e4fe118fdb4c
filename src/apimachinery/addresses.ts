/**
 * IP addresses and address ranges: parsing as strict or as lenient as the API asks, canonical text (RFC 5952), and arithmetic on
 * them as numbers for whoever hands out addresses.
 */
import { type FieldError, type FieldPath, invalid } from './field-error.ts';
import { quote } from './go-text.ts';

export type IpFamily = 4 | 6;

export interface IpAddress {
  readonly family: IpFamily;
  readonly value: bigint;
  /** Written as `::ffff:1.2.3.4`; `family` and `value` are then those of the IPv4 address. */
  readonly mapped: boolean;
  /** Some part of a dotted address has leading zeros, which Go once took and others read as octal. */
  readonly leadingZeros: boolean;
}

export interface Cidr {
  /** The address before the slash, bits below the prefix included. */
  readonly address: IpAddress;
  /** First address of the range. */
  readonly base: bigint;
  readonly family: IpFamily;
  readonly prefixLength: number;
  readonly leadingZeros: boolean;
}

/** Lenient: leading zeros in IPv4 parts are taken as decimal. Zones (`%eth0`) are refused. */
export function parseIp(text: string): IpAddress | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

export function isIp(text: string, family?: IpFamily): boolean {
  const address = parseIp(text);
  return address !== undefined && (family === undefined || address.family === family);
}

export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/');
  const address = slash < 0 ? undefined : parseIp(text.slice(0, slash));
  const lengthText = text.slice(slash + 1);
  if (!address || !/^[0-9]{1,5}$/.test(lengthText)) return undefined;
  // A mapped IPv4 address is measured in its IPv6 form.
  const written = Number(lengthText);
  const prefixLength = address.mapped ? written - 96 : written;
  if (prefixLength < 0 || prefixLength > bitsOf(address.family)) return undefined;
  const hostBits = BigInt(bitsOf(address.family) - prefixLength);
  return {
    address,
    base: (address.value >> hostBits) << hostBits,
    family: address.family,
    prefixLength,
    leadingZeros: address.leadingZeros || (lengthText.length > 1 && lengthText.startsWith('0')),
  };
}

export function bitsOf(family: IpFamily): 32 | 128 {
  return family === 4 ? 32 : 128;
}

/** Canonical text of an address. */
export function formatIp(address: { readonly family: IpFamily; readonly value: bigint }): string {
  return address.family === 4 ? formatIpv4(address.value) : formatIpv6(address.value);
}

/** Canonical text of a range: `10.0.0.0/8`. */
export function formatCidr(cidr: Pick<Cidr, 'base' | 'family' | 'prefixLength'>): string {
  return `${formatIp({ family: cidr.family, value: cidr.base })}/${cidr.prefixLength}`;
}

export function cidrContains(cidr: Cidr, address: Pick<IpAddress, 'family' | 'value'>): boolean {
  const hostBits = BigInt(bitsOf(cidr.family) - cidr.prefixLength);
  return address.family === cidr.family && address.value >> hostBits === cidr.base >> hostBits;
}

/** Whether all addresses of `inner` are addresses of `outer`. */
export function cidrIncludes(outer: Cidr, inner: Cidr): boolean {
  return outer.prefixLength <= inner.prefixLength && cidrContains(outer, { family: inner.family, value: inner.base });
}

/** Number of addresses in the range. */
export function cidrSize(cidr: Pick<Cidr, 'family' | 'prefixLength'>): bigint {
  return 1n << BigInt(bitsOf(cidr.family) - cidr.prefixLength);
}

/** 127.0.0.0/8; ::1. */
export function isLoopback(address: Pick<IpAddress, 'family' | 'value'>): boolean {
  return address.family === 4 ? leadingBits(address, 8) === 127n : address.value === 1n;
}

/** 169.254.0.0/16; fe80::/10. */
export function isLinkLocalUnicast(address: Pick<IpAddress, 'family' | 'value'>): boolean {
  return address.family === 4 ? leadingBits(address, 16) === 0xa9fen : leadingBits(address, 10) === 0x3fan;
}

/** 224.0.0.0/24; every ff?2::/16. */
export function isLinkLocalMulticast(address: Pick<IpAddress, 'family' | 'value'>): boolean {
  if (address.family === 4) return leadingBits(address, 24) === 0xe00000n;
  return (leadingBits(address, 16) & 0xff0fn) === 0xff02n;
}

export function leadingBits({ family, value }: Pick<IpAddress, 'family' | 'value'>, count: number): bigint {
  return value >> BigInt(bitsOf(family) - count);
}

/** Errors of an address in a field that must be canonical. */
export function validateIp(text: string, at: FieldPath): FieldError[] {
  const errors = validateLegacyIp(text, at, true);
  if (errors.length > 0) return errors;
  const canonical = formatIp(parseIp(text)!);
  return text === canonical ? [] : [invalid(at, text, `must be in canonical form (${quote(canonical)})`)];
}

/** Errors of an address in an older field; `strict` refuses leading zeros and mapped addresses. */
export function validateLegacyIp(text: string, at: FieldPath, strict = true): FieldError[] {
  const address = parseIp(text);
  if (!address) return [invalid(at, text, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')];
  if (!strict) return [];
  return [
    ...(address.leadingZeros ? [invalid(at, text, 'must not have leading 0s')] : []),
    ...(address.mapped ? [invalid(at, text, 'must not be an IPv4-mapped IPv6 address')] : []),
  ];
}

/** Errors of a range in a field that must be canonical. */
export function validateCidr(text: string, at: FieldPath): FieldError[] {
  const errors = validateLegacyCidr(text, at, true);
  if (errors.length > 0) return errors;
  const canonical = formatCidr(parseCidr(text)!);
  return text === canonical ? [] : [invalid(at, text, `must be in canonical form (${quote(canonical)})`)];
}

/** Errors of a range in an older field. */
export function validateLegacyCidr(text: string, at: FieldPath, strict = true): FieldError[] {
  const cidr = parseCidr(text);
  if (!cidr) return [invalid(at, text, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)')];
  if (!strict) return [];
  if (cidr.leadingZeros) return [invalid(at, text, 'must not have leading 0s in IP or prefix length')];
  if (cidr.address.mapped) return [invalid(at, text, 'must not have an IPv4-mapped IPv6 address')];
  if (cidr.address.value !== cidr.base) return [invalid(at, text, 'must not have bits set beyond the prefix length')];
  return [];
}

/** What the server warns of for an address it accepts. */
export function ipWarnings(text: string, at: FieldPath): string[] {
  const address = parseIp(text);
  if (!address) return [];
  const canonical = formatIp(address);
  if (address.leadingZeros || address.mapped) {
    return [`${at}: non-standard IP address ${quote(text)} is invalid: use ${quote(canonical)}`];
  }
  if (address.family === 4 || canonical === text) return [];
  return [`${at}: IPv6 address ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`];
}

/** What the server warns of for a range it accepts. */
export function cidrWarnings(text: string, at: FieldPath): string[] {
  const cidr = parseCidr(text);
  if (!cidr) return [];
  const canonical = quote(formatCidr(cidr));
  const warnings: string[] = [];
  if (cidr.address.value !== cidr.base) {
    const single = quote(`${formatIp(cidr.address)}/${bitsOf(cidr.family)}`);
    warnings.push(
      `${at}: CIDR value ${quote(text)} is ambiguous in this context (should be ${canonical} or ${single}?)`,
    );
  }
  if (cidr.leadingZeros || cidr.address.mapped) {
    warnings.push(`${at}: non-standard CIDR value ${quote(text)} is invalid: use ${canonical}`);
  }
  if (warnings.length === 0 && cidr.family === 6 && quote(text) !== canonical) {
    warnings.push(`${at}: IPv6 CIDR value ${quote(text)} should be in RFC 5952 canonical format (${canonical})`);
  }
  return warnings;
}

function parseIpv4(text: string): IpAddress | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^[0-9]{1,9}$/.test(part) && Number(part) < 256)) return undefined;
  return {
    family: 4,
    value: parts.reduce((sum, part) => sum * 256n + BigInt(Number(part)), 0n),
    mapped: false,
    leadingZeros: parts.some((part) => part.length > 1 && part.startsWith('0')),
  };
}

function parseIpv6(text: string): IpAddress | undefined {
  const lastColon = text.lastIndexOf(':');
  const dotted = text.includes('.') ? parseIpv4(text.slice(lastColon + 1)) : undefined;
  if (text.includes('.') && !dotted) return undefined;
  // The dotted tail stands for two groups.
  const tail = dotted ? `${(dotted.value >> 16n).toString(16)}:${(dotted.value & 0xffffn).toString(16)}` : '';
  const groups = expandGroups(dotted ? text.slice(0, lastColon + 1) + tail : text);
  if (!groups) return undefined;
  const value = groups.reduce((sum, group) => (sum << 16n) + BigInt(Number.parseInt(group, 16)), 0n);
  const mapped = value >> 32n === 0xffffn;
  return {
    family: mapped ? 4 : 6,
    value: mapped ? value & 0xffffffffn : value,
    mapped,
    leadingZeros: dotted?.leadingZeros ?? false,
  };
}

/** `fe80::1` -> eight groups; undefined where the text is no IPv6 address. */
function expandGroups(text: string): string[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const groups = [...head!, ...(tail ?? [])];
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  if (tail === undefined) return groups.length === 8 ? groups : undefined;
  if (groups.length > 7) return undefined;
  return [...head!, ...Array<string>(8 - groups.length).fill('0'), ...tail];
}

function formatIpv4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
}

/** The longest run of two or more zero groups becomes `::`, the first of equals. */
function formatIpv6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => Number((value >> BigInt(112 - 16 * i)) & 0xffffn));
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const text = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':');
  if (best.start < 0) return text(groups);
  return `${text(groups.slice(0, best.start))}::${text(groups.slice(best.start + best.length))}`;
}
