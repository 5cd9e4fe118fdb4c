/**
 * What a store of bytes may hold: canonical JSON or protobuf in its envelope, in the version in which the resource is kept here or in
 * another, for a real API server, an older release or a newer one may have written it. What such bytes say they are decides.
 */
import { conversionTo } from '../../api/conversions.ts';
import { builtinResources, builtinSchema } from '../../api/schema.ts';
import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import { hasEnvelope, openEnvelope } from '../../apimachinery/protobuf/envelope.ts';
import { apiVersionOf } from '../../apimachinery/resource.ts';
import { builtinCodec } from '../encoding/json.ts';
import type { StoredKind } from '../served-resource.ts';
import { definitionOfV1beta1 } from './old-definition.ts';

interface TypeMeta {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
}

/** The object in the hub version, not defaulted; the caller's own. Throws for bytes that nobody could have kept there. */
export function decodeKept(kind: StoredKind, bytes: Uint8Array): Draft<KubeObject> {
  if (kind.custom) return kind.codec.decodeStored(bytes) as Draft<KubeObject>;
  if (hasEnvelope(bytes)) {
    const { message, ...meta } = openEnvelope(bytes);
    return inHub(kind, meta, (typeId) => builtinCodec().decodeMessage(message, typeId));
  }
  const meta = typeMetaOf(bytes);
  if (isHub(kind, meta)) return kind.codec.decodeStored(bytes) as Draft<KubeObject>;
  if (meta.apiVersion === 'apiextensions.k8s.io/v1beta1')
    return kind.codec.decodeStored(definitionOfV1beta1(bytes)) as Draft<KubeObject>;
  return inHub(kind, meta, (typeId) => builtinCodec().decodeStored(bytes, typeId));
}

/** The version in which a value is kept. */
export function keptVersion(bytes: Uint8Array): string | undefined {
  return hasEnvelope(bytes) ? openEnvelope(bytes).apiVersion : typeMetaOf(bytes).apiVersion;
}

function inHub(
  kind: StoredKind,
  { apiVersion = kind.hubApiVersion, kind: name = kind.hub.kind }: TypeMeta,
  decode: (typeId: string) => Record<string, unknown>,
): Draft<KubeObject> {
  const type = builtinSchema().typeOf(apiVersion, name);
  const row = builtinResources().find((other) => apiVersionOf(other) === apiVersion && other.kind === name);
  if (!type || !row || row.storagePrefix !== kind.hub.storagePrefix)
    throw new Error(`no kind "${name}" is registered for version "${apiVersion}"`);
  const object = { ...decode(type.id), kind: kind.hub.kind, apiVersion } as unknown as Draft<KubeObject>;
  return isHub(kind, { apiVersion })
    ? { ...object, apiVersion: kind.hubApiVersion }
    : conversionTo(kind.hub, row).toHub(object);
}

/** What does not say what it is was written by somebody who knew. */
function isHub(kind: StoredKind, { apiVersion }: TypeMeta): boolean {
  return apiVersion === undefined || apiVersion === kind.hubApiVersion;
}

/** The beginning of canonical JSON, Go's as well as ours. */
const canonicalHead = /^\{"kind":"([^"\\]*)","apiVersion":"([^"\\]*)",/;
const headLength = 256;

function typeMetaOf(bytes: Uint8Array): TypeMeta {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const head = canonicalHead.exec(buffer.toString('latin1', 0, headLength));
  return head ? { kind: head[1], apiVersion: head[2] } : (JSON.parse(buffer.toString()) as TypeMeta);
}
