/** Leases: who holds what, and until when unless they renew it. */
import { type FieldError, forbidden, invalid, path } from '../../../apimachinery/field-error.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import { type Lease, leases } from '../../gen/coordination-v1.ts';
import type { KindBehaviour, StrategyContext } from '../../kind.ts';
import { validateNonNegative } from '../../validation.ts';
import { validateStrategy } from '../strategy-validation.ts';

export const leaseBehaviour: KindBehaviour<Lease> = {
  resource: leases,
  defaults(lease) {
    partOf(lease, 'spec');
  },
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: (lease, context) => dropElection(lease, undefined, context),
  prepareForUpdate: dropElection,
  validate,
  columns: [nameColumn, text('Holder', ({ spec }) => spec?.holderIdentity ?? ''), ageColumn],
};

/** What only the coordinated election reads, which is off by default, is not kept; what was kept while it was on may change. */
function dropElection({ spec }: Draft<Lease>, previous: Lease | undefined, { featureGates }: StrategyContext): void {
  if (!spec || featureGates?.CoordinatedLeaderElection) return;
  if (previous?.spec?.strategy == null) delete spec.strategy;
  if (previous?.spec?.preferredHolder == null) delete spec.preferredHolder;
}

function validate({ spec = {} }: Lease): FieldError[] {
  const at = path('spec');
  const { leaseDurationSeconds: seconds, leaseTransitions, strategy, preferredHolder } = spec;
  const errors: FieldError[] = [];
  if (seconds != null && seconds <= 0) {
    errors.push(invalid(at.child('leaseDurationSeconds'), seconds, 'must be greater than 0'));
  }
  errors.push(...validateNonNegative(at.child('leaseTransitions'), leaseTransitions));
  if (strategy != null) errors.push(...validateStrategy(at.child('strategy'), strategy));
  if (preferredHolder && !strategy) {
    errors.push(forbidden(at.child('preferredHolder'), 'may only be specified if `strategy` is defined'));
  }
  return errors;
}
