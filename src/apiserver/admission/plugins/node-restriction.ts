/**
 * NodeRestriction: a kubelet changes only its own Node, the Pods bound to it, its Lease and CSINode, and asks only for tokens and
 * certificates of its own; so one stolen node credential does not become the cluster's. What a node may read is the Node
 * authorizer's matter.
 */

import { isMirrorPod, mirrorPodAnnotation } from '../../../api/core/v1/mirror-pod.ts';
import { semanticallyEqual } from '../../../api/equality.ts';
import type { TokenRequest } from '../../../api/gen/authentication-v1.ts';
import type { CertificateSigningRequest } from '../../../api/gen/certificates-v1.ts';
import { type Node, nodes, type PersistentVolumeClaim, type Pod, pods } from '../../../api/gen/core-v1.ts';
import type { ResourceSlice } from '../../../api/gen/resource-v1.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import type { Draft, KubeObject } from '../../../apimachinery/meta.ts';
import { isNotFound, messageOf, notFound } from '../../../apimachinery/status.ts';
import { nodeNameOf } from '../../authorization/node-identity.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { certificateRequestSubject } from '../certificate-request.ts';
import type { PluginContext } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';
import { apiReferenceOf } from './api-references.ts';
import { forbiddenNodeLabels } from './node-labels.ts';
import { checkTokenAudience } from './token-audience.ts';

type Rule = (nodeName: string, attributes: AdmissionAttributes, context: PluginContext) => Promise<void> | void;

const leaseNamespace = 'kube-node-lease';

/** By `resource.group`. */
const rules: Readonly<Record<string, Rule>> = {
  'nodes.': admitNode,
  'pods.': admitPod,
  'persistentvolumeclaims.': admitClaim,
  'serviceaccounts.': admitToken,
  'leases.coordination.k8s.io': admitLease,
  'csinodes.storage.k8s.io': admitCsiNode,
  'resourceslices.resource.k8s.io': admitResourceSlice,
  'certificatesigningrequests.certificates.k8s.io': admitCertificateRequest,
  // Served on request only: loaded with the first one.
  'podcertificaterequests.certificates.k8s.io': async (...request) =>
    (await import('./pod-certificate-requests.ts')).admitPodCertificateRequest(...request),
};

export function nodeRestriction(context: PluginContext): AdmissionPlugin {
  // Asked for here, so that they have read their lists before the first node comes.
  context.informers.of(nodes);
  context.informers.of(pods);
  return {
    name: 'NodeRestriction',
    replacesParts: true,
    handles: (operation, { resource, group }) =>
      operation !== 'CONNECT' && Object.hasOwn(rules, `${resource}.${group}`),
    admit(attributes) {
      const nodeName = nodeNameOf(attributes.user);
      if (nodeName === undefined) return undefined;
      if (nodeName === '')
        throw refusal(attributes, `could not determine node from user ${quote(attributes.user.name)}`);
      return rules[`${attributes.resource.resource}.${attributes.resource.group}`]?.(nodeName, attributes, context);
    },
  };
}

function operationText({ operation }: AdmissionAttributes): string {
  return quote(operation);
}

