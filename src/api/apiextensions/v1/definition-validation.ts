/**
 * Everything about a CustomResourceDefinition that can be wrong: names, versions, schemas, conversion, columns, subresources.
 *
 * Upstream judges a definition in an older form of its own, in which what all versions have in common stands in the spec: errors in a
 * schema that all versions share are reported at `spec.validation`, and so for subresources, columns and selectable fields.
 */
import { type FieldError, type FieldPath, invalid, path, required } from '../../../apimachinery/field-error.ts';
import { dns1035Label, dns1123Subdomain } from '../../../apimachinery/names.ts';
import { parseStructuralSchema, UnsupportedSchemaError } from '../../../apimachinery/structural-schema/schema.ts';
import { semanticallyEqual } from '../../equality.ts';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from '../../gen/apiextensions-v1.ts';
import { shown, validateImmutable, validateRequiredEnum } from '../../validation.ts';
import { validateApproval } from './approval.ts';
import { validateConversion } from './conversion-validation.ts';
import { type Leniency, leniencyTowards, strict } from './leniency.ts';
import { anySchema } from './schema-traversal.ts';
import { validateSchema } from './schema-validation.ts';
import { validateSelectableFields } from './selectable-fields.ts';
import { validateColumn, validateDeprecation, validateSubresources } from './version-parts.ts';

export function validateDefinition(definition: CustomResourceDefinition): FieldError[] {
  const { metadata, spec } = definition;
  const errors: FieldError[] = [];
  const { name = '' } = metadata;
  if (name !== '' && name !== `${spec.names.plural}.${spec.group}`) {
    const detail = 'must be spec.names.plural+"."+spec.group';
    errors.push(invalid(path('metadata', 'name'), name, detail));
  }
  return [
    ...errors,
    ...new SpecCheck(spec, strict).errors(),
    ...validateStatus(definition),
    ...validateStoredVersions(definition),
    ...validateApproval(definition, undefined),
    ...validatePreserving(spec, undefined),
  ];
}

export function validateDefinitionUpdate(
  definition: CustomResourceDefinition,
  previous: CustomResourceDefinition,
): FieldError[] {
  const leniency = leniencyTowards(definition, previous);
  const { spec } = definition;
  return [
    ...new SpecCheck(spec, leniency).errors(),
    ...immutableErrors(spec, previous.spec, leniency),
    ...validateStatus(definition),
    ...validateStoredVersions(definition),
    ...validateApproval(definition, previous),
    ...validatePreserving(spec, previous.spec),
  ];
}

/** What holds for the status alone, which has a subresource of its own. */
export function validateStatus({ status }: CustomResourceDefinition): FieldError[] {
  return status?.acceptedNames ? validateNames(path('status', 'acceptedNames'), status.acceptedNames) : [];
}

/** Scope and kind of an established definition are in its objects' keys and bytes. */
function immutableErrors(
  spec: CustomResourceDefinitionSpec,
  previous: CustomResourceDefinitionSpec,
  { immutableNames }: Leniency,
): FieldError[] {
  const at = path('spec');
  const namesAt = at.child('names');
  return [
    ...(immutableNames ? validateImmutable(at.child('scope'), spec.scope, previous.scope) : []),
    ...(immutableNames ? validateImmutable(namesAt.child('kind'), spec.names.kind, previous.names.kind) : []),
    ...validateImmutable(at.child('group'), spec.group, previous.group),
    ...validateImmutable(namesAt.child('plural'), spec.names.plural, previous.names.plural),
  ];
}

/** Objects may still be stored in any version of the list. */
function validateStoredVersions({ spec, status }: CustomResourceDefinition): FieldError[] {
  const at = path('status', 'storedVersions');
  const stored = status?.storedVersions ?? [];
  const versions = spec.versions ?? [];
  if (stored.length === 0)
    return [invalid(at, status?.storedVersions ?? null, 'must have at least one stored version')];
  const missing = versions
    .filter(({ name, storage }) => storage && !stored.includes(name))
    .map(({ name }) => invalid(at, stored, `must have the storage version ${name}`));
  const gone = stored.flatMap((name, index) => {
    if (versions.some((version) => version.name === name)) return [];
    const detail = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    return [invalid(at.index(index), name, detail)];
  });
  return [...missing, ...gone];
}

function validatePreserving(
  { preserveUnknownFields }: CustomResourceDefinitionSpec,
  previous: CustomResourceDefinitionSpec | undefined,
): FieldError[] {
  if (!preserveUnknownFields || previous?.preserveUnknownFields) return [];
  const detail =
    'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
  return [invalid(path('spec', 'preserveUnknownFields'), true, detail)];
}

