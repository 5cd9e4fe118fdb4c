/** Endpoints: the addresses behind a Service, in the form that came before EndpointSlices. */
import { validateLegacyIp } from '../../../apimachinery/addresses.ts';
import { type FieldError, type FieldPath, path, required } from '../../../apimachinery/field-error.ts';
import { portNumber } from '../../../apimachinery/names.ts';
import { hostPort } from '../../../base/host-port.ts';
import { ageColumn, nameColumn, text, withMore } from '../../columns.ts';
import { fillEmpty } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import {
  type EndpointAddress,
  type EndpointPort,
  type EndpointSubset,
  type Endpoints,
  endpoints,
} from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import {
  refused,
  validateDnsLabel,
  validateDnsSubdomain,
  validateQualifiedName,
  validateRequiredEnum,
} from '../../validation.ts';
import { validateEndpointIp } from './endpoint-address.ts';

export const endpointsBehaviour: KindBehaviour<Endpoints> = {
  resource: endpoints,
  defaults(object) {
    for (const { ports } of object.subsets ?? []) for (const port of ports ?? []) fillEmpty(port, 'protocol', 'TCP');
  },
  allowCreateOnUpdate: true,
  countsGeneration: false,
  validate: ({ subsets }) => validateSubsets(subsets),
  // What is stored is let be, so that a controller can still touch the rest.
  validateUpdate: ({ subsets }, previous) =>
    semanticallyEqual(subsets, previous.subsets) ? [] : validateSubsets(subsets),
  columns: [nameColumn, text('Endpoints', endpointsText), ageColumn],
};

function validateSubsets(subsets: readonly EndpointSubset[] = []): FieldError[] {
  return subsets.flatMap((subset, index) => {
    const at = path('subsets').index(index);
    const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
    const errors: FieldError[] = [];
    if (addresses.length + notReadyAddresses.length === 0) {
      errors.push(required(at, 'must specify `addresses` or `notReadyAddresses`'));
    }
    for (const list of ['addresses', 'notReadyAddresses'] as const) {
      errors.push(...(subset[list] ?? []).flatMap((address, i) => validateAddress(at.child(list).index(i), address)));
    }
    errors.push(...ports.flatMap((port, i) => validatePort(at.child('ports').index(i), port, ports.length > 1)));
    return errors;
  });
}

function validateAddress(at: FieldPath, { ip, hostname, nodeName }: EndpointAddress): FieldError[] {
  return [
    ...validateLegacyIp(ip ?? '', at.child('ip')),
    ...(hostname ? validateDnsLabel(at.child('hostname'), hostname) : []),
    ...(nodeName != null ? validateDnsSubdomain(at.child('nodeName'), nodeName) : []),
    ...validateEndpointIp(at.child('ip'), ip ?? ''),
  ];
}

function validatePort(
  at: FieldPath,
  { name, port, protocol, appProtocol }: EndpointPort,
  needsName: boolean,
): FieldError[] {
  const errors: FieldError[] = [];
  if (name) errors.push(...validateDnsLabel(at.child('name'), name));
  else if (needsName) errors.push(required(at.child('name')));
  errors.push(...refused(at.child('port'), port ?? 0, portNumber(port ?? 0)));
  errors.push(...validateRequiredEnum(at.child('protocol'), protocol, ['SCTP', 'TCP', 'UDP']));
  if (appProtocol != null) errors.push(...validateQualifiedName(at.child('appProtocol'), appProtocol));
  return errors;
}

const mostShown = 3;

function endpointsText({ subsets = [] }: Endpoints): string {
  if (subsets.length === 0) return '<none>';
  const list = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) => addresses.map(({ ip }) => hostPort({ host: ip, port }))),
  );
  return withMore(list, mostShown);
}
