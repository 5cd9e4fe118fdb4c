/** The question a webhook is asked and the answer it gives: `AdmissionReview` in the newest version that both sides know. */
import type { AdmissionRequest, AdmissionResponse } from '../../../api/gen/admission-v1.ts';
import { parseJson } from '../../../apimachinery/exact-json.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import { parseExact } from '../../../apimachinery/json-text.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import type { Status } from '../../../apimachinery/status.ts';
import { builtinCodec } from '../../encoding/json.ts';
import type { ReviewObject } from '../../webhook-client/exchange.ts';

const group = 'admission.k8s.io';
const knownVersions = ['v1', 'v1beta1'];

export type ReviewVersion = 'v1' | 'v1beta1';

/** The first version the webhook takes that this server knows. Throws when there is none. */
export function reviewVersion(accepted: readonly string[]): ReviewVersion {
  const version = accepted.find((candidate) => knownVersions.includes(candidate));
  if (version) return version as ReviewVersion;
  throw new Error('webhook does not accept known AdmissionReview versions (v1, v1beta1)');
}

export interface ReviewedObjects {
  readonly object: KubeObject | undefined;
  readonly oldObject: KubeObject | undefined;
}

export function reviewOf(
  version: ReviewVersion,
  uid: string,
  facts: Omit<AdmissionRequest, 'uid'>,
  { object, oldObject }: ReviewedObjects,
): object {
  const { operation, userInfo, dryRun, options, ...address } = facts;
  return {
    kind: 'AdmissionReview',
    apiVersion: `${group}/${version}`,
    request: {
      uid,
      ...address,
      operation,
      userInfo,
      object: object ?? null,
      oldObject: oldObject ?? null,
      dryRun,
      options,
    },
  };
}

export interface Verdict {
  readonly allowed: boolean;
  readonly result: Status | undefined;
  /** The text of a JSON patch; empty for none. */
  readonly patch: string;
  readonly patchType: string;
  readonly auditAnnotations: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

/** What upstream's messages call the registry of kinds that replies are decoded with. */
const schemeName = 'pkg/util/webhook/client.go:71';

/** The reply as a review. Throws an `Error` for what is none. */
export function decodeReview(version: ReviewVersion, reply: ReviewObject): ReviewReply {
  const { kind = '', apiVersion = '' } = reply as { readonly kind?: unknown; readonly apiVersion?: unknown };
  const expected = `${group}/${version}`;
  if ((kind !== '' && kind !== 'AdmissionReview') || (apiVersion !== '' && !isReviewVersion(apiVersion))) {
    const stated = String(apiVersion || expected);
    throw new Error(
      `no kind ${quote(String(kind || 'AdmissionReview'))} is registered for version ${quote(stated)} in scheme ${quote(schemeName)}`,
    );
  }
  if (apiVersion !== '' && apiVersion !== expected) {
    const other = String(apiVersion).slice(group.length + 1);
    throw new Error(`converting (${other}.AdmissionReview) to (${version}.AdmissionReview): unknown conversion`);
  }
  const { response } = builtinCodec().copyByTable(reply, `admission/${version}.AdmissionReview`) as {
    readonly response?: AdmissionResponse;
  };
  return { response, stated: { kind: String(kind), apiVersion: String(apiVersion) } };
}

export interface ReviewReply {
  readonly response: AdmissionResponse | undefined;
  readonly stated: { readonly kind: string; readonly apiVersion: string };
}

function isReviewVersion(apiVersion: unknown): boolean {
  return knownVersions.some((version) => apiVersion === `${group}/${version}`);
}

/** Throws an `Error` for an answer to another question, or of the wrong sort. */
export function verdictOf(
  version: ReviewVersion,
  { response, stated }: ReviewReply,
  asked: { readonly uid: string; readonly mutating: boolean },
): Verdict {
  if (!response) throw new Error('webhook response was absent');
  const { patch = '', patchType, auditAnnotations = {}, warnings = [], allowed = false, status: result } = response;
  const common = { allowed, result, auditAnnotations, warnings };
  // The old version was never checked, and webhooks came to rely on that.
  if (version === 'v1beta1') return { ...common, ...patchOf(asked.mutating ? patch : '', 'JSONPatch') };
  if (response.uid !== asked.uid) {
    throw new Error(`expected response.uid=${quote(asked.uid)}, got ${quote(response.uid ?? '')}`);
  }
  checkStated(stated);
  if (!asked.mutating) {
    if (patch !== '') throw new Error('validating webhook may not return response.patch');
    if (patchType !== undefined) throw new Error('validating webhook may not return response.patchType');
    return { ...common, ...patchOf('', '') };
  }
  if (patch !== '' && patchType === undefined) {
    throw new Error('webhook returned response.patch but not response.patchType');
  }
  if (patch === '' && patchType !== undefined) {
    throw new Error('webhook returned response.patchType but not response.patch');
  }
  if (patchType === '') throw new Error('webhook returned invalid response.patchType of ""');
  return { ...common, ...patchOf(patch, patchType ?? '') };
}

function checkStated({ kind, apiVersion }: ReviewReply['stated']): void {
  if (kind === 'AdmissionReview' && apiVersion === `${group}/v1`) return;
  const slash = apiVersion === '' ? '/' : apiVersion;
  throw new Error(`expected webhook response of ${group}/v1, Kind=AdmissionReview, got ${slash}, Kind=${kind}`);
}

function patchOf(base64: string, patchType: string): Pick<Verdict, 'patch' | 'patchType'> {
  return { patch: Buffer.from(base64, 'base64').toString('utf8'), patchType };
}

/** Throws an `Error` in upstream's words for text that is no JSON. */
export function parsePatch(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    parseExact(text);
    throw error;
  }
}
