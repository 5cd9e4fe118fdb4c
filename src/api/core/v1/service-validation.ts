/** Validation of Services, after addresses and ports have been handed out. */
import { parseIp, validateLegacyCidr, validateLegacyIp } from '../../../apimachinery/addresses.ts';
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { validateLabels } from '../../../apimachinery/labels.ts';
import { dns1123Subdomain, portNumber } from '../../../apimachinery/names.ts';
import type { LoadBalancerIngress, Service, ServicePort, ServiceSpec } from '../../gen/core-v1.ts';
import {
  refused,
  validateDnsLabel,
  validateDnsSubdomain,
  validateEnum,
  validatePortNumberOrName,
  validateQualifiedName,
  validateRequiredEnum,
} from '../../validation.ts';
import { validateEndpointIp } from './endpoint-address.ts';
import { ipFamilyOf } from './pod-status.ts';
import { isExternallyAccessible, isHeadless, needsHealthCheckPort } from './service-strategy.ts';

const specAt = path('spec');
const onlyLoadBalancer = "may only be used when `type` is 'LoadBalancer'";
const topologyMode = 'service.kubernetes.io/topology-mode';
const topologyHints = 'service.kubernetes.io/topology-aware-hints';
const sourceRangesAnnotation = 'service.beta.kubernetes.io/load-balancer-source-ranges';
const longestAffinitySeconds = 86_400;

