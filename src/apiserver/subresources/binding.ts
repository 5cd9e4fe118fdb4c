/**
 * The scheduler's word: a Binding posted to a Pod puts it on a node, once and for all. Refused when the Pod is going, has a node, or
 * is not yet to be scheduled.
 */

import type { Binding, Pod, PodCondition } from '../../api/gen/core-v1.ts';
import { withCondition } from '../../apimachinery/conditions.ts';
import { type FieldError, notSupported, path, required } from '../../apimachinery/field-error.ts';
import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import { badRequest, conflict, invalid, notFound } from '../../apimachinery/status.ts';
import { replyWithObject } from '../encoding/replies.ts';
import { decodeBody } from '../registry/body.ts';
import { admissionAttributes, keyOf, type Operation } from '../registry/operation.ts';
import { rewrite } from '../registry/rewrite.ts';
import { parseWriteOptions } from '../registry/write-options.ts';
import type { ApiResponse } from '../request.ts';

const bindingKind = { group: '', version: 'v1', kind: 'Binding' } as const;

/** `POST pods/NAME/binding`. */
export async function bindPod(operation: Operation): Promise<ApiResponse> {
  const { request, info, warnings, environment, storage, reply } = operation;
  const options = parseWriteOptions(request.query, 'CreateOptions');
  const body = await decodeBody(request, bindingKind, { options, warnings });
  const binding = body as Draft<Binding> & Draft<KubeObject>;
  if (binding.metadata.name !== info.name) throw badRequest('name in URL does not match name in Binding object');
  const attributes = admissionAttributes(operation, {
    operation: 'CREATE',
    object: binding,
    oldObject: undefined,
    name: info.name,
    dryRun: options.dryRun,
    options: options.raw,
    kind: bindingKind,
  });
  if (attributes) await environment.admission().admit(attributes);
  validateBinding(binding);
  if (attributes) await environment.admission().validate(attributes);
  const change = (current: KubeObject) => bound(operation, binding, current as Pod);
  const pod = await rewrite(storage, keyOf(operation), { change, dryRun: options.dryRun });
  if (!pod) throw notFound(operation.resource.row, info.name);
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } as KubeObject;
  return replyWithObject(reply, status, { status: 201, warnings });
}

function validateBinding({ metadata, target }: Binding): void {
  const errors: FieldError[] = [];
  const at = path('target');
  if (target.kind && target.kind !== 'Node')
    errors.push(notSupported(at.child('kind'), target.kind, ['Node', '<empty>']));
  if (!target.name) errors.push(required(at.child('name')));
  if (errors.length > 0) throw invalid(bindingKind, metadata.name ?? '', errors);
}

/** A Binding may say which Pod it means, not only its name. */
function checkPreconditions({ metadata }: Binding, pod: Pod, refuse: (why: string) => Error): void {
  const { uid, resourceVersion } = pod.metadata;
  if (metadata.uid && metadata.uid !== uid) {
    throw refuse(`Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${uid ?? ''}`);
  }
  if (metadata.resourceVersion && metadata.resourceVersion !== resourceVersion) {
    const versions = `${metadata.resourceVersion}, ResourceVersion in object meta: ${resourceVersion ?? ''}`;
    throw refuse(`Precondition failed: ResourceVersion in precondition: ${versions}`);
  }
}

/** What the binding does not change is the Pod's own still. */
function bound({ info, environment }: Operation, binding: Binding, pod: Pod): KubeObject {
  const refuse = (why: string) => conflict({ group: '', resource: 'pods/binding' }, info.name, why);
  checkPreconditions(binding, pod, refuse);
  if (pod.metadata.deletionTimestamp) throw refuse(`pod ${info.name} is being deleted, cannot be assigned to a host`);
  if (pod.spec.nodeName) {
    throw refuse(`pod ${info.name} is already assigned to node ${JSON.stringify(pod.spec.nodeName)}`);
  }
  if (pod.spec.schedulingGates?.length) throw refuse(`pod ${info.name} has non-empty .spec.schedulingGates`);
  const { annotations, labels } = binding.metadata;
  const metadata = {
    ...pod.metadata,
    ...(annotations && { annotations: { ...pod.metadata.annotations, ...annotations } }),
    ...(labels && { labels: { ...pod.metadata.labels, ...labels } }),
  };
  const { nominatedNodeName: _, ...status } = pod.status ?? {};
  const condition: PodCondition = { type: 'PodScheduled', status: 'True' };
  const conditions = withCondition(status.conditions ?? [], condition, environment.clock.now());
  return {
    ...pod,
    metadata,
    spec: { ...pod.spec, nodeName: binding.target.name ?? '' },
    status: { ...status, conditions },
  } as KubeObject;
}
