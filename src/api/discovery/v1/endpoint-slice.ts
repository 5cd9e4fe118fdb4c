/** EndpointSlices: the addresses behind a Service, in portions. */
import { parseIp, validateIp, validateLegacyIp } from '../../../apimachinery/addresses.ts';
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  path,
  required,
  tooMany,
} from '../../../apimachinery/field-error.ts';
import { validateLabels } from '../../../apimachinery/labels.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { dns1123Subdomain, labelValue } from '../../../apimachinery/names.ts';
import { ageColumn, nameColumn, text, withMore } from '../../columns.ts';
import { validateEndpointIp } from '../../core/v1/endpoint-address.ts';
import { fillAbsent } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import {
  type Endpoint,
  type EndpointHints,
  type EndpointPort,
  type EndpointSlice,
  endpointSlices,
} from '../../gen/discovery-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { raiseGeneration } from '../../strategy.ts';
import {
  refused,
  validateDnsLabel,
  validateDnsSubdomain,
  validateImmutable,
  validateQualifiedName,
  validateRequiredEnum,
} from '../../validation.ts';

const most = { endpoints: 1000, addresses: 100, ports: 20_000, topologyLabels: 16, hints: 8 } as const;

export const endpointSliceBehaviour: KindBehaviour<EndpointSlice> = {
  resource: endpointSlices,
  defaults(slice) {
    for (const port of slice.ports ?? []) {
      fillAbsent(port, 'name', '');
      fillAbsent(port, 'protocol', 'TCP');
    }
  },
  countsGeneration: true,
  prepareForCreate: (slice) => slice.endpoints?.forEach(dropTopology),
  prepareForUpdate(slice, previous) {
    if (!semanticallyEqual(slice.metadata.labels, previous.metadata.labels)) raiseGeneration(slice, previous);
    if (!semanticallyEqual(slice.endpoints, previous.endpoints)) slice.endpoints?.forEach(dropTopology);
  },
  validate: (slice) => [...validateSlice(slice), ...validateEndpoints(slice)],
  validateUpdate: (slice, previous) => [
    ...validateSlice(slice),
    ...(semanticallyEqual(slice.endpoints, previous.endpoints) ? [] : validateEndpoints(slice)),
    ...validateImmutable(path('addressType'), slice.addressType, previous.addressType),
  ],
  columns: [
    nameColumn,
    text('AddressType', ({ addressType }) => addressType),
    text('Ports', portsText),
    text('Endpoints', endpointsText),
    ageColumn,
  ],
};

function dropTopology(endpoint: Draft<Endpoint>): void {
  delete endpoint.deprecatedTopology;
}

function validateSlice({ addressType, ports }: EndpointSlice): FieldError[] {
  return [
    ...validateRequiredEnum(path('addressType'), addressType, ['FQDN', 'IPv4', 'IPv6']),
    ...validatePorts(path('ports'), ports ?? []),
  ];
}

function validatePorts(at: FieldPath, ports: readonly EndpointPort[]): FieldError[] {
  if (ports.length > most.ports) return [tooMany(at, ports.length, most.ports)];
  const names = new Set<string>();
  return ports.flatMap(({ name = '', protocol, appProtocol }, index) => {
    const here = at.index(index);
    const errors = name ? validateDnsLabel(here.child('name'), name) : [];
    if (names.has(name)) errors.push(duplicate(here.child('name'), name));
    names.add(name);
    const protocols = ['SCTP', 'TCP', 'UDP'];
    if (protocol == null) errors.push(required(here.child('protocol')));
    else if (!protocols.includes(protocol)) errors.push(notSupported(here.child('protocol'), protocol, protocols));
    if (appProtocol != null) errors.push(...validateQualifiedName(here.child('appProtocol'), appProtocol));
    return errors;
  });
}

