/** Ingresses: which host and path leads to which Service. */
import { parseIp } from '../../../apimachinery/addresses.ts';
import {
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import {
  dns1123Label,
  dns1123Subdomain,
  portName,
  portNumber,
  wildcardDns1123Subdomain,
} from '../../../apimachinery/names.ts';
import { ageColumn, loadBalancerText, nameColumn, text } from '../../columns.ts';
import { validateIngressAddress } from '../../core/v1/service-validation.ts';
import { partOf } from '../../defaulting.ts';
import type { TypedLocalObjectReference } from '../../gen/core-v1.ts';
import {
  type HTTPIngressPath,
  type Ingress,
  type IngressBackend,
  type IngressRule,
  type IngressTLS,
  ingresses,
} from '../../gen/networking-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { refused, validateDnsSubdomain, validatePathSegment, validateRequired } from '../../validation.ts';

const classAnnotation = 'kubernetes.io/ingress.class';

export const ingressBehaviour: KindBehaviour<Ingress> = {
  resource: ingresses,
  defaults(ingress) {
    partOf(ingress, 'spec');
  },
  countsGeneration: true,
  validate(ingress) {
    const errors = validateSpec(ingress, undefined);
    const annotated = ingress.metadata.annotations?.[classAnnotation];
    const named = ingress.spec?.ingressClassName;
    if (annotated !== undefined && named != null && annotated !== named) {
      const message = 'must match `ingressClassName` when both are specified';
      errors.push(invalid(path('annotations', classAnnotation), annotated, message));
    }
    return errors;
  },
  validateUpdate: (ingress, previous) => validateSpec(ingress, previous),
  subresources: {
    status: {
      validateUpdate({ status }, previous) {
        const known = (previous.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
        return (status?.loadBalancer?.ingress ?? []).flatMap((entry, index) =>
          validateIngressAddress(path('status', 'loadBalancer', 'ingress').index(index), entry, known),
        );
      },
    },
  },
  columns: [
    nameColumn,
    text('Class', ({ spec }) => spec?.ingressClassName ?? '<none>', {
      description: 'The name of the IngressClass resource that should be used for additional configuration',
    }),
    text('Hosts', hostsText, {
      description: 'Hosts that incoming requests are matched against before the ingress rule',
    }),
    text('Address', ({ status }) => loadBalancerText(status?.loadBalancer?.ingress), {
      description: 'Address is a list containing ingress points for the load-balancer',
    }),
    text('Ports', ({ spec }) => ((spec?.tls?.length ?? 0) > 0 ? '80, 443' : '80'), {
      description: 'Ports of TLS configurations that open',
    }),
    ageColumn,
  ],
};

function validateSpec({ spec = {} }: Ingress, previous: Ingress | undefined): FieldError[] {
  const at = path('spec');
  const { rules = [], tls = [], defaultBackend, ingressClassName } = spec;
  const errors: FieldError[] = [];
  if (rules.length === 0 && !defaultBackend) {
    errors.push(invalid(at, spec.rules ?? null, 'either `defaultBackend` or `rules` must be specified'));
  }
  if (defaultBackend) errors.push(...validateBackend(at.child('defaultBackend'), defaultBackend));
  errors.push(...rules.flatMap((rule, index) => validateRule(at.child('rules').index(index), rule)));
  const storedSecrets = previous?.spec?.tls?.map(({ secretName }) => secretName ?? '') ?? [];
  const anySecret = storedSecrets.some((name) => name !== '' && dns1123Subdomain(name).length > 0);
  errors.push(...tls.flatMap((entry, index) => validateTls(at.child('tls').index(index), entry, anySecret)));
  if (ingressClassName != null) errors.push(...validateDnsSubdomain(at.child('ingressClassName'), ingressClassName));
  return errors;
}

function validateHost(at: FieldPath, host: string): FieldError[] {
  return refused(at, host, host.includes('*') ? wildcardDns1123Subdomain(host) : dns1123Subdomain(host));
}

function validateTls(at: FieldPath, { hosts = [], secretName }: IngressTLS, anySecret: boolean): FieldError[] {
  const errors = hosts.flatMap((host, index) => validateHost(at.child('hosts').index(index), host));
  if (secretName && !anySecret) errors.push(...validateDnsSubdomain(at.child('secretName'), secretName));
  return errors;
}

function validateRule(at: FieldPath, { host, http }: IngressRule): FieldError[] {
  const errors: FieldError[] = [];
  if (host) {
    if (parseIp(host)) errors.push(invalid(at.child('host'), host, 'must be a DNS name, not an IP address'));
    errors.push(...validateHost(at.child('host'), host));
  }
  if (!http) return errors;
  const pathsAt = at.child('http', 'paths');
  if (!http.paths?.length) errors.push(required(pathsAt));
  return [...errors, ...(http.paths ?? []).flatMap((entry, index) => validatePath(pathsAt.index(index), entry))];
}

const forbiddenSequences = ['//', '/./', '/../', '%2f', '%2F'];
const forbiddenEndings = ['/..', '/.'];

function validatePath(at: FieldPath, { path: text = '', pathType, backend }: HTTPIngressPath): FieldError[] {
  if (!pathType) return [required(at.child('pathType'), 'pathType must be specified')];
  const here = at.child('path');
  const errors: FieldError[] = [];
  const relative = () => [invalid(here, text, 'must be an absolute path')];
  if (pathType === 'Exact' || pathType === 'Prefix') {
    if (!text.startsWith('/')) errors.push(...relative());
    for (const sequence of forbiddenSequences) {
      if (text.includes(sequence)) errors.push(invalid(here, text, `must not contain '${sequence}'`));
    }
    for (const ending of forbiddenEndings) {
      if (text.endsWith(ending)) errors.push(invalid(here, text, `cannot end with '${ending}'`));
    }
  } else if (pathType === 'ImplementationSpecific') {
    if (text && !text.startsWith('/')) errors.push(...relative());
  } else {
    const types = ['Exact', 'ImplementationSpecific', 'Prefix'];
    errors.push(notSupported(at.child('pathType'), pathType, types));
  }
  return [...errors, ...validateBackend(at.child('backend'), backend ?? {})];
}

function validateBackend(at: FieldPath, { service, resource }: IngressBackend): FieldError[] {
  if (service && resource) return [invalid(at, '', 'cannot set both resource and service backends')];
  if (resource) return validateReference(at.child('resource'), resource);
  if (!service) return [invalid(at, '', 'resource or service backend is required')];
  const serviceAt = at.child('service');
  const errors = validateRequired(serviceAt.child('name'), service.name, dns1123Label);
  const { name, number } = service.port ?? {};
  if (name && number) errors.push(invalid(at, '', 'cannot set both port name & port number'));
  else if (name) errors.push(...refused(serviceAt.child('port', 'name'), name, portName(name)));
  else if (number) errors.push(...refused(serviceAt.child('port', 'number'), number, portNumber(number)));
  else errors.push(required(at, 'port name or number is required'));
  return errors;
}

function validateReference(at: FieldPath, { apiGroup, kind, name }: TypedLocalObjectReference): FieldError[] {
  return [
    ...(apiGroup != null ? validateDnsSubdomain(at.child('apiGroup'), apiGroup) : []),
    ...validatePathSegment(at.child('kind'), kind),
    ...validatePathSegment(at.child('name'), name),
  ];
}

const mostHosts = 3;

function hostsText({ spec }: Ingress): string {
  const rules = spec?.rules ?? [];
  const listed: string[] = [];
  for (const { host } of rules) {
    if (listed.length === mostHosts) return `${listed.join(',')} + ${rules.length - mostHosts} more...`;
    if (host) listed.push(host);
  }
  return listed.length === 0 ? '*' : listed.join(',');
}
