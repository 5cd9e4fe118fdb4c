/**
 * Requests that are questions: an object is posted, an answer is written into its status, nothing is stored. This file does what all
 * of them share: decoding, admission, the reply.
 */
import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import { apiVersionOf, type GroupVersionKind, type GroupVersionResource } from '../../apimachinery/resource.ts';
import { badRequest, unauthorized } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { AdmissionAttributes } from '../admission/admission.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import { negotiate } from '../encoding/negotiation.ts';
import { warningHeader } from '../encoding/replies.ts';
import { decodeBody } from '../registry/body.ts';
import { trackQuestion } from '../registry/managed-fields.ts';
import { parseWriteOptions } from '../registry/write-options.ts';
import type { ApiRequest, Handler, RequestInfo, UserInfo } from '../request.ts';
import { partialMetadata } from '../table/table.ts';

export interface ReviewContext {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  warn(message: string): void;
  /** Runs validating admission; to be called when the question is known to be well-formed. */
  validateAdmission(): Promise<void>;
}

export interface ReviewOptions<T extends KubeObject> {
  readonly resource: GroupVersionResource;
  readonly subresource?: string;
  readonly kind: GroupVersionKind;
  readonly admission: () => AdmissionChain;
  readonly clock: Clock;
  /** Fills in what is unset, before admission. */
  defaults?(object: Draft<T>): void;
  /** Answers; may change the object it is given. Throws `StatusError` for a question without sense. */
  review(object: Draft<T>, context: ReviewContext): Promise<T> | T;
}

/** A `create` handler; answers 201 with the object. As a Table it cannot be had: 406. */
export function reviewHandler<T extends KubeObject>(options: ReviewOptions<T>): Handler {
  const { resource, subresource = '', kind, admission, clock } = options;
  return async (request, info) => {
    const { user } = request;
    if (!user) throw unauthorized('Unauthorized');
    const { transform } = negotiate(request, { transforms: 'metadata' });
    const writeOptions = parseWriteOptions(request.query, 'CreateOptions');
    const warnings: string[] = [];
    const object = (await decodeBody(request, kind, { options: writeOptions, warnings })) as Draft<T> &
      Draft<KubeObject>;
    settleNamespace(object, info);
    options.defaults?.(object);
    const { fieldManager } = writeOptions;
    trackQuestion(object, { request, kind, subresource, fieldManager, now: formatTime(clock.now()) });
    const warn = (message: string) => void warnings.push(message);
    const attributes: AdmissionAttributes = {
      operation: 'CREATE',
      resource,
      kind,
      subresource,
      namespace: info.namespace,
      name: info.name || (object.metadata.name ?? ''),
      user,
      dryRun: writeOptions.dryRun,
      options: writeOptions.raw,
      object,
      oldObject: undefined,
      signal: request.signal,
      warn,
      annotate: (key, value, level) => request.audit?.annotate(key, value, level),
    };
    await admission().admit(attributes);
    const validateAdmission = () => admission().validate(attributes);
    const answer = await options.review(object, {
      request,
      info,
      user,
      dryRun: writeOptions.dryRun,
      warn,
      validateAdmission,
    });
    const typed = { kind: kind.kind, apiVersion: apiVersionOf(kind), ...withoutType(answer) };
    const reply = transform ? partialMetadata(typed, transform.version) : typed;
    return { status: 201, headers: warningHeader(warnings), body: { kind: 'object', object: reply } };
  };
}

function settleNamespace({ metadata }: Draft<KubeObject>, { namespace }: RequestInfo): void {
  if (namespace === '') return;
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  metadata.namespace = namespace;
}

function withoutType({ kind: _kind, apiVersion: _apiVersion, ...rest }: KubeObject): Pick<KubeObject, 'metadata'> {
  return rest;
}
