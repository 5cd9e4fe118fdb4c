/** IPAddresses: one for each address that a Service has, so that none is given twice. */
import { validateIp } from '../../../apimachinery/addresses.ts';
import { type FieldError, invalid, path, required } from '../../../apimachinery/field-error.ts';
import { immutableMessage } from '../../../apimachinery/names.ts';
import { groupResource } from '../../../apimachinery/resource.ts';
import { nameColumn, text } from '../../columns.ts';
import { semanticallyEqual } from '../../equality.ts';
import { type IPAddress, ipAddresses, type ParentReference } from '../../gen/networking-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { shown, validateDnsSubdomain, validatePathSegment } from '../../validation.ts';

export const ipAddressBehaviour: KindBehaviour<IPAddress> = {
  resource: ipAddresses,
  countsGeneration: false,
  validateName: (name) => validateIp(name, path()).map(({ detail }) => detail),
  validate,
  validateUpdate: ({ spec }, previous) =>
    semanticallyEqual(spec?.parentRef, previous.spec?.parentRef)
      ? []
      : [invalid(path('spec', 'parentRef'), parentShown(spec?.parentRef), immutableMessage)],
  columns: [nameColumn, text('ParentRef', parentText)],
};

function validate({ spec }: IPAddress): FieldError[] {
  const at = path('spec', 'parentRef');
  const parent = spec?.parentRef;
  if (!parent) return [required(at)];
  return [
    ...(parent.group ? validateDnsSubdomain(at.child('group'), parent.group) : []),
    ...validatePathSegment(at.child('resource'), parent.resource),
    ...validatePathSegment(at.child('name'), parent.name),
    ...(parent.namespace ? validatePathSegment(at.child('namespace'), parent.namespace) : []),
  ];
}

function parentText({ spec }: IPAddress): string {
  const parent = spec?.parentRef;
  if (!parent) return '<none>';
  const resource = groupResource({ group: parent.group ?? '', resource: parent.resource ?? '' }).toLowerCase();
  return [resource, ...(parent.namespace ? [parent.namespace] : []), parent.name].join('/');
}

function parentShown(parent: ParentReference | undefined): Record<string, unknown> | null {
  if (!parent) return null;
  const { group = '', resource = '', namespace = '', name = '' } = parent;
  return shown({ Group: group, Resource: resource, Namespace: namespace, Name: name });
}
