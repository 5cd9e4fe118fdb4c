/** Renders operations as an OpenAPI 3.0 document: one per group version, and small ones for the discovery paths above them. */
import type { Operation, PathOperations, SchemaReference } from './operations.ts';
import type { Parameter } from './parameters.ts';
import type { Json, SchemaCollector } from './schemas.ts';
import { isSame, sharedParameters } from './shared-parameters.ts';

export function documentV3(paths: readonly PathOperations[], schemas: SchemaCollector, version: string): Json {
  const rendered = Object.fromEntries(paths.map(({ path, operations }) => [path, pathItem(operations, schemas)]));
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version },
    paths: rendered,
    components: {
      schemas: schemas.definitions(),
      securitySchemes: {
        BearerToken: {
          type: 'apiKey',
          description: 'Bearer Token authentication',
          name: 'authorization',
          in: 'header',
        },
      },
    },
  };
}

function pathItem(operations: readonly Operation[], schemas: SchemaCollector): Json {
  const common = sharedParameters(operations);
  const item: Json = {};
  for (const operation of operations) item[operation.method] = renderOperation(operation, common, schemas);
  if (common.length > 0) item.parameters = common.map(renderParameter);
  return item;
}

function renderOperation(operation: Operation, common: readonly Parameter[], schemas: SchemaCollector): Json {
  const own = operation.parameters.filter((parameter) => !common.some((shared) => isSame(shared, parameter)));
  const responses: Json = {};
  for (const [code, schema] of Object.entries(operation.responses))
    responses[code] = response(code, schema, operation, schemas);
  responses['401'] = { description: 'Unauthorized' };
  return {
    tags: [operation.tag],
    description: operation.description,
    operationId: operation.id,
    ...(own.length > 0 ? { parameters: own.map(renderParameter) } : {}),
    ...(operation.body ? { requestBody: requestBody(operation.body, schemas) } : {}),
    responses,
    ...(operation.action ? { 'x-kubernetes-action': operation.action } : {}),
    ...(operation.gvk ? { 'x-kubernetes-group-version-kind': operation.gvk } : {}),
  };
}

export const patchMediaTypes: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];

function requestBody(body: NonNullable<Operation['body']>, schemas: SchemaCollector): Json {
  const schema = body.schema(schemas);
  const mediaTypes = body.isPatch ? patchMediaTypes : ['*/*'];
  const content = Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema }]));
  return body.required ? { content, required: true } : { content };
}

function response(
  code: string,
  schema: SchemaReference | 'text' | undefined,
  operation: Operation,
  schemas: SchemaCollector,
): Json {
  const description = responseDescriptions[code] ?? 'OK';
  if (schema === undefined) return { description };
  const rendered = schema === 'text' ? { type: 'string' } : schema(schemas);
  return {
    description,
    content: Object.fromEntries(operation.produces.map((mediaType) => [mediaType, { schema: rendered }])),
  };
}

export const responseDescriptions: Readonly<Record<string, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' };

function renderParameter(parameter: Parameter): Json {
  return {
    name: parameter.name,
    in: parameter.in,
    description: parameter.description,
    ...(parameter.in === 'path' ? { required: true } : {}),
    schema: { type: parameter.type, uniqueItems: true },
  };
}
