/**
 * CustomResourceDefinitions as real API servers still keep them: in `apiextensions.k8s.io/v1beta1`, which is served no longer. What all
 * versions have in common stands there once for all of them, and the fields of a webhook stand one level higher:
 *
 *     {"validation": S, "versions": [{"name": "v1"}, {"name": "v2"}]}      v1: {"versions": [{"name": "v1", "schema": S}, ...]}
 */

interface OldColumn {
  readonly JSONPath?: string;
}

interface OldVersion {
  readonly additionalPrinterColumns?: readonly OldColumn[];
}

interface OldSpec {
  readonly version?: string;
  readonly versions?: readonly OldVersion[];
  readonly validation?: object;
  readonly subresources?: object;
  readonly additionalPrinterColumns?: readonly OldColumn[];
  readonly selectableFields?: readonly object[];
  readonly conversion?: {
    readonly strategy?: string;
    readonly webhookClientConfig?: object;
    readonly conversionReviewVersions?: readonly string[];
  };
  readonly preserveUnknownFields?: boolean;
}

/** The same in v1, as JSON. */
export function definitionOfV1beta1(bytes: Uint8Array): Buffer {
  const { spec, ...definition } = JSON.parse(Buffer.from(bytes).toString()) as { readonly spec: OldSpec };
  return Buffer.from(JSON.stringify({ ...definition, apiVersion: 'apiextensions.k8s.io/v1', spec: newSpec(spec) }));
}

function newSpec(old: OldSpec): object {
  const { version, versions, validation, subresources, additionalPrinterColumns, selectableFields, ...rest } = old;
  const listed = versions?.length ? versions : version ? [{ name: version, served: true, storage: true }] : [];
  const shared = {
    ...(validation ? { schema: validation } : {}),
    ...(subresources ? { subresources } : {}),
    ...(selectableFields ? { selectableFields } : {}),
  };
  return {
    ...rest,
    versions: listed.map((each: OldVersion) => ({
      ...each,
      ...shared,
      ...columnsOf(additionalPrinterColumns ?? each.additionalPrinterColumns),
    })),
    // Where nothing is said, v1beta1 keeps unknown fields and v1 does not.
    preserveUnknownFields: old.preserveUnknownFields ?? true,
    ...(old.conversion ? { conversion: newConversion(old.conversion) } : {}),
  };
}

function columnsOf(columns: readonly OldColumn[] | undefined) {
  if (!columns) return {};
  return { additionalPrinterColumns: columns.map(({ JSONPath: jsonPath, ...column }) => ({ ...column, jsonPath })) };
}

function newConversion(old: NonNullable<OldSpec['conversion']>): object {
  const { webhookClientConfig: clientConfig, conversionReviewVersions, ...conversion } = old;
  if (!clientConfig && !conversionReviewVersions) return conversion;
  return { ...conversion, webhook: { ...(clientConfig ? { clientConfig } : {}), conversionReviewVersions } };
}
