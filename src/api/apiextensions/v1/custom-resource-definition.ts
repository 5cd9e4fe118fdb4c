/**
 * CustomResourceDefinitions: names, versions, and which of them is stored. The list of versions that objects were ever stored in
 * only grows here. What a definition says is judged in `definition-validation.ts`, and whether its names are free by who serves it.
 */

import { withCondition } from '../../../apimachinery/conditions.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { isKnownFormat } from '../../../apimachinery/structural-schema/formats.ts';
import { fillAbsent, fillEmpty, isEmpty, partOf } from '../../defaulting.ts';
import {
  type CustomResourceDefinition,
  type CustomResourceDefinitionSpec,
  customResourceDefinitions,
} from '../../gen/apiextensions-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateDefinition, validateDefinitionUpdate, validateStatus } from './definition-validation.ts';
import { schemasOf, schemasWithin } from './schema-traversal.ts';

export const customResourceDefinitionBehaviour: KindBehaviour<CustomResourceDefinition> = {
  resource: customResourceDefinitions,
  allowUnconditionalUpdate: false,
  countsGeneration: true,
  defaults(definition) {
    const spec = partOf(definition, 'spec');
    const names = partOf(spec, 'names');
    const kind = names.kind ?? '';
    if (kind !== '') {
      fillEmpty(names, 'singular', kind.toLowerCase());
      fillEmpty(names, 'listKind', `${kind}List`);
    }
    fillAbsent(spec, 'conversion', { strategy: 'None' });
    const service = spec.conversion?.webhook?.clientConfig?.service;
    if (service) fillAbsent(service, 'port', 443);
    const stored = storageVersionOf(definition);
    if (stored !== undefined && isEmpty(definition.status?.storedVersions))
      partOf(definition, 'status').storedVersions = [stored];
  },
  beginDeletion(definition, now) {
    const { metadata } = definition;
    metadata.finalizers = [
      ...(metadata.finalizers ?? []).filter((name) => name !== cleanupFinalizer),
      cleanupFinalizer,
    ];
    const status = partOf(definition, 'status');
    const condition = {
      type: 'Terminating',
      status: 'True',
      reason: 'InstanceDeletionPending',
      message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    };
    status.conditions = [...withCondition(status.conditions, condition, Date.parse(now))];
  },
  prepareForCreate: recordStoredVersion,
  prepareForUpdate: recordStoredVersion,
  warnings({ spec }, previous) {
    const known = previous && unheardOfFormats(previous.spec);
    const added = [...unheardOfFormats(spec)].filter((format) => !known?.has(format));
    return added.map((format) => `unrecognized format ${quote(format)}`);
  },
  validate: (definition) => validateDefinition(definition),
  validateUpdate: (definition, previous) => validateDefinitionUpdate(definition, previous),
  subresources: { status: { validateUpdate: validateStatus } },
};

/** Keeps a definition in being until none of its objects is left. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

function storageVersionOf({ spec }: Pick<Draft<CustomResourceDefinition>, 'spec'>): string | undefined {
  return spec.versions?.find(({ storage }) => storage)?.name;
}

function recordStoredVersion(definition: Draft<CustomResourceDefinition>): void {
  const stored = storageVersionOf(definition);
  if (stored === undefined) return;
  const status = partOf(definition, 'status');
  const versions = status.storedVersions ?? [];
  if (!versions.includes(stored)) status.storedVersions = [...versions, stored];
}

/** Formats that nothing checks, each once. */
function unheardOfFormats(spec: CustomResourceDefinitionSpec): ReadonlySet<string> {
  const unheardOf = schemasOf(spec)
    .flatMap(schemasWithin)
    .flatMap(({ format = '', type = '' }) => (format === '' || isKnownFormat(format, type) ? [] : [format]));
  return new Set(unheardOf);
}
