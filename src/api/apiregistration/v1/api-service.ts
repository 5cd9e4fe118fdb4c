/** APIServices: who serves a group version, this server or one behind a Service. */
import {
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import { dns1035Label, dns1123Subdomain, pathSegmentName, portNumber } from '../../../apimachinery/names.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { fillAbsent, partOf } from '../../defaulting.ts';
import { type APIService, type APIServiceSpec, apiServices } from '../../gen/apiregistration-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { keepMetadata } from '../../strategy.ts';
import { refused } from '../../validation.ts';

const mostPriority = { group: 20_000, version: 1000 } as const;
const conditionStatuses = ['True', 'False', 'Unknown'];

export const apiServiceBehaviour: KindBehaviour<APIService> = {
  resource: apiServices,
  allowUnconditionalUpdate: false,
  countsGeneration: false,
  defaults(service) {
    const spec = partOf(service, 'spec');
    if (spec.service) fillAbsent(spec.service, 'port', 443);
  },
  prepareForCreate(service, { now }) {
    if (service.spec.service) return;
    service.status = {
      conditions: [
        {
          type: 'Available',
          status: 'True',
          lastTransitionTime: now,
          reason: 'Local',
          message: 'Local APIServices are always available',
        },
      ],
    };
  },
  // The rule needs the spec, see `validate`.
  validateName: (name) => pathSegmentName(name),
  validate,
  subresources: {
    status: {
      prepareForUpdate: (service, previous) =>
        keepMetadata(service, previous, 'labels', 'annotations', 'finalizers', 'ownerReferences'),
      validateUpdate: validateStatus,
    },
  },
  columns: [
    nameColumn,
    text('Service', ({ spec: { service } }) => (service ? `${service.namespace}/${service.name}` : 'Local'), {
      description: 'The reference to the service that hosts this API endpoint.',
    }),
    text('Available', availabilityText, { description: 'Whether this service is available.' }),
    ageColumn,
  ],
};

function availabilityText({ status }: APIService): string {
  const available = status?.conditions?.find(({ type }) => type === 'Available');
  if (!available) return 'Unknown';
  if (available.status === 'True' || !available.reason) return available.status;
  return `${available.status} (${available.reason})`;
}

function validate({ metadata, spec }: APIService): FieldError[] {
  const at = path('spec');
  const { group = '', version = '', groupPriorityMinimum = 0, versionPriority = 0 } = spec;
  const name = `${version}.${group}`;
  const errors: FieldError[] = [];
  if (metadata.name !== name && pathSegmentName(metadata.name ?? '').length === 0) {
    const message = `must be \`spec.version+"."+spec.group\`: ${quote(name)}`;
    errors.push(invalid(path('metadata', 'name'), metadata.name ?? '', message));
  }
  if (group !== '') errors.push(...refused(at.child('group'), group, dns1123Subdomain(group)));
  else if (version !== 'v1') {
    errors.push(required(at.child('group'), 'only v1 may have an empty group and it better be legacy kube'));
  }
  errors.push(...refused(at.child('version'), version, dns1035Label(version)));
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > mostPriority.group) {
    const message = `must be positive and less than ${mostPriority.group}`;
    errors.push(invalid(at.child('groupPriorityMinimum'), groupPriorityMinimum, message));
  }
  if (versionPriority <= 0 || versionPriority > mostPriority.version) {
    const message = `must be positive and less than ${mostPriority.version}`;
    errors.push(invalid(at.child('versionPriority'), versionPriority, message));
  }
  return [...errors, ...validateServer(at, spec)];
}

function validateServer(
  at: FieldPath,
  { service, caBundle = '', insecureSkipTLSVerify }: APIServiceSpec,
): FieldError[] {
  const errors: FieldError[] = [];
  const bundle = at.child('caBundle');
  const insecure = at.child('insecureSkipTLSVerify');
  if (!service) {
    const size = Buffer.from(caBundle, 'base64').length;
    if (size > 0) errors.push(invalid(bundle, `${size} bytes`, 'local APIServices may not have a caBundle'));
    if (insecureSkipTLSVerify) {
      errors.push(invalid(insecure, true, 'local APIServices may not have insecureSkipTLSVerify'));
    }
    return errors;
  }
  const { namespace, name, port = 0 } = service;
  if (!namespace) errors.push(required(at.child('service').child('namespace')));
  if (!name) errors.push(required(at.child('service').child('name')));
  const wrong = portNumber(port);
  if (wrong.length > 0) {
    errors.push(invalid(at.child('service').child('port'), port, `port is not valid: ${wrong.join(', ')}`));
  }
  if (!insecureSkipTLSVerify || caBundle === '') return errors;
  return [...errors, invalid(insecure, true, 'may not be true if caBundle is present')];
}

function validateStatus({ status }: APIService): FieldError[] {
  const at = path('status', 'conditions');
  return (status?.conditions ?? []).flatMap((condition, index) => {
    if (conditionStatuses.includes(condition.status)) return [];
    return [notSupported(at.index(index).child('status'), condition.status ?? '', conditionStatuses)];
  });
}
