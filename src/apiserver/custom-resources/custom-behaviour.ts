/**
 * What creation and update do to objects of one version of a custom resource, by the version's schema, in upstream's order: the kind it
 * says it is, the schema, scale, embedded objects, lists that are sets or maps, and last the rules in CEL, which are not run on what is
 * broken already.
 */
import type { KindBehaviour, ValidationContext } from '../../api/kind.ts';
import { validateEmbeddedMetadata } from '../../api/metadata-validation.ts';
import { suppressedRules } from '../../apimachinery/cel/kubernetes/rules.ts';
import type { FieldError } from '../../apimachinery/field-error.ts';
import { invalid, path, required } from '../../apimachinery/field-error.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import { qualifiedName } from '../../apimachinery/names.ts';
import { apiVersionOf, type ResourceType } from '../../apimachinery/resource.ts';
import type { ResourceRow } from '../../apimachinery/schema.ts';
import { applyDefaults } from '../../apimachinery/structural-schema/defaulting.ts';
import { validateListTypes } from '../../apimachinery/structural-schema/list-types.ts';
import { plainFinalizers } from '../registry/object-metadata.ts';
import { customObjects } from './custom-objects.ts';
import type { CustomVersion } from './custom-version.ts';
import { validateScaleFields, validateScaleStatus } from './scale-paths.ts';

export function customBehaviour(row: ResourceRow, version: CustomVersion): KindBehaviour {
  const { scale } = version.definition.subresources ?? {};
  return {
    resource: resourceType(row),
    allowUnconditionalUpdate: false,
    countsGeneration: true,
    keepsStatus: version.keepsStatus,
    get columns() {
      return version.columns;
    },
    defaults: (object) => applyDefaults(object, version.schema),
    warnings: finalizerWarnings,
    validate(object) {
      const wrong = validateTypeMeta(row, object);
      if (wrong.length > 0) return wrong;
      const errors = version.validator.validate(object);
      if (scale) errors.push(...validateScaleFields(scale, object));
      errors.push(...validateEmbedded(version, object), ...validateListTypes(object, version.schema));
      return withRules(version, errors, object);
    },
    validateUpdate(object, previous, context) {
      const wrong = validateTypeMeta(row, object);
      if (wrong.length > 0) return wrong;
      const errors = version.validator.validate(object, { previous });
      if (scale) errors.push(...validateScaleFields(scale, object));
      errors.push(...validateEmbedded(version, object), ...newRepetitions(version, object, previous));
      return withRules(version, errors, object, { previous, context });
    },
    subresources: {
      status: {
        prepareForUpdate: keepAllButStatus,
        validateUpdate(object, previous, context) {
          const wrong = validateTypeMeta(row, object);
          if (wrong.length > 0) return wrong;
          const { status } = object as KubeObject & { readonly status?: unknown };
          const { status: before } = previous as KubeObject & { readonly status?: unknown };
          const errors =
            status === undefined
              ? []
              : (version.statusValidator?.validate(status, { at: path('status'), previous: before }) ?? []);
          if (scale) errors.push(...validateScaleStatus(scale, object));
          errors.push(...newRepetitions(version, object, previous));
          return withRules(version, errors, object, { previous, context });
        },
      },
    },
    selectableFields: (object) => version.selectableValues(object),
  };
}

function resourceType({ type: _, subresources, ...row }: ResourceRow): ResourceType<KubeObject> {
  return { ...row, subresources: subresources.map(({ name }) => name) };
}

function validateTypeMeta({ group, version, kind }: ResourceRow, object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const apiVersion = apiVersionOf({ group, version });
  if (object.kind !== kind) errors.push(invalid(path('kind'), object.kind, `must be ${kind}`));
  if (object.apiVersion !== apiVersion) {
    errors.push(invalid(path('apiVersion'), object.apiVersion, `must be ${apiVersion}`));
  }
  return errors;
}

function validateEmbedded({ schema }: CustomVersion, object: KubeObject): FieldError[] {
  return customObjects().validateEmbedded(object, schema, { validateMetadata: validateEmbeddedMetadata });
}

/** Told by who judges metadata; no rule is run on what has no name. */
const namelessness = required(path('metadata', 'name'));

interface RuledUpdate {
  readonly previous: KubeObject;
  readonly context: ValidationContext | undefined;
}

/**
 * The errors so far and those of the rules, which are not run on what is broken already. What was so before and is left as it was is
 * only warned of.
 */
function withRules(
  { rules }: CustomVersion,
  errors: readonly FieldError[],
  object: KubeObject,
  update?: RuledUpdate,
): FieldError[] {
  const suppressed = suppressedRules(object.metadata.name ? errors : [...errors, namelessness]);
  if (suppressed) return [...errors, suppressed];
  const verdict = rules.validate(object, update ? { previous: update.previous } : {});
  for (const warning of verdict.warnings) update?.context?.warn(warning);
  return [...errors, ...verdict.errors];
}

/** What was repeated already may stay. */
function newRepetitions(version: CustomVersion, object: KubeObject, previous: KubeObject): FieldError[] {
  const errors = validateListTypes(object, version.schema);
  return errors.length > 0 && validateListTypes(previous, version.schema).length > 0 ? [] : errors;
}

/** On `status` not even labels can be changed. */
function keepAllButStatus(object: Draft<KubeObject>, previous: KubeObject): void {
  const { managedFields, resourceVersion } = object.metadata;
  object.metadata = draft(previous.metadata);
  object.metadata.managedFields = managedFields;
  object.metadata.resourceVersion = resourceVersion;
}

/** Upstream takes any finalizer that is a qualified name, and warns of those that two might think of. */
function finalizerWarnings(object: KubeObject, previous?: KubeObject): string[] {
  const warnings: string[] = [];
  const known = new Set([...(previous?.metadata.finalizers ?? []), ...plainFinalizers]);
  const added = new Set((object.metadata.finalizers ?? []).filter((finalizer) => !known.has(finalizer)));
  for (const finalizer of [...added].sort()) {
    const prefix = `metadata.finalizers: ${quote(finalizer)}: `;
    warnings.push(...qualifiedName(finalizer).map((message) => prefix + message));
    if (finalizer.includes('/')) continue;
    const including = finalizer.includes('.') ? ' including a path (/)' : '';
    warnings.push(
      `${prefix}prefer a domain-qualified finalizer name${including} to avoid accidental conflicts with other finalizer writers`,
    );
  }
  return warnings;
}