function admitNode(nodeName: string, attributes: AdmissionAttributes): void {
  const requested = attributes.name || (attributes.object?.metadata.name ?? '');
  const who = `node ${quote(nodeName)}`;
  if (requested !== nodeName) throw refusal(attributes, `${who} is not allowed to modify node ${quote(requested)}`);
  const node = attributes.object as Draft<Node> | undefined;
  const oldNode = attributes.oldObject as Node | undefined;
  if (attributes.operation === 'CREATE') {
    if (node?.spec?.configSource)
      throw refusal(attributes, `${who} is not allowed to create pods with a non-nil configSource`);
    const forbiddenLabels = forbiddenNodeLabels(node?.metadata.labels, undefined);
    if (forbiddenLabels.length > 0) {
      throw refusal(attributes, `${who} is not allowed to set the following labels: ${forbiddenLabels.join(', ')}`);
    }
  }
  if (attributes.operation !== 'UPDATE') return;
  // An old kubelet may drop the field, so only setting it anew is refused.
  if (node?.spec?.configSource && !semanticallyEqual(node.spec.configSource, oldNode?.spec?.configSource)) {
    throw refusal(attributes, `${who} is not allowed to update configSource to a new non-nil configSource`);
  }
  if (!semanticallyEqual(node?.spec?.taints, oldNode?.spec?.taints)) {
    throw refusal(attributes, `${who} is not allowed to modify taints`);
  }
  if (!semanticallyEqual(node?.metadata.ownerReferences, oldNode?.metadata.ownerReferences)) {
    throw refusal(attributes, `${who} is not allowed to modify ownerReferences`);
  }
  const forbiddenLabels = forbiddenNodeLabels(node?.metadata.labels, oldNode?.metadata.labels);
  if (forbiddenLabels.length > 0) {
    throw refusal(attributes, `is not allowed to modify labels: ${forbiddenLabels.join(', ')}`);
  }
}

function admitPod(nodeName: string, attributes: AdmissionAttributes, context: PluginContext): Promise<void> | void {
  switch (attributes.subresource) {
    case '':
      if (attributes.operation === 'CREATE') return admitMirrorPod(nodeName, attributes, context);
      if (attributes.operation === 'DELETE') return admitPodDeletion(nodeName, attributes, context);
      throw refusal(
        attributes,
        `unexpected operation ${operationText(attributes)}, node ${quote(nodeName)} can only create and delete mirror pods`,
      );
    case 'status':
      return admitPodStatus(nodeName, attributes);
    case 'eviction':
      return admitEviction(nodeName, attributes, context);
    default: {
      const subresource = quote(attributes.subresource);
      throw refusal(attributes, `unexpected pod subresource ${subresource}, only 'status' and 'eviction' are allowed`);
    }
  }
}

async function admitMirrorPod(
  nodeName: string,
  attributes: AdmissionAttributes,
  context: PluginContext,
): Promise<void> {
  const pod = attributes.object as Pod;
  const who = `node ${quote(nodeName)}`;
  if (!isMirrorPod(pod)) {
    const lacking = `pod does not have ${quote(mirrorPodAnnotation)} annotation`;
    throw refusal(attributes, `${lacking}, ${who} can only create mirror pods`);
  }
  if (pod.spec.nodeName !== nodeName) {
    throw refusal(attributes, `${who} can only create pods with spec.nodeName set to itself`);
  }
  const owners = pod.metadata.ownerReferences ?? [];
  const [owner] = owners;
  if (owners.length > 1)
    throw refusal(attributes, `${who} can only create pods with a single owner reference set to itself`);
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== nodeName) {
    throw refusal(attributes, `${who} can only create pods with an owner reference set to itself`);
  }
  if (!owner.controller) {
    throw refusal(attributes, `${who} can only create pods with a controller owner reference set to itself`);
  }
  if (owner.blockOwnerDeletion)
    throw refusal(attributes, `${who} must not set blockOwnerDeletion on an owner reference`);
  const node = await findNode(nodeName, attributes, context);
  if (owner.uid !== node.metadata.uid) {
    throw refusal(attributes, `node ${nodeName} UID mismatch: expected ${owner.uid} got ${node.metadata.uid}`);
  }
  const reference = apiReferenceOf(pod);
  if (reference !== undefined) throw refusal(attributes, `${who} can not create pods that reference ${reference}`);
}

async function findNode(nodeName: string, attributes: AdmissionAttributes, context: PluginContext): Promise<Node> {
  const known = context.informers.of(nodes).get(nodeName);
  if (known) return known;
  try {
    return await context.client.get(nodes, { name: nodeName });
  } catch (error) {
    if (isNotFound(error)) throw error;
    throw refusal(attributes, `error looking up node ${nodeName} to verify uid: ${messageOf(error)}`);
  }
}

