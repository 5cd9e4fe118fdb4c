/** A request's object: read, decoded by the kind table with upstream's strictness, brought into the hub version and defaulted. */

import type { Decoded } from '../../apimachinery/codec.ts';
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
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import { attachOwners, detachOwners } from './managed-fields.ts';
import type { Operation, RegistryEnvironment } from './operation.ts';
import { fillDefaults, untouchedParts, withoutValues } from './standing-parts.ts';
import { bodyLimitBytes, type WriteOptions } from './write-options.ts';

interface BodyTarget {
  readonly options: Pick<WriteOptions, 'fieldValidation'>;
  readonly warnings: string[];
  /** What stands where the object is to be, of which it may have parts (`standing-parts.ts`). */
  readonly standing?: CacheEntry | undefined;
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
  const { body } = request;
  const decoded =
    body.kind === 'value'
      ? decodeValue((body.value ?? {}) as object, codec, target)
      : await decodeBytes(request, codec, target);
  target.warnings.push(...decoded.warnings);
  const object = decoded.object as unknown as Draft<KubeObject>;
  object.metadata ??= {};
  return object;
}

/** What the sender has from us and left as it was is not read again. */
function decodeValue(value: object, codec: ResourceCodec, { options, standing }: BodyTarget): Decoded {
  const detached = detachOwners(value);
  const untouched = standing && codec.type ? untouchedParts(detached.value, standing.object()) : undefined;
  const given = untouched ? { ...detached.value, ...withoutValues(untouched) } : detached.value;
  const decoded = codec.decodeValue(given, { fieldValidation: options.fieldValidation });
  const object = decoded.object as unknown as Draft<KubeObject>;
  object.metadata ??= {};
  attachOwners(object, detached);
  if (untouched) Object.assign(object, untouched);
  return decoded;
}

async function decodeBytes(request: ApiRequest, codec: ResourceCodec, { options, standing }: BodyTarget) {
  const { fieldValidation } = options;
  const format = inputFormat(request.headers['content-type']);
  const bytes = request.body.kind === 'bytes' ? await request.body.read(bodyLimitBytes) : Buffer.alloc(0);
  if (format !== 'protobuf') {
    const yaml = format === 'yaml' ? await yamlConverter(request, bytes.toString('utf8')) : undefined;
    return codec.decode(bytes, { fieldValidation, format, yaml, known: standing?.knownText() });
  }
  if (codec.protobuf) return codec.protobuf.decode(bytes, { fieldValidation });
  const { kind, version } = codec.gvk;
  throw badRequest(
    `${kind} in version ${quote(version)} cannot be handled as a ${kind}: ${noProtobufForm('*unstructured.Unstructured')}`,
  );
}

/**
 * The body as an object of the resource, in the hub version and defaulted. `standing`: what it is to take the place of; what it has of that, it may
 * have as standing parts.
 */
export async function decodeResource(
  operation: Operation,
  { options, standing }: { readonly options: WriteOptions; readonly standing?: CacheEntry | undefined },
): Promise<Draft<KubeObject>> {
  const { request, resource, warnings } = operation;
  const target = { options, warnings, standing: resource.conversion ? undefined : standing };
  const object = await decodeWith(request, resource.codec, target);
  if (resource.conversion) request.audit?.requestObject(object);
  const hub = toHub(operation, object);
  if (!resource.conversion) request.audit?.requestObject(hub);
  return hub;
}

/** From a served version to the hub, with defaults. */
export function toHub(
  { resource, environment }: { readonly resource: ServedResource; readonly environment?: RegistryEnvironment },
  object: Draft<KubeObject>,
): Draft<KubeObject> {
  const hub = resource.conversion ? resource.conversion.toHub(object) : object;
  const { behaviour } = resource.stored ?? {};
  // A custom resource's codec has filled in the defaults already.
  if (behaviour && !resource.custom) fillDefaults(hub, { behaviour, complete: environment?.completeParts });
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
