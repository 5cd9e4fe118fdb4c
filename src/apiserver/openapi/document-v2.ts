/**
 * Renders operations as the OpenAPI 2.0 (Swagger) document of the whole server. Parameters that recur stand once at the top and are
 * referred to, which halves the document.
 */
import { createHash } from 'node:crypto';
import { patchMediaTypes, responseDescriptions } from './document-v3.ts';
import type { Operation, PathOperations } from './operations.ts';
import type { Parameter } from './parameters.ts';
import type { Json, SchemaCollector } from './schemas.ts';
import { isSame, sharedParameters } from './shared-parameters.ts';

export function documentV2(paths: readonly PathOperations[], schemas: SchemaCollector, version: string): Json {
  const parameters = new ParameterDefinitions();
  const rendered = Object.fromEntries(
    paths.map(({ path, operations }) => [path, pathItem(operations, schemas, parameters)]),
  );
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version },
    paths: rendered,
    definitions: schemas.definitions(),
    parameters: parameters.all(),
    securityDefinitions: {
      BearerToken: { type: 'apiKey', description: 'Bearer Token authentication', name: 'authorization', in: 'header' },
    },
    security: [{ BearerToken: [] }],
  };
}

function pathItem(operations: readonly Operation[], schemas: SchemaCollector, parameters: ParameterDefinitions): Json {
  const common = sharedParameters(operations);
  const item: Json = {};
  for (const operation of operations) item[operation.method] = renderOperation(operation, common, schemas, parameters);
  if (common.length > 0) item.parameters = common.map((parameter) => parameters.reference(renderParameter(parameter)));
  return item;
}

function renderOperation(
  operation: Operation,
  common: readonly Parameter[],
  schemas: SchemaCollector,
  parameters: ParameterDefinitions,
): Json {
  const own = operation.parameters.filter((parameter) => !common.some((shared) => isSame(shared, parameter)));
  const rendered = own.map((parameter) => parameters.reference(renderParameter(parameter)));
  if (operation.body) {
    const body = {
      name: 'body',
      in: 'body',
      ...(operation.body.required ? { required: true } : {}),
      schema: operation.body.schema(schemas),
    };
    rendered.unshift(operation.body.required && !operation.body.isPatch ? body : parameters.reference(body));
  }
  const responses: Json = {};
  for (const [code, schema] of Object.entries(operation.responses)) {
    const described = schema === undefined ? {} : { schema: schema === 'text' ? { type: 'string' } : schema(schemas) };
    responses[code] = { description: responseDescriptions[code] ?? 'OK', ...described };
  }
  responses['401'] = { description: 'Unauthorized' };
  return {
    description: operation.description,
    consumes: operation.body?.isPatch ? patchMediaTypes : ['*/*'],
    produces: operation.produces,
    schemes: ['https'],
    tags: [operation.tag],
    operationId: operation.id,
    ...(rendered.length > 0 ? { parameters: rendered } : {}),
    responses,
    ...(operation.action ? { 'x-kubernetes-action': operation.action } : {}),
    ...(operation.gvk ? { 'x-kubernetes-group-version-kind': operation.gvk } : {}),
  };
}

function renderParameter(parameter: Parameter): Json {
  return {
    name: parameter.name,
    in: parameter.in,
    description: parameter.description,
    ...(parameter.in === 'path' ? { required: true } : {}),
    type: parameter.type,
    uniqueItems: true,
  };
}

/** The document's `parameters`: named after the parameter and a hash of its definition. */
class ParameterDefinitions {
  readonly #definitions = new Map<string, Json>();

  reference(definition: Json): Json {
    const hash = createHash('sha256').update(JSON.stringify(definition)).digest('base64url').slice(0, 8);
    const name = `${definition.name}-${hash}`;
    this.#definitions.set(name, definition);
    return { $ref: `#/parameters/${name}` };
  }

  all(): Json {
    return Object.fromEntries([...this.#definitions].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
