/**
 * One version of a CustomResourceDefinition with everything that is derived from it: schema, validators, columns, selectable fields. Each is
 * made when it is first asked for, so hundreds of definitions cost a server's start no more than reading them.
 */
import type { CustomResourceDefinitionVersion } from '../../api/gen/apiextensions-v1.ts';
import type { Column } from '../../api/kind.ts';
import { SchemaRules } from '../../apimachinery/cel/kubernetes/rules.ts';
import type { Shape } from '../../apimachinery/managed-fields/shape.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import {
  type JsonSchemaProps,
  parseStructuralSchema,
  type StructuralSchema,
} from '../../apimachinery/structural-schema/schema.ts';
import { objectShape } from '../../apimachinery/structural-schema/shape.ts';
import { SchemaValidator } from '../../apimachinery/structural-schema/validator.ts';
import { shapeOfType } from '../encoding/resource-codec.ts';
import { printerColumns } from './printer-columns.ts';
import { selectableFieldReader } from './selectable-field-reader.ts';

export class CustomVersion {
  readonly definition: CustomResourceDefinitionVersion;
  #schema: StructuralSchema | undefined;
  #shape: Shape | undefined;
  #rules: SchemaRules | undefined;
  #validator: SchemaValidator | undefined;
  #statusValidator: SchemaValidator | undefined;
  #columns: readonly Column<KubeObject>[] | undefined;
  #fields: ((object: KubeObject) => Readonly<Record<string, string>>) | undefined;

  constructor(definition: CustomResourceDefinitionVersion) {
    this.definition = definition;
  }

  get name(): string {
    return this.definition.name;
  }

  /** `openAPIV3Schema` as it stands in the definition. */
  get openApiSchema(): JsonSchemaProps {
    return (this.definition.schema?.openAPIV3Schema ?? anything) as JsonSchemaProps;
  }

  get schema(): StructuralSchema {
    this.#schema ??= parseStructuralSchema(this.openApiSchema);
    return this.#schema;
  }

  /** What server-side apply sees. */
  get shape(): Shape {
    this.#shape ??= objectShape(this.schema, shapeOfType('meta/v1.ObjectMeta'));
    return this.#shape;
  }

  get validator(): SchemaValidator {
    this.#validator ??= new SchemaValidator(this.schema);
    return this.#validator;
  }

  /** Of what stands in `status`; undefined when the schema says nothing of it. */
  get statusValidator(): SchemaValidator | undefined {
    const schema = this.schema.properties.get('status');
    this.#statusValidator ??= schema && new SchemaValidator(schema);
    return this.#statusValidator;
  }

  /** The schema's rules in CEL. */
  get rules(): SchemaRules {
    this.#rules ??= new SchemaRules(this.schema);
    return this.#rules;
  }

  get keepsStatus(): boolean {
    return this.definition.subresources?.status !== undefined;
  }

  get columns(): readonly Column<KubeObject>[] {
    this.#columns ??= printerColumns(this.definition.additionalPrinterColumns);
    return this.#columns;
  }

  /** Names of the fields that selectors may ask for beside the metadata's. */
  get selectableFields(): readonly string[] {
    return (this.definition.selectableFields ?? []).map(({ jsonPath }) => jsonPath.replace(/^\./, ''));
  }

  selectableValues(object: KubeObject): Readonly<Record<string, string>> {
    this.#fields ??= selectableFieldReader(this.definition.selectableFields ?? []);
    return this.#fields(object);
  }
}

/** Of a definition from before schemas were demanded. */
const anything: JsonSchemaProps = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
