/**
 * CertificateSigningRequests: who asked is written by the server and never changes. Approval and issue each have a subresource of
 * their own and may touch nothing else.
 */
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import { type Draft, draft } from '../../../apimachinery/meta.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import {
  type CertificateSigningRequest,
  type CertificateSigningRequestCondition,
  certificateSigningRequests,
} from '../../gen/certificates-v1.ts';
import { humanDuration } from '../../human-duration.ts';
import type { KindBehaviour, StrategyContext } from '../../kind.ts';
import { validateUnique } from '../../validation.ts';
import { certificateRequestProblem, certificatesProblem } from '../pem-blocks.ts';
import { validateSignerName } from '../signer-name.ts';

const legacySigner = 'kubernetes.io/legacy-unknown';
const leastExpirationSeconds = 600;
const approvalTypes = ['Approved', 'Denied'];
/** Conditions that cannot be taken back, and hence have no status but True. */
const finalTypes = [...approvalTypes, 'Failed'];

const usages = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];

/** What an update through one of the three ways may set. */
interface Permission {
  readonly approval?: boolean;
  readonly certificate?: boolean;
}

export const certificateSigningRequestBehaviour: KindBehaviour<CertificateSigningRequest> = {
  resource: certificateSigningRequests,
  countsGeneration: false,
  defaults(request) {
    partOf(request, 'spec');
  },
  validateName: () => [],
  prepareForCreate({ spec }, { user }) {
    spec.username = user.name;
    spec.uid = user.uid;
    spec.groups = [...user.groups];
    spec.extra = user.extra ? draft(user.extra) : undefined;
  },
  prepareForUpdate(request, previous) {
    request.spec = draft(previous.spec);
  },
  validate: (request) => validate(request),
  validateUpdate: (request, previous) => validateUpdate(request, previous, {}),
  subresources: {
    status: {
      prepareForUpdate(request, previous, context) {
        keepApproval(request, previous);
        fillTimes(request, previous, context);
      },
      validateUpdate: (request, previous) => validateUpdate(request, previous, { certificate: true }),
    },
    approval: {
      prepareForUpdate(request, previous, context) {
        const conditions = request.status?.conditions;
        request.spec = draft(previous.spec);
        request.status = { ...draft(previous.status ?? {}), conditions };
        fillTimes(request, previous, context);
      },
      validateUpdate: (request, previous) => validateUpdate(request, previous, { approval: true }),
    },
  },
  columns: [
    nameColumn,
    ageColumn,
    text('SignerName', ({ spec }) => spec.signerName || '<none>', {
      description: 'Indicates the requested signer, and is a qualified name.',
    }),
    text('Requestor', ({ spec }) => spec.username ?? ''),
    text('RequestedDuration', ({ spec: { expirationSeconds: seconds } }) =>
      seconds == null ? '<none>' : humanDuration(seconds * 1000),
    ),
    text('Condition', stateText),
  ],
};

function stateText({ status }: CertificateSigningRequest): string {
  const has = (type: string) => status?.conditions?.some((condition) => condition.type === type);
  const verdict = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending';
  return `${verdict}${has('Failed') ? ',Failed' : ''}${status?.certificate ? ',Issued' : ''}`;
}

function conditionsOf(request: CertificateSigningRequest, type: string): CertificateSigningRequestCondition[] {
  return (request.status?.conditions ?? []).filter((condition) => condition.type === type);
}

/** A status writer that sends conditions of approval along, as read or stale, changes nothing by it. */
function keepApproval(request: Draft<CertificateSigningRequest>, previous: CertificateSigningRequest): void {
  const conditions = request.status?.conditions;
  if (!conditions) return;
  for (const type of approvalTypes) {
    const stored = conditionsOf(previous, type);
    const places = [...conditions.keys()].filter((index) => conditions[index]!.type === type);
    if (places.length !== stored.length) continue;
    for (const [which, place] of places.entries()) conditions[place] = draft(stored[which]!);
  }
}

function fillTimes(
  request: Draft<CertificateSigningRequest>,
  previous: CertificateSigningRequest,
  { now }: StrategyContext,
): void {
  for (const condition of request.status?.conditions ?? []) {
    condition.lastUpdateTime ??= now;
    const same = conditionsOf(previous, condition.type).find(({ status }) => status === condition.status);
    condition.lastTransitionTime ??= same?.lastTransitionTime ?? now;
  }
}