/** The informer may be behind about a Pod just bound, so what it does not know, or knows otherwise, is read from the server. */
async function findPod(
  name: string,
  nodeName: string,
  attributes: AdmissionAttributes,
  context: PluginContext,
): Promise<Pod> {
  const { namespace } = attributes;
  const known = context.informers.of(pods).get(`${namespace}/${name}`);
  if (known?.spec.nodeName === nodeName) return known;
  try {
    return await context.client.get(pods, { namespace, name });
  } catch (error) {
    if (isNotFound(error)) throw notFound({ group: '', resource: 'pod' }, name);
    throw refusal(attributes, error);
  }
}

async function admitPodDeletion(
  nodeName: string,
  attributes: AdmissionAttributes,
  context: PluginContext,
): Promise<void> {
  const pod =
    (attributes.oldObject as Pod | undefined) ?? (await findPod(attributes.name, nodeName, attributes, context));
  if (pod.spec.nodeName === nodeName) return;
  throw refusal(attributes, `node ${quote(nodeName)} can only delete pods with spec.nodeName set to itself`);
}

function admitPodStatus(nodeName: string, attributes: AdmissionAttributes): void {
  if (attributes.operation !== 'UPDATE') throw refusal(attributes, `unexpected operation ${operationText(attributes)}`);
  const [pod, oldPod] = [attributes.object as Pod, attributes.oldObject as Pod];
  const who = `node ${quote(nodeName)}`;
  if (oldPod.spec.nodeName !== nodeName) {
    throw refusal(attributes, `${who} can only update pod status for pods with spec.nodeName set to itself`);
  }
  if (!semanticallyEqual(pod.metadata.labels, oldPod.metadata.labels)) {
    throw refusal(attributes, `${who} cannot update labels through pod status`);
  }
  if (!semanticallyEqual(pod.status?.resourceClaimStatuses, oldPod.status?.resourceClaimStatuses)) {
    throw refusal(attributes, `${who} cannot update resource claim statues`);
  }
  if (!semanticallyEqual(pod.status?.extendedResourceClaimStatus, oldPod.status?.extendedResourceClaimStatus)) {
    throw refusal(attributes, `${who} cannot update extended resource claim status`);
  }
}

async function admitEviction(nodeName: string, attributes: AdmissionAttributes, context: PluginContext): Promise<void> {
  if (attributes.operation !== 'CREATE') throw refusal(attributes, `unexpected operation ${attributes.operation}`);
  const name = attributes.name || attributes.object?.metadata.name;
  if (!name) throw refusal(attributes, 'could not determine pod from request data');
  const pod = await findPod(name, nodeName, attributes, context);
  if (pod.spec.nodeName === nodeName) return;
  throw refusal(attributes, `node ${nodeName} can only evict pods with spec.nodeName set to itself`);
}

function admitClaim(nodeName: string, attributes: AdmissionAttributes): void {
  if (attributes.subresource !== 'status') throw refusal(attributes, 'may only update PVC status');
  if (attributes.operation !== 'UPDATE') throw refusal(attributes, `unexpected operation ${operationText(attributes)}`);
  const [claim, oldClaim] = [attributes.object, attributes.oldObject].map((c) =>
    frozenPart(c as unknown as PersistentVolumeClaim),
  );
  if (semanticallyEqual(claim, oldClaim)) return;
  const allowed = 'status.quantity and status.conditions';
  throw refusal(
    attributes,
    `node ${quote(nodeName)} is not allowed to update fields other than ${allowed}: ${differences(oldClaim, claim)}`,
  );
}

/** What of a claim a node may not change. */
function frozenPart(claim: PersistentVolumeClaim): unknown {
  const { resourceVersion: _version, managedFields: _managed, ...metadata } = claim.metadata;
  const {
    capacity: _c,
    conditions: _co,
    allocatedResources: _a,
    allocatedResourceStatuses: _as,
    ...status
  } = claim.status ?? {};
  const { spec } = claim;
  return { metadata, spec, status };
}

