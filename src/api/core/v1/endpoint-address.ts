/** Addresses that traffic may be sent to: not those that mean "here" on whatever machine reads them. */
import { isLinkLocalMulticast, isLinkLocalUnicast, isLoopback, parseIp } from '../../../apimachinery/addresses.ts';
import { type FieldError, type FieldPath, invalid } from '../../../apimachinery/field-error.ts';

export function validateEndpointIp(at: FieldPath, ip: string): FieldError[] {
  const address = parseIp(ip);
  if (!address) return [invalid(at, ip, 'must be a valid IP address')];
  const errors: FieldError[] = [];
  if (address.value === 0n) errors.push(invalid(at, ip, `may not be unspecified (${ip})`));
  if (isLoopback(address)) {
    errors.push(invalid(at, ip, 'may not be in the loopback range (127.0.0.0/8, ::1/128)'));
  }
  if (isLinkLocalUnicast(address)) {
    errors.push(invalid(at, ip, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'));
  }
  if (isLinkLocalMulticast(address)) {
    errors.push(invalid(at, ip, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'));
  }
  return errors;
}
