/**
 * What NodeRestriction asks of a PodCertificateRequest: it comes from the node that it names, for a Pod that runs there, and for the account
 * that the Pod runs as. A signer can then trust all three.
 */
import { isMirrorPod } from '../../../api/core/v1/mirror-pod.ts';
import type { PodCertificateRequest } from '../../../api/gen/certificates-v1beta1.ts';
import { nodes, pods, serviceAccounts } from '../../../api/gen/core-v1.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import type { ResourceType } from '../../../apimachinery/resource.ts';
import { isNotFound, messageOf, type StatusError, statusError } from '../../../apimachinery/status.ts';
import type { ObjectReference } from '../../../client/client.ts';
import type { AdmissionAttributes } from '../admission.ts';
import type { PluginContext } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

export async function admitPodCertificateRequest(
  nodeName: string,
  attributes: AdmissionAttributes,
  context: PluginContext,
): Promise<void> {
  const { namespace, operation, subresource } = attributes;
  if (operation !== 'CREATE') throw refusal(attributes, `unexpected operation ${operation}`);
  if (subresource !== '') throw refusal(attributes, `unexpected subresource ${subresource}`);
  const { spec } = attributes.object as unknown as PodCertificateRequest;
  if (spec.nodeName !== nodeName) {
    const named = `PodCertificateRequest.Spec.NodeName=${quote(spec.nodeName)}`;
    throw refusal(attributes, `${named}, which is not the requesting node ${quote(nodeName)}`);
  }
  const read = <T extends KubeObject>(type: ResourceType<T>, what: string, key: ObjectReference) =>
    readNamed(type, { what, key, attributes, context });
  const node = await read(nodes, `node ${quote(nodeName)}`, { name: nodeName });
  const podName = quote(`${namespace}/${spec.podName}`);
  const request = `PodCertificateRequest for pod ${podName}`;
  // What another reader saw earlier may have been replaced since: such a request may be tried again.
  if (node.metadata.uid !== spec.nodeUID)
    throw bareError(
      `${request} names node UID ${quote(spec.nodeUID)}, inconsistent with the running node (${quote(node.metadata.uid ?? '')})`,
    );
  const pod = await read(pods, `pod ${podName}`, { namespace, name: spec.podName });
  if (pod.metadata.uid !== spec.podUID)
    throw bareError(
      `${request} contains pod UID (${quote(spec.podUID)}) which differs from running pod ${quote(pod.metadata.uid ?? '')}`,
    );
  if (pod.spec.nodeName !== nodeName)
    throw refusal(
      attributes,
      `pod ${podName} is not running on node ${quote(nodeName)} named in the PodCertificateRequest`,
    );
  if (isMirrorPod(pod)) throw refusal(attributes, `pod ${podName} is a mirror pod`);
  const own = pod.spec.serviceAccountName ?? '';
  if (spec.serviceAccountName !== own)
    throw refusal(
      attributes,
      `${request} contains serviceAccountName (${quote(spec.serviceAccountName)}) that differs from running pod (${quote(own)})`,
    );
  const accountName = quote(`${namespace}/${own}`);
  const account = await read(serviceAccounts, `service account ${accountName}`, { namespace, name: own });
  if (account.metadata.uid !== spec.serviceAccountUID)
    throw bareError(
      `${request} names service account UID ${quote(spec.serviceAccountUID)}, which differs from the running service account (${quote(account.metadata.uid ?? '')})`,
    );
}

async function readNamed<T extends KubeObject>(
  type: ResourceType<T>,
  {
    what,
    key,
    attributes,
    context,
  }: {
    readonly what: string;
    readonly key: ObjectReference;
    readonly attributes: AdmissionAttributes;
    readonly context: PluginContext;
  },
): Promise<T> {
  try {
    return await context.client.get(type, key);
  } catch (error) {
    const problem = `while retrieving ${what} named in the PodCertificateRequest: ${messageOf(error)}`;
    throw isNotFound(error) ? bareError(problem) : refusal(attributes, problem);
  }
}

/** As upstream's plain errors reach the client: without a reason. */
function bareError(message: string): StatusError {
  return statusError({ code: 500, reason: '', message });
}