function validateEndpoints({ endpoints = [], addressType }: EndpointSlice): FieldError[] {
  const at = path('endpoints');
  if (endpoints.length > most.endpoints) return [tooMany(at, endpoints.length, most.endpoints)];
  return endpoints.flatMap((endpoint, index) => validateEndpoint(at.index(index), endpoint, addressType));
}

function validateEndpoint(at: FieldPath, endpoint: Endpoint, addressType: string): FieldError[] {
  const { addresses = [], nodeName, hostname, hints, deprecatedTopology } = endpoint;
  const addressesAt = at.child('addresses');
  const errors: FieldError[] = [];
  if (addresses.length === 0) errors.push(required(addressesAt, 'must contain at least 1 address'));
  if (addresses.length > most.addresses) errors.push(tooMany(addressesAt, addresses.length, most.addresses));
  errors.push(...addresses.flatMap((address, index) => validateAddress(addressesAt, index, address, addressType)));
  if (nodeName != null) errors.push(...validateDnsSubdomain(at.child('nodeName'), nodeName));
  const topologyAt = at.child('deprecatedTopology');
  const labels = Object.keys(deprecatedTopology ?? {}).length;
  if (labels > most.topologyLabels) errors.push(tooMany(topologyAt, labels, most.topologyLabels));
  errors.push(...validateLabels(deprecatedTopology, topologyAt));
  if (hostname != null) errors.push(...validateDnsLabel(at.child('hostname'), hostname));
  return hints ? [...errors, ...validateHints(at.child('hints'), hints)] : errors;
}

function validateAddress(at: FieldPath, index: number, address: string, type: string): FieldError[] {
  const here = at.index(index);
  if (type === 'FQDN') return validateDomain(here, address);
  if (type !== 'IPv4' && type !== 'IPv6') return [];
  const malformed = type === 'IPv4' ? validateLegacyIp(address, here) : validateIp(address, here);
  if (malformed.length > 0) return malformed;
  const family = type === 'IPv4' ? 4 : 6;
  const wrong = parseIp(address)?.family === family ? [] : [invalid(at, address, `must be an ${type} address`)];
  return [...wrong, ...validateEndpointIp(here, address)];
}

function validateDomain(at: FieldPath, domain: string): FieldError[] {
  if (domain === '') return [required(at)];
  const name = domain.replace(/\.$/, '');
  const messages = dns1123Subdomain(name);
  if (messages.length > 0) return refused(at, name, messages);
  return name.includes('.')
    ? []
    : [invalid(at, name, 'should be a domain with at least two segments separated by dots')];
}

function validateHints(at: FieldPath, { forZones = [], forNodes = [] }: EndpointHints): FieldError[] {
  const zonesAt = at.child('forZones');
  if (forZones.length > most.hints) return [tooMany(zonesAt, forZones.length, most.hints)];
  const errors = validateHintNames(zonesAt, forZones, labelValue);
  const nodesAt = at.child('forNodes');
  if (forNodes.length > most.hints) return [...errors, tooMany(nodesAt, forNodes.length, most.hints)];
  return [...errors, ...validateHintNames(nodesAt, forNodes, dns1123Subdomain)];
}

function validateHintNames(
  at: FieldPath,
  hints: readonly { readonly name: string }[],
  rule: (name: string) => string[],
): FieldError[] {
  const seen = new Set<string>();
  return hints.flatMap(({ name }, index) => {
    const here = at.index(index).child('name');
    const repeated = seen.has(name) ? [duplicate(here, name)] : [];
    seen.add(name);
    return [...repeated, ...refused(here, name, rule(name))];
  });
}

const mostShown = 3;

function portsText({ ports }: EndpointSlice): string {
  const list = (ports ?? []).map(({ port, name }) => (port != null ? String(port) : (name ?? '*')));
  return withMore(list, mostShown) || '<unset>';
}

function endpointsText({ endpoints }: EndpointSlice): string {
  return (
    withMore(
      (endpoints ?? []).flatMap(({ addresses }) => addresses ?? []),
      mostShown,
    ) || '<unset>'
  );
}
