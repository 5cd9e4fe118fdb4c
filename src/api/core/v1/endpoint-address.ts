/** Addresses that traffic may be sent to: not those that mean "here" on whatever machine reads them. */
import { type IpAddress, parseIp } from '../../../apimachinery/addresses.ts';
import { type FieldError, type FieldPath, invalid } from '../../../apimachinery/field-error.ts';

export function validateEndpointIp(at: FieldPath, ip: string): FieldError[] {
  const address = parseIp(ip);
  if (!address) return [invalid(at, ip, 'must be a valid IP address')];
  const errors: FieldError[] = [];
  if (address.value === 0n) errors.push(invalid(at, ip, `may not be unspecified (${ip})`));
  if (isLoopback(address)) {
    errors.push(invalid(at, ip, 'may not be in the loopback range (127.0.0.0/8, ::1/128)'));
  }
  if (isLinkLocal(address)) {
    errors.push(invalid(at, ip, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'));
  }
  if (isLinkLocalMulticast(address)) {
    errors.push(invalid(at, ip, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'));
  }
  return errors;
}

function isLoopback({ family, value }: IpAddress): boolean {
  return family === 4 ? value >> 24n === 127n : value === 1n;
}

function isLinkLocal({ family, value }: IpAddress): boolean {
  return family === 4 ? value >> 16n === 0xa9fen : value >> 118n === 0x3fan;
}

function isLinkLocalMulticast({ family, value }: IpAddress): boolean {
  if (family === 4) return value >> 8n === 0xe00000n;
  // Any multicast address (ff..) whose scope is the link (2).
  return value >> 120n === 0xffn && ((value >> 112n) & 0xfn) === 2n;
}
