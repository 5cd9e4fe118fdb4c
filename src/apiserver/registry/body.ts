/** A request's object: read, decoded by the kind table with upstream's strictness, brought into the hub version and defaulted. */

import { quote } from '../../apimachinery/go-text.ts';
import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import type { GroupVersionKind } from '../../apimachinery/resource.ts';
import { badRequest } from '../../apimachinery/status.ts';
import { inputFormat } from '../encoding/media-types.ts';
import { noProtobufForm } from '../encoding/protobuf.ts';
import { type ResourceCodec, tableCodec } from '../encoding/resource-codec.ts';
import { yamlConverter } from '../encoding/yaml-thread.ts';
import type { ApiRequest } from '../request.ts';
import type { ServedResource } from '../served-resource.ts';
import { attachOwners, detachOwners } from './managed-fields.ts';
import type { Operation } from './operation.ts';
import { inPlace } from './standing-parts.ts';
import { bodyLimitBytes, type WriteOptions } from './write-options.ts';

interface BodyTarget {
  readonly options: Pick<WriteOptions, 'fieldValidation'>;
  readonly warnings: string[];
}

/** Decodes the body as a kind of the tables. Throws 400, 413, 415. */
export async function decodeBody(
  request: ApiRequest,
  expected: GroupVersionKind,
  target: BodyTarget,
): Promise<Draft<KubeObject>> {
  const object = await decodeWith(request, tableCodec(expected), target);
  request.audit?.requestObject(object);
  return object;
}

/** Problems that only deserve a warning are added to `warnings`. Throws 400, 413, 415. */
async function decodeWith(request: ApiRequest, codec: ResourceCodec, target: BodyTarget): Promise<Draft<KubeObject>> {
  const { fieldValidation } = target.options;
  const { body } = request;
  const detached = body.kind === 'value' ? detachOwners((body.value ?? {}) as object) : undefined;
  const decoded = detached
    ? codec.decodeValue(detached.value, { fieldValidation })
    : await decodeBytes(request, codec, fieldValidation);
  target.warnings.push(...decoded.warnings);
  const object = decoded.object as unknown as Draft<KubeObject>;
  object.metadata ??= {};
  if (detached) attachOwners(object, detached);
  return object;
}

async function decodeBytes(
  request: ApiRequest,
  codec: ResourceCodec,
  fieldValidation: WriteOptions['fieldValidation'],
) {
  const format = inputFormat(request.headers['content-type']);
  const bytes = request.body.kind === 'bytes' ? await request.body.read(bodyLimitBytes) : Buffer.alloc(0);
  if (format !== 'protobuf') {
    const yaml = format === 'yaml' ? await yamlConverter(request, bytes.toString('utf8')) : undefined;
    return codec.decode(bytes, { fieldValidation, format, yaml });
  }
  if (codec.protobuf) return codec.protobuf.decode(bytes, { fieldValidation });
  const { kind, version } = codec.gvk;
  throw badRequest(
    `${kind} in version ${quote(version)} cannot be handled as a ${kind}: ${noProtobufForm('*unstructured.Unstructured')}`,
  );
}

/** The body as an object of the resource, in the hub version and defaulted. */
export async function decodeResource(operation: Operation, options: WriteOptions): Promise<Draft<KubeObject>> {
  const { request, resource, warnings } = operation;
  const object = await decodeWith(request, resource.codec, { options, warnings });
  if (resource.conversion) request.audit?.requestObject(object);
  const hub = toHub(resource, object);
  if (!resource.conversion) request.audit?.requestObject(hub);
  return hub;
}

/** From a served version to the hub, with defaults. */
export function toHub(resource: ServedResource, object: Draft<KubeObject>): Draft<KubeObject> {
  const hub = resource.conversion ? resource.conversion.toHub(object) : object;
  // A custom resource's codec has filled in the defaults already.
  const { defaults } = (resource.custom ? undefined : resource.stored?.behaviour) ?? {};
  if (defaults) inPlace(hub, () => defaults(hub));
  return hub;
}

/** The name and namespace in a body must be those of the URL. Throws 400. */
export function checkIdentity({ info, kind }: Pick<Operation, 'info' | 'kind'>, { metadata }: Draft<KubeObject>): void {
  // As upstream: first the namespace, then the name.
  if (kind.namespaced && metadata.namespace && metadata.namespace !== info.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (!metadata.name) {
    throw badRequest(`the name of the object (${info.name} based on URL) was undeterminable: name must be provided`);
  }
  if (metadata.name !== info.name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${info.name})`);
  }
}
