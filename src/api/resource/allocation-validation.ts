/** What is refused of an allocation, the devices that a claim was given, and of what their drivers say of them. */
import { formatIp, parseCidr } from '../../apimachinery/addresses.ts';
import { type FieldError, type FieldPath, invalid, tooLong, tooMany } from '../../apimachinery/field-error.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { byteLength } from '../../apimachinery/names.ts';
import { validateConditions } from '../condition-validation.ts';
import { validateNodeSelector } from '../core/v1/scheduling-validation.ts';
import { validateCsiDriverName } from '../core/v1/volume-validation.ts';
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
} from '../gen/resource-v1.ts';
import { validateDnsLabel, validateRequiredEnum } from '../validation.ts';
import {
  type RequestNames,
  validateConfiguration,
  validateList,
  validateParameters,
  validateReference,
  validateReferences,
  validateSet,
} from './claim-validation.ts';
import { validatePoolName } from './device-names.ts';
import { validateBinding } from './device-validation.ts';

const mostResults = 32;
/** As many as a claim and its classes can have. */
const mostConfigurations = 64;
const mostConditions = 8;
const mostAddresses = 16;
const longest = { interfaceName: 256, hardwareAddress: 128 } as const;
const sources = ['FromClaim', 'FromClass'];

export function validateAllocation(
  at: FieldPath,
  { devices, nodeSelector }: AllocationResult,
  names: RequestNames,
): FieldError[] {
  const here = at.child('devices');
  return [
    ...validateList(here.child('results'), devices?.results, {
      most: mostResults,
      validate: (there, result: DeviceRequestAllocationResult) => [
        ...validateReference(there.child('request'), result.request ?? '', names),
        ...validateDeviceIdentity(there, result, () => validateBinding(there, result)),
      ],
    }),
    ...validateList(here.child('config'), devices?.config, {
      most: mostConfigurations,
      validate: (there, config: DeviceAllocationConfiguration) => [
        ...validateRequiredEnum(there.child('source'), config.source, sources),
        ...validateReferences(there.child('requests'), config.requests, names),
        ...validateConfiguration(there, config),
      ],
    }),
    ...(nodeSelector ? validateNodeSelector(at.child('nodeSelector'), nodeSelector) : []),
  ];
}

type DeviceIdentity = Pick<AllocatedDeviceStatus, 'driver' | 'pool' | 'device' | 'shareID'>;

/** `further` stands between the names and the share. */
function validateDeviceIdentity(
  at: FieldPath,
  { driver = '', pool, device = '', shareID }: DeviceIdentity,
  further: () => readonly FieldError[] = () => [],
): FieldError[] {
  return [
    ...validateCsiDriverName(at.child('driver'), driver),
    ...validatePoolName(at.child('pool'), pool),
    ...validateDnsLabel(at.child('device'), device),
    ...further(),
    ...(shareID == null ? [] : validateUid(at.child('shareID'), shareID)),
  ];
}

/** `driver/pool/device`, and the share of it where there is one. */
function identityText({ driver = '', pool = '', device = '', shareID }: DeviceIdentity): string {
  return [driver, pool, device, ...(shareID ? [shareID] : [])].join('/');
}

export function validateDeviceStatuses(
  at: FieldPath,
  statuses: readonly AllocatedDeviceStatus[] | undefined,
  allocation: AllocationResult | undefined,
): FieldError[] {
  const allocated = new Set((allocation?.devices?.results ?? []).map(identityText));
  return validateSet(at, statuses, {
    most: Number.POSITIVE_INFINITY,
    key: identityText,
    validate: (here, status) => validateDeviceStatus(here, status, allocated),
  });
}

function validateDeviceStatus(
  at: FieldPath,
  status: AllocatedDeviceStatus,
  allocated: ReadonlySet<string>,
): FieldError[] {
  const { conditions = [], data, networkData } = status;
  const identity = identityText(status);
  const conditionsAt = at.child('conditions');
  return [
    ...validateDeviceIdentity(at, status),
    ...(allocated.has(identity) ? [] : [invalid(at, identity, 'must be an allocated device in the claim')]),
    ...(conditions.length > mostConditions ? [tooMany(conditionsAt, conditions.length, mostConditions)] : []),
    ...validateConditions(conditionsAt, conditions),
    ...(data == null ? [] : validateParameters(at.child('data'), data)),
    ...(networkData ? validateNetworkData(at.child('networkData'), networkData) : []),
  ];
}

function validateNetworkData(at: FieldPath, data: NetworkDeviceData): FieldError[] {
  const errors = (['interfaceName', 'hardwareAddress'] as const).flatMap((field) =>
    byteLength(data[field] ?? '') > longest[field] ? [tooLong(at.child(field), longest[field])] : [],
  );
  const rules = { most: mostAddresses, key: (address: string) => address, validate: validateInterfaceAddress };
  return [...errors, ...validateSet(at.child('ips'), data.ips, rules)];
}

/** An address with the length of its network's prefix. */
function validateInterfaceAddress(at: FieldPath, text: string): FieldError[] {
  const cidr = parseCidr(text);
  if (!cidr) {
    return [invalid(at, text, 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)')];
  }
  const canonical = `${formatIp(cidr.address)}/${cidr.prefixLength}`;
  return text === canonical ? [] : [invalid(at, text, `must be in canonical form (${quote(canonical)})`)];
}

const hexadecimal = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const otherForms = /^(urn:uuid:[0-9a-f-]{36}|\{[0-9a-f-]{36}\}|[0-9a-f]{32})$/i;
const lengths: ReadonlySet<number> = new Set([32, 36, 38, 45]);

function validateUid(at: FieldPath, uid: string): FieldError[] {
  const plain = hexadecimal.test(uid);
  if (plain && uid === uid.toLowerCase()) return [];
  if (plain || otherForms.test(uid)) {
    const message =
      'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters';
    return [invalid(at, uid, message)];
  }
  const length = byteLength(uid);
  const problem = lengths.has(length) ? 'invalid UUID format' : `invalid UUID length: ${length}`;
  return [invalid(at, uid, `error validating uid: ${problem}`)];
}
