/** PriorityLevelConfigurations: how many requests of a level run at once, and what becomes of the others. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { fillAbsent, fillEmpty, partOf } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import {
  type ExemptPriorityLevelConfiguration,
  type LimitedPriorityLevelConfiguration,
  type LimitResponse,
  type PriorityLevelConfiguration,
  type PriorityLevelConfigurationSpec,
  priorityLevelConfigurations,
  type QueuingConfiguration,
} from '../../gen/flowcontrol-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateConditionTypes } from './condition-types.ts';
import { flowSchemaBehaviour } from './flow-schema.ts';
import { exemptName, mandatoryLevelSpec } from './mandatory.ts';

/** Where v1beta3 kept what it could not say; it never reaches storage. */
const roundTripKey = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares';
const mostQueues = 10_000_000;
/** A request's hand of queues is dealt from a hash of this many bits. */
const hashBits = 60;

export const priorityLevelConfigurationBehaviour: KindBehaviour<PriorityLevelConfiguration> = {
  resource: priorityLevelConfigurations,
  countsGeneration: true,
  defaults(level) {
    const { exempt, limited } = partOf(level, 'spec');
    if (exempt) {
      fillAbsent(exempt, 'nominalConcurrencyShares', 0);
      fillAbsent(exempt, 'lendablePercent', 0);
    }
    if (!limited) return;
    fillAbsent(limited, 'nominalConcurrencyShares', 30);
    fillAbsent(limited, 'lendablePercent', 0);
    const queuing = limited.limitResponse?.queuing;
    if (!queuing) return;
    fillEmpty(queuing, 'handSize', 8);
    fillEmpty(queuing, 'queues', 64);
    fillEmpty(queuing, 'queueLengthLimit', 50);
  },
  validate,
  subresources: {
    status: {
      prepareForUpdate: flowSchemaBehaviour.subresources!.status!.prepareForUpdate! as never,
      validateUpdate: ({ status }) => validateConditionTypes(status),
    },
  },
  columns: [
    nameColumn,
    text('Type', ({ spec }) => spec.type),
    text('NominalConcurrencyShares', ({ spec }) => spec.limited?.nominalConcurrencyShares ?? '<none>'),
    text('Queues', (level) => queuingOf(level)?.queues ?? '<none>'),
    text('HandSize', (level) => queuingOf(level)?.handSize ?? '<none>'),
    text('QueueLengthLimit', (level) => queuingOf(level)?.queueLengthLimit ?? '<none>'),
    ageColumn,
  ],
};

function queuingOf({ spec }: PriorityLevelConfiguration): QueuingConfiguration | undefined {
  return spec.limited?.limitResponse?.queuing;
}

function validate({ metadata, spec, status }: PriorityLevelConfiguration): FieldError[] {
  const at = path('spec');
  const { type = '', limited, exempt } = spec;
  const errors: FieldError[] = [];
  if (Object.hasOwn(metadata.annotations ?? {}, roundTripKey)) {
    errors.push(forbidden(path('metadata', 'annotations'), `annotation '${roundTripKey}' is forbidden`));
  }
  if ((metadata.name === exemptName) !== (type === 'Exempt')) {
    errors.push(invalid(at.child('type'), type, "must be 'Exempt' if and only if `name` is 'exempt'"));
  }
  if (type === 'Exempt') {
    if (limited) errors.push(forbidden(at.child('limited'), 'must be nil if the type is not Limited'));
    if (exempt) errors.push(...validateShares(at.child('exempt'), exempt));
  } else if (type === 'Limited') {
    if (exempt) errors.push(forbidden(at.child('exempt'), 'must be nil if the type is Limited'));
    if (limited) errors.push(...validateLimited(at.child('limited'), limited));
    else errors.push(required(at.child('limited'), 'must not be empty when type is Limited'));
  } else errors.push(notSupported(at.child('type'), type, ['Exempt', 'Limited']));
  return [...errors, ...validateMandatory(metadata.name ?? '', spec), ...validateConditionTypes(status)];
}

/** Of `exempt` only what stands in `spec.exempt` may be changed. */
function validateMandatory(name: string, spec: PriorityLevelConfigurationSpec): FieldError[] {
  const fixed = mandatoryLevelSpec(name);
  if (!fixed) return [];
  const free = name === exemptName;
  if (semanticallyEqual(free ? { ...spec, exempt: fixed.exempt } : spec, fixed)) return [];
  const saveFree = free ? " except the 'spec.exempt' field" : '';
  return [invalid(path('spec'), spec, `spec of '${name}'${saveFree} must equal the fixed value`)];
}

function validateShares(at: FieldPath, level: ExemptPriorityLevelConfiguration): FieldError[] {
  const { nominalConcurrencyShares: shares, lendablePercent: lendable } = level;
  const errors: FieldError[] = [];
  if (shares != null && shares < 0) {
    errors.push(invalid(at.child('nominalConcurrencyShares'), shares, 'must be a non-negative integer'));
  }
  if (lendable != null && (lendable < 0 || lendable > 100)) {
    errors.push(invalid(at.child('lendablePercent'), lendable, 'must be between 0 and 100, inclusive'));
  }
  return errors;
}

function validateLimited(at: FieldPath, limited: LimitedPriorityLevelConfiguration): FieldError[] {
  const { borrowingLimitPercent: borrowing } = limited;
  const errors = [
    ...validateShares(at, limited),
    ...validateResponse(at.child('limitResponse'), limited.limitResponse ?? { type: '' }),
  ];
  if (borrowing != null && borrowing < 0) {
    const message = 'if specified, must be a non-negative integer';
    errors.push(invalid(at.child('borrowingLimitPercent'), borrowing, message));
  }
  return errors;
}

function validateResponse(at: FieldPath, { type = '', queuing }: LimitResponse): FieldError[] {
  const here = at.child('queuing');
  if (type === 'Reject') {
    return queuing ? [forbidden(here, 'must be nil if limited.limitResponse.type is not Limited')] : [];
  }
  if (type !== 'Queue') return [notSupported(at.child('type'), type, ['Queue', 'Reject'])];
  if (!queuing) return [required(here, 'must not be empty if limited.limitResponse.type is Limited')];
  return validateQueuing(here, queuing);
}

function validateQueuing(at: FieldPath, queuing: QueuingConfiguration): FieldError[] {
  const { queues = 0, handSize = 0, queueLengthLimit: length = 0 } = queuing;
  const errors: FieldError[] = [];
  if (length <= 0) errors.push(invalid(at.child('queueLengthLimit'), length, 'must be positive'));
  if (queues <= 0) errors.push(invalid(at.child('queues'), queues, 'must be positive'));
  else if (queues > mostQueues) {
    errors.push(invalid(at.child('queues'), queues, `must not be greater than ${mostQueues}`));
  }
  const hand = at.child('handSize');
  if (handSize <= 0) return [...errors, invalid(hand, handSize, 'must be positive')];
  if (handSize > queues) return [...errors, invalid(hand, handSize, `should not be greater than queues (${queues})`)];
  let hands = 1;
  for (let dealt = 0; dealt < handSize && hands <= 2 ** hashBits; dealt++) hands *= queues - dealt;
  if (hands <= 2 ** hashBits) return errors;
  const message = `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${hashBits}`;
  return [...errors, invalid(hand, handSize, message)];
}
