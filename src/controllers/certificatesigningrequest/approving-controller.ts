/**
 * Approves what kubelets ask for on their way into the cluster and ever after: client certificates of those whom RBAC lets
 * (`selfnodeclient`, `nodeclient`), and serving certificates whose every name and address is one of the Node's own, which upstream
 * leaves to people. A request it does not recognize is left alone; a serving request whose Node does not show the address yet waits.
 */
import { subjectAccessReviews } from '../../api/gen/authorization-v1.ts';
import { type CertificateSigningRequest, certificateSigningRequests } from '../../api/gen/certificates-v1.ts';
import { type Node, nodes as nodeType } from '../../api/gen/core-v1.ts';
import { parseIp } from '../../apimachinery/addresses.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Client } from '../../client/client.ts';
import type { CertificateRequest } from '../../pki/certificate-request.ts';
import type { CauseNote } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import {
  isUndecided,
  kubeletClientError,
  kubeletServingError,
  nodeUserPrefix,
  requestOf,
  signerNames,
} from './requests.ts';

/** Subresources whose `create` right is the right to be approved. */
const clientRights = [
  {
    subresource: 'selfnodeclient',
    message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
  },
  { subresource: 'nodeclient', message: 'Auto approving kubelet client certificate after SubjectAccessReview.' },
] as const;

const servingMessage = 'Auto approving kubelet serving certificate after comparison with the addresses of its Node.';

export async function runCertificateApprovingController(context: ComponentContext): Promise<void> {
  const { client, clock, informers, log } = context;
  const all = informers.of(certificateSigningRequests);
  const nodes = informers.of(nodeType);

  const controller = createController(context, {
    name: 'certificatesigningrequest-approving-controller',
    queue: 'certificate',
    workers: 5,
    waitFor: [all, nodes],
    backoff: { baseDelayMs: 200, maxDelayMs: 1_000_000 },
    async reconcile(name: string): Promise<ReconcileResult | undefined> {
      const object = all.get(name);
      if (!object || !isUndecided(object)) return undefined;
      const { message, notRecognized } = await approval(object);
      if (message === undefined) return { causes: [undecided(notRecognized)] };
      await approve(client, object, { message, nowMs: clock.now() });
      return undefined;
    },
  });

  async function approval(object: CertificateSigningRequest): Promise<Approval> {
    const { signerName, usages = [] } = object.spec;
    if (signerName !== signerNames.kubeletClient && signerName !== signerNames.kubeletServing) return {};
    let request: CertificateRequest;
    try {
      request = requestOf(object);
    } catch (error) {
      return { notRecognized: messageOf(error) };
    }
    if (signerName === signerNames.kubeletServing) {
      const notRecognized = kubeletServingError(request, usages);
      if (notRecognized !== undefined) return { notRecognized };
      if (isNodesOwn(object, request, (name) => nodes.get(name))) return { message: servingMessage };
      return { notRecognized: 'it asks for names or addresses that its Node does not show' };
    }
    const notRecognized = kubeletClientError(request, usages);
    if (notRecognized !== undefined) return { notRecognized };
    const isSelf = object.spec.username === request.subject.commonName;
    for (const { subresource, message } of clientRights) {
      if (subresource === 'selfnodeclient' && !isSelf) continue;
      if (await mayHave(client, object, subresource)) return { message };
    }
    log.debug('recognized csr but subject access review was not approved', { csr: object.metadata.name });
    return { notRecognized: `${object.spec.username} has no right to be approved without a person's saying so` };
  }

  controller.watch(all);
  // Addresses that a Node comes to have may be the ones that a request of its kubelet waits for.
  controller.watchMapped(nodes, ({ metadata, status }, previous) => {
    if (previous && JSON.stringify(previous.status?.addresses) === JSON.stringify(status?.addresses)) return [];
    const user = `${nodeUserPrefix}${metadata.name}`;
    return all
      .list()
      .filter((object) => object.spec.username === user && isUndecided(object))
      .map((object) => object.metadata.name ?? '');
  });
  await controller.run();
}

interface Approval {
  /** The reason to approve it. */
  readonly message?: string;
  /** Why it is left to others; absent for signers that this controller does not mind. */
  readonly notRecognized?: string;
}

function undecided(notRecognized: string | undefined): CauseNote {
  const why = notRecognized === undefined ? '' : `; it is not approved by itself: ${notRecognized}`;
  return { reason: 'NotApproved', message: `it waits for somebody to approve or deny it${why}` };
}

async function mayHave(client: Client, { spec }: CertificateSigningRequest, subresource: string): Promise<boolean> {
  const { username: user, groups, uid, extra } = spec;
  const review = await client.create(subjectAccessReviews, {
    metadata: {},
    spec: {
      user,
      groups,
      uid,
      extra,
      resourceAttributes: {
        group: certificateSigningRequests.group,
        resource: certificateSigningRequests.resource,
        subresource,
        verb: 'create',
        version: '*',
      },
    },
  });
  return review.status?.allowed === true;
}

async function approve(
  client: Client,
  object: CertificateSigningRequest,
  { message, nowMs }: { readonly message: string; readonly nowMs: number },
): Promise<void> {
  const now = formatTime(nowMs);
  const approved = {
    type: 'Approved',
    status: 'True',
    reason: 'AutoApproved',
    message,
    lastUpdateTime: now,
    lastTransitionTime: now,
  };
  const status = { ...object.status, conditions: [...(object.status?.conditions ?? []), approved] };
  await client.update(certificateSigningRequests, { ...object, status }, { subresource: 'approval' });
}

/** Asked by the Node itself, for nothing but its own names and addresses. */
function isNodesOwn(
  { spec }: CertificateSigningRequest,
  request: CertificateRequest,
  nodeNamed: (name: string) => Node | undefined,
): boolean {
  const { commonName } = request.subject;
  if (spec.username !== commonName || !commonName.startsWith(nodeUserPrefix)) return false;
  const name = commonName.slice(nodeUserPrefix.length);
  const node = nodeNamed(name);
  if (!node) return false;
  const addresses = (node.status?.addresses ?? []).map(({ address }) => address);
  const ips = addresses.map(parseIp).filter((ip) => ip !== undefined);
  const ownsIp = (text: string) => {
    const wanted = parseIp(text);
    return wanted !== undefined && ips.some(({ family, value }) => family === wanted.family && value === wanted.value);
  };
  return request.ipAddresses.every(ownsIp) && request.dnsNames.every((dns) => dns === name || addresses.includes(dns));
}