/** Parts of versions that upstream moves to the spec when all versions agree on them. */
type SharedPart = 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields';

class SpecCheck {
  readonly #at = path('spec');
  readonly #spec: CustomResourceDefinitionSpec;
  readonly #versions: readonly CustomResourceDefinitionVersion[];
  readonly #leniency: Leniency;
  readonly #shared: ReadonlySet<SharedPart>;

  constructor(spec: CustomResourceDefinitionSpec, leniency: Leniency) {
    this.#spec = spec;
    this.#versions = spec.versions ?? [];
    this.#leniency = leniency;
    const parts = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const;
    const [first, ...others] = this.#versions;
    this.#shared = new Set(
      parts.filter((part) => others.every((version) => semanticallyEqual(version[part], first?.[part]))),
    );
  }

  errors(): FieldError[] {
    const at = this.#at;
    const { names, scope, conversion, preserveUnknownFields } = this.#spec;
    const errors = [
      ...validateGroup(at.child('group'), this.#spec.group ?? ''),
      ...validateRequiredEnum(at.child('scope'), scope, ['Cluster', 'Namespaced']),
      ...this.#missingSchemas(),
    ];
    if (preserveUnknownFields && anySchema(this.#spec, (schema) => (schema.default ?? null) !== null)) {
      const detail = 'must be false in order to use defaults in the schema';
      errors.push(invalid(at.child('preserveUnknownFields'), true, detail));
    }
    errors.push(...this.#versionErrors(), ...requiredNames(at.child('names'), names));
    errors.push(...validateNames(at.child('names'), names), ...this.#sharedErrors());
    if (conversion && conversion.strategy !== 'None' && preserveUnknownFields) {
      const detail = 'must be None if spec.preserveUnknownFields is true';
      errors.push(invalid(at.child('conversion', 'strategy'), conversion.strategy, detail));
    }
    return conversion ? [...errors, ...validateConversion(at.child('conversion'), conversion, this.#leniency)] : errors;
  }

  #missingSchemas(): FieldError[] {
    return this.#versions.flatMap(({ schema, served }, index) => {
      if (schema?.openAPIV3Schema) return [];
      const here = this.#at.child('versions').index(index).child('schema', 'openAPIV3Schema');
      if (this.#leniency.schemas) return [required(here)];
      return served && !this.#spec.preserveUnknownFields
        ? [required(here, 'because otherwise all fields are pruned')]
        : [];
    });
  }

  #versionErrors(): FieldError[] {
    const at = this.#at.child('versions');
    const errors = this.#versions.flatMap((version, index) => {
      const here = at.index(index);
      const messages = dns1035Label(version.name ?? '');
      return [
        ...(messages.length > 0 ? [invalid(here.child('name'), version.name ?? '', messages.join(','))] : []),
        ...validateDeprecation(here.child('deprecationWarning'), version),
        ...this.#partErrors(version, { at: here, schemaField: 'schema', includes: (part) => !this.#shared.has(part) }),
      ];
    });
    if (new Set(this.#versions.map(({ name }) => name)).size < this.#versions.length)
      errors.push(invalid(at, this.#shownVersions(), 'must contain unique version names'));
    if (this.#versions.filter(({ storage }) => storage).length !== 1)
      errors.push(invalid(at, this.#shownVersions(), 'must have exactly one version marked as storage version'));
    const [first] = this.#versions;
    return first ? [...errors, ...validateFirstVersion(this.#at.child('version'), first.name ?? '')] : errors;
  }

  #sharedErrors(): FieldError[] {
    const [first] = this.#versions;
    if (!first) return [];
    const includes = (part: SharedPart) => this.#shared.has(part);
    return this.#partErrors(first, { at: this.#at, schemaField: 'validation', includes });
  }

  #partErrors(
    version: CustomResourceDefinitionVersion,
    place: {
      readonly at: FieldPath;
      readonly schemaField: string;
      readonly includes: (part: SharedPart) => boolean;
    },
  ): FieldError[] {
    const { at, includes } = place;
    const schema = version.schema?.openAPIV3Schema;
    const { additionalPrinterColumns = [], subresources, selectableFields = [] } = version;
    const errors: FieldError[] = [];
    if (schema && includes('schema')) errors.push(...this.#schemaErrors(schema, version, at.child(place.schemaField)));
    if (subresources && includes('subresources'))
      errors.push(...validateSubresources(at.child('subresources'), subresources));
    if (includes('additionalPrinterColumns'))
      for (const [index, column] of additionalPrinterColumns.entries())
        errors.push(...validateColumn(at.child('additionalPrinterColumns').index(index), column));
    if (selectableFields.length > 0 && includes('selectableFields'))
      errors.push(...this.#selectableErrors(version, at));
    return errors;
  }

  #schemaErrors(schema: JSONSchemaProps, version: CustomResourceDefinitionVersion, at: FieldPath): FieldError[] {
    const anyStatus = this.#versions.some(({ subresources }) => subresources?.status !== undefined);
    return validateSchema(schema, {
      at: at.child('openAPIV3Schema'),
      leniency: this.#leniency,
      keepsStatus: this.#shared.has('schema') ? anyStatus : version.subresources?.status !== undefined,
      unchanged: this.#leniency.unchangedSchemas.has(version.name),
    });
  }

  #selectableErrors(version: CustomResourceDefinitionVersion, at: FieldPath): FieldError[] {
    const here = at.child('selectableFields');
    const schema = version.schema?.openAPIV3Schema;
    const isShared = this.#shared.has('selectableFields');
    if (!schema) {
      const detail = isShared
        ? 'may only be set when validations.schema is included'
        : 'may only be set when `version.schema.openAPIV3Schema` is not included';
      return [invalid(here, '', detail)];
    }
    try {
      const allowsMany = this.#leniency.manySelectableFields.has(version.name);
      return validateSelectableFields(version.selectableFields ?? [], parseStructuralSchema(schema), {
        at: here,
        allowsMany,
      });
    } catch (error) {
      if (error instanceof UnsupportedSchemaError)
        return [invalid(at.child('schema.openAPIV3Schema'), '', error.message)];
      throw error;
    }
  }

  /** As upstream shows them: without what they share. */
  #shownVersions(): unknown {
    const own = <T>(part: SharedPart, value: T) => (this.#shared.has(part) ? undefined : value);
    return this.#versions.map((version) =>
      shown({
        Name: version.name ?? '',
        Served: version.served ?? false,
        Storage: version.storage ?? false,
        Deprecated: version.deprecated ?? false,
        DeprecationWarning: version.deprecationWarning,
        Schema: own('schema', version.schema),
        Subresources: own('subresources', version.subresources),
        AdditionalPrinterColumns: own('additionalPrinterColumns', version.additionalPrinterColumns),
        SelectableFields: own('selectableFields', version.selectableFields),
      }),
    );
  }
}

/** In the older form the first version has a field of its own beside the list. */
function validateFirstVersion(at: FieldPath, name: string): FieldError[] {
  return name === '' ? [] : validateWord(at, name);
}

function validateGroup(at: FieldPath, group: string): FieldError[] {
  if (group === '') return [required(at)];
  const messages = dns1123Subdomain(group);
  if (messages.length > 0) return [invalid(at, group, messages.join(','))];
  return group.includes('.') ? [] : [invalid(at, group, 'should be a domain with at least one dot')];
}

function requiredNames(at: FieldPath, names: CustomResourceDefinitionNames): FieldError[] {
  return (['plural', 'singular', 'kind', 'listKind'] as const).flatMap((field) =>
    names[field] ? [] : [required(at.child(field))],
  );
}

function validateNames(at: FieldPath, names: CustomResourceDefinitionNames): FieldError[] {
  const { plural = '', singular = '', kind = '', listKind = '', shortNames = [], categories = [] } = names;
  const mixedCase = 'may have mixed case, but should otherwise match: ';
  const errors = [
    ...(plural === '' ? [] : validateWord(at.child('plural'), plural)),
    ...(singular === '' ? [] : validateWord(at.child('singular'), singular)),
  ];
  for (const [field, value] of Object.entries({ kind, listKind })) {
    const messages = value === '' ? [] : dns1035Label(value.toLowerCase());
    if (messages.length > 0) errors.push(invalid(at.child(field), value, mixedCase + messages.join(',')));
  }
  errors.push(...shortNames.flatMap((name, index) => validateWord(at.child('shortNames').index(index), name)));
  if (kind !== '' && kind === listKind)
    errors.push(invalid(at.child('listKind'), listKind, 'kind and listKind may not be the same'));
  return [...errors, ...categories.flatMap((name, index) => validateWord(at.child('categories').index(index), name))];
}

function validateWord(at: FieldPath, word: string): FieldError[] {
  const messages = dns1035Label(word);
  return messages.length === 0 ? [] : [invalid(at, word, messages.join(','))];
}