/** With `previous`, what is wrong there already is tolerated. */
function validate(request: CertificateSigningRequest, previous?: CertificateSigningRequest): FieldError[] {
  const { spec, status } = request;
  const at = path('spec');
  const errors: FieldError[] = [];
  const problem = certificateRequestProblem(spec.request ?? '');
  if (problem) errors.push(invalid(at.child('request'), spec.request || null, problem));
  errors.push(...validateUsages(spec.usages ?? [], previous?.spec.usages));
  if (spec.signerName === legacySigner && previous?.spec.signerName !== legacySigner) {
    const message = 'the legacy signerName is not allowed via this API version';
    errors.push(invalid(at.child('signerName'), spec.signerName, message));
  } else errors.push(...validateSignerName(at.child('signerName'), spec.signerName));
  if (spec.expirationSeconds != null && spec.expirationSeconds < leastExpirationSeconds) {
    const message = 'may not specify a duration less than 600 seconds (10 minutes)';
    errors.push(invalid(at.child('expirationSeconds'), spec.expirationSeconds, message));
  }
  errors.push(...validateConditions(status?.conditions ?? [], previous?.status?.conditions ?? []));
  const certificate = status?.certificate;
  if (certificate && certificate !== previous?.status?.certificate) {
    const wrong = certificatesProblem(certificate);
    if (wrong) errors.push(invalid(path('status', 'certificate'), '<certificate data>', wrong));
  }
  return errors;
}

function validateUsages(list: readonly string[], previous: readonly string[] | undefined): FieldError[] {
  const at = path('spec', 'usages');
  if (list.length === 0) return [required(at)];
  const errors: FieldError[] = [];
  if (!previous?.some((usage) => !usages.includes(usage))) {
    for (const [index, usage] of list.entries()) {
      if (!usages.includes(usage)) errors.push(notSupported(at.index(index), usage, usages));
    }
  }
  return previous && new Set(previous).size < previous.length ? errors : [...errors, ...validateUnique(at, list)];
}

type Conditions = readonly CertificateSigningRequestCondition[];

function validateConditions(conditions: Conditions, previous: Conditions): FieldError[] {
  const at = path('status', 'conditions');
  const types = new Set<string>();
  const stored = previous.map(({ type }) => type);
  const tolerates = {
    empty: stored.includes(''),
    both: approvalTypes.every((type) => stored.includes(type)),
    duplicates: new Set(stored).size < stored.length,
  };
  return conditions.flatMap(({ type = '', status = '' }, index) => {
    const here = at.index(index);
    const errors = type === '' && !tolerates.empty ? [required(here.child('type'))] : [];
    const statuses = finalTypes.includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
    if (status === '') errors.push(required(here.child('status')));
    else if (!statuses.includes(status)) errors.push(notSupported(here.child('status'), status, statuses));
    const opposite = approvalTypes.includes(type) ? approvalTypes.find((other) => other !== type)! : undefined;
    if (opposite && types.has(opposite) && !tolerates.both) {
      errors.push(invalid(at, type, 'Approved and Denied conditions are mutually exclusive'));
    }
    if (types.has(type) && !tolerates.duplicates) errors.push(duplicate(here.child('type'), type));
    types.add(type);
    return errors;
  });
}

function validateUpdate(
  request: CertificateSigningRequest,
  previous: CertificateSigningRequest,
  may: Permission,
): FieldError[] {
  const errors = validate(request, previous);
  const at = path('status', 'conditions');
  for (const type of finalTypes) {
    if (conditionsOf(request, type).length < conditionsOf(previous, type).length) {
      errors.push(forbidden(at, `updates may not remove a condition of type ${quote(type)}`));
    }
  }
  for (const type of may.approval ? [] : approvalTypes) {
    const [next, stored] = [conditionsOf(request, type), conditionsOf(previous, type)];
    if (next.length > stored.length)
      errors.push(forbidden(at, `updates may not add a condition of type ${quote(type)}`));
    else if (next.length === stored.length && !semanticallyEqual(next, stored)) {
      errors.push(forbidden(at, `updates may not modify a condition of type ${quote(type)}`));
    }
  }
  const stored = previous.status?.certificate ?? '';
  if ((request.status?.certificate ?? '') !== stored) {
    const certificate = path('status', 'certificate');
    if (!may.certificate) errors.push(forbidden(certificate, 'updates may not set certificate content'));
    else if (stored) errors.push(forbidden(certificate, 'updates may not modify existing certificate content'));
  }
  return errors;
}
