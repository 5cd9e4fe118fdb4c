/** NetworkPolicies: who may talk to whom. */
import { cidrContains, parseCidr, validateLegacyCidr } from '../../../apimachinery/addresses.ts';
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { validateLabelSelector } from '../../../apimachinery/labels.ts';
import { portName, portNumber } from '../../../apimachinery/names.ts';
import { ageColumn, labelSelectorText, nameColumn, text } from '../../columns.ts';
import { fillAbsent, isEmpty, partOf } from '../../defaulting.ts';
import {
  type IPBlock,
  type NetworkPolicy,
  type NetworkPolicyPeer,
  type NetworkPolicyPort,
  type NetworkPolicySpec,
  networkPolicies,
} from '../../gen/networking-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { refused, validateEnum } from '../../validation.ts';

export const networkPolicyBehaviour: KindBehaviour<NetworkPolicy> = {
  resource: networkPolicies,
  defaults(policy) {
    const spec = partOf(policy, 'spec');
    if (isEmpty(spec.policyTypes)) spec.policyTypes = isEmpty(spec.egress) ? ['Ingress'] : ['Ingress', 'Egress'];
    for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
      for (const port of rule.ports ?? []) fillAbsent(port, 'protocol', 'TCP');
    }
  },
  countsGeneration: true,
  validate: ({ spec }) => validateSpec(path('spec'), spec ?? {}, new Set()),
  validateUpdate: ({ spec }, previous) => validateSpec(path('spec'), spec ?? {}, storedRanges(previous.spec ?? {})),
  columns: [nameColumn, text('Pod-Selector', ({ spec }) => labelSelectorText(spec?.podSelector)), ageColumn],
};

function peersOf({ ingress = [], egress = [] }: NetworkPolicySpec): NetworkPolicyPeer[] {
  return [...ingress.flatMap(({ from }) => from ?? []), ...egress.flatMap(({ to }) => to ?? [])];
}

/** Ranges in a form that today's rules refuse may stay where they are. */
function storedRanges(spec: NetworkPolicySpec): ReadonlySet<string> {
  return new Set(peersOf(spec).flatMap(({ ipBlock }) => (ipBlock ? [ipBlock.cidr, ...(ipBlock.except ?? [])] : [])));
}

function validateSpec(at: FieldPath, spec: NetworkPolicySpec, known: ReadonlySet<string>): FieldError[] {
  const errors = validateLabelSelector(spec.podSelector, at.child('podSelector'));
  const rules = [
    ...(spec.ingress ?? []).map((rule, i) => ({
      ...rule,
      peers: rule.from,
      at: at.child('ingress').index(i),
      list: 'from',
    })),
    ...(spec.egress ?? []).map((rule, i) => ({ ...rule, peers: rule.to, at: at.child('egress').index(i), list: 'to' })),
  ];
  for (const rule of rules) {
    errors.push(...(rule.ports ?? []).flatMap((port, i) => validatePort(rule.at.child('ports').index(i), port)));
    errors.push(
      ...(rule.peers ?? []).flatMap((peer, i) => validatePeer(rule.at.child(rule.list).index(i), peer, known)),
    );
  }
  const types = spec.policyTypes ?? [];
  const typesAt = at.child('policyTypes');
  if (types.length > 2) return [...errors, invalid(typesAt, types, 'may not specify more than two policyTypes')];
  return [...errors, ...types.flatMap((type, i) => validateEnum(typesAt.index(i), type, ['Ingress', 'Egress']))];
}

function validatePort(at: FieldPath, { protocol, port, endPort }: NetworkPolicyPort): FieldError[] {
  const errors = validateEnum(at.child('protocol'), protocol, ['TCP', 'UDP', 'SCTP']);
  const endAt = at.child('endPort');
  if (port == null) {
    return endPort == null
      ? errors
      : [...errors, invalid(endAt, endPort, 'may not be specified when `port` is not specified')];
  }
  if (typeof port === 'string') {
    if (endPort != null) errors.push(invalid(endAt, endPort, 'may not be specified when `port` is non-numeric'));
    return [...errors, ...refused(at.child('port'), port, portName(port))];
  }
  errors.push(...refused(at.child('port'), port, portNumber(port)));
  if (endPort == null) return errors;
  if (endPort < port) errors.push(invalid(endAt, port, 'must be greater than or equal to `port`'));
  return [...errors, ...refused(endAt, endPort, portNumber(endPort))];
}

function validatePeer(at: FieldPath, peer: NetworkPolicyPeer, known: ReadonlySet<string>): FieldError[] {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  const errors = [
    ...validateLabelSelector(podSelector, at.child('podSelector')),
    ...validateLabelSelector(namespaceSelector, at.child('namespaceSelector')),
    ...(ipBlock ? validateBlock(at.child('ipBlock'), ipBlock, known) : []),
  ];
  if (!podSelector && !namespaceSelector && !ipBlock) return [...errors, required(at, 'must specify a peer')];
  if (ipBlock && (podSelector || namespaceSelector)) {
    errors.push(forbidden(at, 'may not specify both ipBlock and another peer'));
  }
  return errors;
}

function validateBlock(at: FieldPath, { cidr, except = [] }: IPBlock, known: ReadonlySet<string>): FieldError[] {
  if (!cidr) return [required(at.child('cidr'))];
  const errors = known.has(cidr) ? [] : validateLegacyCidr(cidr, at.child('cidr'));
  const whole = parseCidr(cidr);
  if (!whole) return errors;
  for (const [index, text] of except.entries()) {
    const here = at.child('except').index(index);
    if (!known.has(text)) errors.push(...validateLegacyCidr(text, here));
    const part = parseCidr(text);
    if (!part) continue;
    const within = cidrContains(whole, { ...part.address, value: part.base }) && part.prefixLength > whole.prefixLength;
    if (!within) errors.push(invalid(here, text, 'must be a strict subset of `cidr`'));
  }
  return errors;
}