export function validateService(service: Service, stored?: Service): FieldError[] {
  const { metadata, spec } = service;
  const errors: FieldError[] = [];
  const mode = metadata.annotations?.[topologyMode];
  const hints = metadata.annotations?.[topologyHints];
  if (mode !== undefined && hints !== undefined && mode !== hints) {
    const message = `must match annotations[${topologyHints}] when both are specified`;
    errors.push(invalid(path('metadata', 'annotations').key(topologyMode), mode, message));
  }
  return [
    ...errors,
    ...validateType(spec),
    ...validatePorts(spec),
    ...validateLabels(spec.selector, specAt.child('selector')),
    ...validateAffinity(spec),
    ...validateClusterIPs(spec, stored?.spec),
    ...validateExternalIPs(spec, stored?.spec),
    ...validateRequiredEnum(specAt.child('type'), spec.type, ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']),
    ...validateUniquePorts(spec),
    ...validateLoadBalancer(service, stored),
    ...validateTraffic(spec),
  ];
}

export function validateServiceUpdate(service: Service, previous: Service): FieldError[] {
  const next = service.spec;
  const stored = previous.spec;
  const errors = [...validateAddressChange(next, stored), ...validateFamilyChange(next, stored)];
  if (
    stored.type === 'LoadBalancer' &&
    next.type === 'LoadBalancer' &&
    next.loadBalancerClass !== stored.loadBalancerClass
  ) {
    errors.push(invalid(specAt.child('loadBalancerClass'), next.loadBalancerClass ?? null, 'may not change once set'));
  }
  const checked = needsHealthCheckPort(stored) && needsHealthCheckPort(next);
  if (checked && next.healthCheckNodePort !== stored.healthCheckNodePort) {
    errors.push(forbidden(specAt.child('healthCheckNodePort'), 'field is immutable'));
  }
  return [...errors, ...validateService(service, previous)];
}

function validateType(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  if (!spec.ports?.length && !isHeadless(spec) && spec.type !== 'ExternalName') {
    errors.push(required(specAt.child('ports')));
  }
  if ((spec.type === 'LoadBalancer' || spec.type === 'NodePort') && isHeadless(spec)) {
    const message = `may not be set to 'None' for ${spec.type} services`;
    errors.push(invalid(specAt.child('clusterIPs').index(0), spec.clusterIPs![0], message));
  }
  if (spec.type !== 'ExternalName') return errors;
  const message = 'may not be set for ExternalName services';
  if (spec.clusterIPs?.length) errors.push(forbidden(specAt.child('clusterIPs'), message));
  if (spec.ipFamilies?.length) errors.push(forbidden(specAt.child('ipFamilies'), message));
  if (spec.ipFamilyPolicy != null) errors.push(forbidden(specAt.child('ipFamilyPolicy'), message));
  const name = (spec.externalName ?? '').replace(/\.$/, '');
  if (name) errors.push(...validateDnsSubdomain(specAt.child('externalName'), name));
  else errors.push(required(specAt.child('externalName')));
  return errors;
}

const protocols = ['SCTP', 'TCP', 'UDP'];

function validatePorts({ ports = [] }: ServiceSpec): FieldError[] {
  const names = new Set<string>();
  return ports.flatMap((port, index) => {
    const here = specAt.child('ports').index(index);
    const errors: FieldError[] = [];
    if (port.name) {
      errors.push(...validateDnsLabel(here.child('name'), port.name));
      if (names.has(port.name)) errors.push(duplicate(here.child('name'), port.name));
      names.add(port.name);
    } else if (ports.length > 1) errors.push(required(here.child('name')));
    errors.push(...refused(here.child('port'), port.port ?? 0, portNumber(port.port ?? 0)));
    errors.push(...validateRequiredEnum(here.child('protocol'), port.protocol, protocols));
    errors.push(...validatePortNumberOrName(here.child('targetPort'), port.targetPort));
    if (port.appProtocol != null) errors.push(...validateQualifiedName(here.child('appProtocol'), port.appProtocol));
    return errors;
  });
}

function validateUniquePorts({ type, ports = [] }: ServiceSpec): FieldError[] {
  const at = specAt.child('ports');
  const errors: FieldError[] = [];
  if (type === 'ClusterIP') {
    for (const [index, { nodePort }] of ports.entries()) {
      if (!nodePort) continue;
      errors.push(forbidden(at.index(index).child('nodePort'), "may not be used when `type` is 'ClusterIP'"));
    }
  }
  const repeats = (
    identify: (port: ServicePort) => string | undefined,
    report: (port: ServicePort, here: FieldPath) => FieldError,
  ) => {
    const seen = new Set<string>();
    for (const [index, port] of ports.entries()) {
      const identity = identify(port);
      if (identity === undefined) continue;
      if (seen.has(identity)) errors.push(report(port, at.index(index)));
      seen.add(identity);
    }
  };
  repeats(
    ({ protocol, nodePort }) => (nodePort ? `${protocol}/${nodePort}` : undefined),
    ({ nodePort }, here) => duplicate(here.child('nodePort'), nodePort),
  );
  repeats(
    ({ protocol, port }) => `${protocol}/${port}`,
    // As Go prints the struct that upstream compares.
    ({ protocol, port }, here) =>
      duplicate(here, { Name: '', Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 }),
  );
  return errors;
}

function validateAffinity({ sessionAffinity, sessionAffinityConfig: config }: ServiceSpec): FieldError[] {
  const errors = validateRequiredEnum(specAt.child('sessionAffinity'), sessionAffinity, ['ClientIP', 'None']);
  const at = specAt.child('sessionAffinityConfig');
  if (sessionAffinity === 'None' && config) {
    errors.push(forbidden(at, 'must not be set when session affinity is None'));
  }
  if (sessionAffinity !== 'ClientIP') return errors;
  const missing = (here: FieldPath) => [...errors, required(here, 'when session affinity type is ClientIP')];
  if (!config) return missing(at);
  if (!config.clientIP) return missing(at.child('clientIP'));
  const seconds = config.clientIP.timeoutSeconds;
  const secondsAt = at.child('clientIP', 'timeoutSeconds');
  if (seconds == null) return missing(secondsAt);
  if (seconds > 0 && seconds <= longestAffinitySeconds) return errors;
  return [...errors, invalid(secondsAt, seconds, `must be greater than 0 and less than ${longestAffinitySeconds}`)];
}

const onePerFamily = 'may specify no more than one IP for each IP family';

function validateClusterIPs(spec: ServiceSpec, stored: ServiceSpec | undefined): FieldError[] {
  if (spec.type === 'ExternalName') return [];
  const { clusterIP, clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec;
  const at = specAt.child('clusterIPs');
  const errors: FieldError[] = [];
  if (clusterIP) {
    if (clusterIPs.length === 0) errors.push(required(at));
    else if (clusterIPs[0] !== clusterIP) errors.push(invalid(at, clusterIPs, 'first value must match `clusterIP`'));
  } else if (clusterIPs.length > 0) {
    errors.push(invalid(at, clusterIPs, 'must be empty when `clusterIP` is not specified'));
  }
  for (const [index, family] of ipFamilies.entries()) {
    const here = specAt.child('ipFamilies').index(index);
    errors.push(...validateEnum(here, family, ['IPv4', 'IPv6']));
    if (ipFamilies.indexOf(family) < index) errors.push(duplicate(here, family));
  }
  errors.push(
    ...validateEnum(specAt.child('ipFamilyPolicy'), ipFamilyPolicy, [
      'PreferDualStack',
      'RequireDualStack',
      'SingleStack',
    ]),
  );
  const malformed = validateAddresses(at, clusterIPs, stored?.clusterIPs);
  errors.push(...malformed);
  if (clusterIPs.length > 2) errors.push(invalid(at, clusterIPs, 'may only hold up to 2 values'));
  if (malformed.length > 0) return errors;
  if (clusterIPs.length > 1 && new Set(clusterIPs.map(ipFamilyOf)).size === 1) {
    errors.push(invalid(at, clusterIPs, onePerFamily));
  }
  if (isHeadless(spec)) return errors;
  for (const [index, ip] of clusterIPs.entries()) {
    const family = ipFamilies[index];
    if (family === undefined || ipFamilyOf(ip) === family) continue;
    errors.push(invalid(at.index(index), ip, `expected an ${family} value as indicated by \`ipFamilies[${index}]\``));
  }
  return errors;
}

/** `None` alone, or addresses; what is stored already is let be. */
function validateAddresses(at: FieldPath, addresses: readonly string[], stored: readonly string[] = []): FieldError[] {
  return addresses.flatMap((address, index) => {
    if (index === 0 && address === 'None') {
      return addresses.length > 1 ? [invalid(at, addresses, "'None' must be the first and only value")] : [];
    }
    return stored.includes(address) ? [] : validateLegacyIp(address, at.index(index));
  });
}

function validateExternalIPs({ externalIPs = [] }: ServiceSpec, stored: ServiceSpec | undefined): FieldError[] {
  return externalIPs.flatMap((ip, index) => {
    const here = specAt.child('externalIPs').index(index);
    const errors = stored?.externalIPs?.includes(ip) ? [] : validateLegacyIp(ip, here);
    return errors.length > 0 ? errors : validateEndpointIp(here, ip);
  });
}

function validateLoadBalancer({ metadata, spec }: Service, stored: Service | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const isLoadBalancer = spec.type === 'LoadBalancer';
  const ranges = (spec.loadBalancerSourceRanges ?? []).map((range) => range.trim());
  const annotation = metadata.annotations?.[sourceRangesAnnotation];
  if (ranges.length > 0) {
    // Upstream writes this field's name so.
    const at = specAt.child('LoadBalancerSourceRanges');
    const known = (stored?.spec.loadBalancerSourceRanges ?? []).map((range) => range.trim());
    if (!isLoadBalancer) errors.push(forbidden(at, onlyLoadBalancer));
    errors.push(
      ...ranges.flatMap((range, index) => (known.includes(range) ? [] : validateLegacyCidr(range, at.index(index)))),
    );
  } else if (annotation !== undefined) {
    const at = path('metadata', 'annotations').key(sourceRangesAnnotation);
    if (!isLoadBalancer) errors.push(forbidden(at, onlyLoadBalancer));
    const changed = stored?.metadata.annotations?.[sourceRangesAnnotation] !== annotation;
    if (changed && annotation.trim() !== '') {
      errors.push(...annotation.split(',').flatMap((range) => validateLegacyCidr(range.trim(), at)));
    }
  }
  if (!isLoadBalancer && spec.allocateLoadBalancerNodePorts != null) {
    errors.push(forbidden(specAt.child('allocateLoadBalancerNodePorts'), onlyLoadBalancer));
  }
  if (isLoadBalancer && spec.allocateLoadBalancerNodePorts == null) {
    errors.push(required(path('allocateLoadBalancerNodePorts')));
  }
  if (spec.loadBalancerClass == null) return errors;
  const classAt = specAt.child('loadBalancerClass');
  if (isLoadBalancer) return [...errors, ...validateQualifiedName(classAt, spec.loadBalancerClass)];
  return [...errors, forbidden(classAt, onlyLoadBalancer)];
}

function validateTraffic(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const externalAt = specAt.child('externalTrafficPolicy');
  const healthAt = specAt.child('healthCheckNodePort');
  if (isExternallyAccessible(spec)) {
    errors.push(...validateRequiredEnum(externalAt, spec.externalTrafficPolicy, ['Cluster', 'Local']));
  } else if (spec.externalTrafficPolicy) {
    errors.push(invalid(externalAt, spec.externalTrafficPolicy, 'may only be set for externally-accessible services'));
  }
  const healthPort = spec.healthCheckNodePort;
  if (needsHealthCheckPort(spec)) {
    if (!healthPort) errors.push(required(healthAt));
    else errors.push(...refused(healthAt, healthPort, portNumber(healthPort)));
  } else if (healthPort) {
    const message = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    errors.push(invalid(healthAt, healthPort, message));
  }
  const internalAt = specAt.child('internalTrafficPolicy');
  if (spec.internalTrafficPolicy == null) {
    if (spec.type && spec.type !== 'ExternalName') errors.push(required(internalAt));
  } else errors.push(...validateEnum(internalAt, spec.internalTrafficPolicy, ['Cluster', 'Local']));
  const distributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
  return [...errors, ...validateEnum(specAt.child('trafficDistribution'), spec.trafficDistribution, distributions)];
}

/** A Service's address is its own for life; a second one may come and go. */
function validateAddressChange(next: ServiceSpec, stored: ServiceSpec): FieldError[] {
  if (next.type === 'ExternalName' || stored.type === 'ExternalName') return [];
  if (isHeadless(next) && isHeadless(stored)) return [];
  const at = specAt.child('clusterIPs');
  const after = next.clusterIPs ?? [];
  const before = stored.clusterIPs ?? [];
  if (before.length === after.length) {
    return before.flatMap((ip, index) =>
      ip === after[index] ? [] : [invalid(at.index(index), after, 'may not change once set')],
    );
  }
  const errors: FieldError[] = [];
  if (after.length === 0) errors.push(invalid(at.index(0), after, 'primary clusterIP can not be unset'));
  if (before.length > 0 && after.length > 0 && before[0] !== after[0]) {
    errors.push(invalid(at.index(0), after, 'may not change once set'));
  }
  if (before.length > after.length && after.length === 1 && next.ipFamilyPolicy !== 'SingleStack') {
    const message = "must be set to 'SingleStack' when releasing the secondary clusterIP";
    errors.push(invalid(specAt.child('ipFamilyPolicy'), next.ipFamilyPolicy ?? null, message));
  }
  return errors;
}

function validateFamilyChange(next: ServiceSpec, stored: ServiceSpec): FieldError[] {
  if (next.type === 'ExternalName' || stored.type === 'ExternalName') return [];
  if (isHeadless(next) || isHeadless(stored)) return [];
  const at = specAt.child('ipFamilies').index(0);
  const after = next.ipFamilies ?? [];
  const before = stored.ipFamilies ?? [];
  if (before.length === after.length) {
    return before.flatMap((family, index) =>
      family === after[index] ? [] : [invalid(at, after, 'may not change once set')],
    );
  }
  const errors: FieldError[] = [];
  if (before.length > after.length && !next.clusterIPs?.length) {
    errors.push(invalid(at, after, 'primary ipFamily can not be unset'));
  }
  if (before.length > 0 && after.length > 0 && before[0] !== after[0]) {
    errors.push(invalid(at, next.clusterIPs ?? null, 'may not change once set'));
  }
  if (before.length > after.length && after.length === 1 && next.ipFamilyPolicy !== 'SingleStack') {
    const message = "must be set to 'SingleStack' when releasing the secondary ipFamily";
    errors.push(invalid(specAt.child('ipFamilyPolicy'), next.ipFamilyPolicy ?? null, message));
  }
  return errors;
}

/** Where a load balancer can be reached; of Services and Ingresses alike. */
export function validateServiceStatus(service: Service, previous: Service): FieldError[] {
  const ingress = service.status?.loadBalancer?.ingress ?? [];
  const at = path('status', 'loadBalancer', 'ingress');
  if (service.spec.type !== 'LoadBalancer' && ingress.length > 0) {
    return [forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  const known = (previous.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  return ingress.flatMap((entry, index) => [
    ...validateIngressAddress(at.index(index), entry, known),
    ...validateIpMode(at.index(index).child('ipMode'), entry),
  ]);
}

export function validateIngressAddress(
  at: FieldPath,
  { ip, hostname }: Pick<LoadBalancerIngress, 'ip' | 'hostname'>,
  known: readonly (string | undefined)[],
): FieldError[] {
  const errors = ip && !known.includes(ip) ? validateLegacyIp(ip, at.child('ip')) : [];
  if (!hostname) return errors;
  const here = at.child('hostname');
  errors.push(...refused(here, hostname, dns1123Subdomain(hostname)));
  if (parseIp(hostname)) errors.push(invalid(here, hostname, 'must be a DNS name, not an IP address'));
  return errors;
}

function validateIpMode(at: FieldPath, { ip, ipMode }: LoadBalancerIngress): FieldError[] {
  if (ipMode == null) return ip ? [required(at, 'must be specified when `ip` is set')] : [];
  if (!ip) return [forbidden(at, 'may not be specified when `ip` is not set')];
  const modes = ['Proxy', 'VIP'];
  return modes.includes(ipMode) ? [] : [notSupported(at, ipMode, modes)];
}