/** Top-level fields that differ; upstream prints a Go diff here, which no client matches on. */
function differences(a: unknown, b: unknown): string {
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return Object.keys({ ...left, ...right })
    .filter((key) => !semanticallyEqual(left[key], right[key]))
    .join(', ');
}

async function admitToken(nodeName: string, attributes: AdmissionAttributes, context: PluginContext): Promise<void> {
  if (attributes.operation !== 'CREATE' || attributes.subresource !== 'token') return;
  const { spec } = attributes.object as unknown as TokenRequest;
  const bound = spec.boundObjectRef;
  if (bound?.apiVersion !== 'v1' || bound.kind !== 'Pod' || !bound.name) {
    throw refusal(attributes, 'node requested token not bound to a pod');
  }
  if (!bound.uid) throw refusal(attributes, 'node requested token with a pod binding without a uid');
  const pod = await findPod(bound.name, nodeName, attributes, context);
  if (bound.uid !== pod.metadata.uid) {
    const mismatch = `the UID in the bound object reference (${bound.uid}) does not match the UID in record`;
    throw refusal(attributes, `${mismatch}. The object might have been deleted and then recreated`);
  }
  if (pod.spec.nodeName !== nodeName) {
    throw refusal(attributes, 'node requested token bound to a pod scheduled on a different node');
  }
  const problem = await checkTokenAudience({ audiences: spec.audiences ?? [], pod, attributes, context });
  if (problem !== undefined) throw refusal(attributes, problem);
}

function admitLease(nodeName: string, attributes: AdmissionAttributes): void {
  const { namespace, operation, object, name } = attributes;
  if (namespace !== leaseNamespace) {
    throw refusal(attributes, `can only access leases in the ${quote(leaseNamespace)} system namespace`);
  }
  const leaseName = operation === 'CREATE' ? object?.metadata.name : name;
  if (leaseName !== nodeName) {
    throw refusal(attributes, 'can only access node lease with the same name as the requesting node');
  }
}

function admitCsiNode(nodeName: string, attributes: AdmissionAttributes): void {
  const csiNodeName = attributes.operation === 'CREATE' ? attributes.object?.metadata.name : attributes.name;
  if (csiNodeName !== nodeName) {
    throw refusal(attributes, 'can only access CSINode with the same name as the requesting node');
  }
}

/** On updates the field is immutable, so only creation and deletion are looked at. */
function admitResourceSlice(nodeName: string, attributes: AdmissionAttributes): void {
  const { operation, object, oldObject } = attributes;
  if (operation !== 'CREATE' && operation !== 'DELETE') return;
  const slice = (operation === 'CREATE' ? object : oldObject) as (ResourceSlice & KubeObject) | undefined;
  if (slice && slice.spec.nodeName !== nodeName) {
    const verb = operation === 'CREATE' ? 'create' : 'delete';
    throw refusal(attributes, `can only ${verb} ResourceSlice with the same NodeName as the requesting node`);
  }
}

function admitCertificateRequest(nodeName: string, attributes: AdmissionAttributes): void {
  if (attributes.operation !== 'CREATE') return;
  const { signerName, request } = (attributes.object as unknown as CertificateSigningRequest).spec;
  if (signerName !== 'kubernetes.io/kubelet-serving' && signerName !== 'kubernetes.io/kube-apiserver-client-kubelet')
    return;
  let subject: { readonly commonName: string };
  try {
    subject = certificateRequestSubject(request);
  } catch (error) {
    throw refusal(attributes, `unable to parse csr: ${messageOf(error)}`);
  }
  const wanted = `system:node:${nodeName}`;
  if (subject.commonName === wanted) return;
  throw refusal(attributes, `can only create a node CSR with CN=${wanted}`);
}
