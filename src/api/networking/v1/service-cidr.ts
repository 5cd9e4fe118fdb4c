/** ServiceCIDRs: ranges that addresses of Services are taken from. */
import { parseCidr, validateCidr } from '../../../apimachinery/addresses.ts';
import { type FieldError, invalid, path, required } from '../../../apimachinery/field-error.ts';
import { immutableMessage } from '../../../apimachinery/names.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { type ServiceCIDR, serviceCIDRs } from '../../gen/networking-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { statusKeepsMetadata } from '../../strategy.ts';

export const serviceCidrBehaviour: KindBehaviour<ServiceCIDR> = {
  resource: serviceCIDRs,
  countsGeneration: false,
  validate: ({ spec }) => validateRanges(spec?.cidrs ?? []),
  validateUpdate,
  subresources: { status: statusKeepsMetadata },
  columns: [nameColumn, text('CIDRs', ({ spec }) => (spec?.cidrs ?? []).join(',')), ageColumn],
};

const at = path('spec', 'cidrs');

function validateRanges(ranges: readonly string[]): FieldError[] {
  if (ranges.length === 0) return [required(at, 'at least one CIDR required')];
  if (ranges.length > 2) return [invalid(at, ranges, 'may only hold up to 2 values')];
  const errors = ranges.flatMap((range, index) => validateCidr(range, at.index(index)));
  const [first, second] = ranges.map((range) => parseCidr(range)?.family);
  if (first !== undefined && first === second) {
    const message = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64';
    errors.push(invalid(at, ranges, message));
  }
  return errors;
}

/** Only a second family may be added. */
function validateUpdate({ spec }: ServiceCIDR, previous: ServiceCIDR): FieldError[] {
  const next = spec?.cidrs ?? [];
  const stored = previous.spec?.cidrs ?? [];
  if (next.length === stored.length) {
    return next.flatMap((range, index) =>
      range === stored[index] ? [] : [invalid(at.index(index), range, immutableMessage)],
    );
  }
  if (stored.length !== 1 || next.length !== 2) return [invalid(at, next, immutableMessage)];
  const changed = next[0] === stored[0] ? [] : [invalid(at.index(0), next[0], immutableMessage)];
  return [...changed, ...validateRanges(next)];
}
