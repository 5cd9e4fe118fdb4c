/**
 * Signers are guarded one by one: who approves or signs a CertificateSigningRequest needs that right for its signer, and nobody gets
 * a client certificate in the group that may do everything.
 */

import { semanticallyEqual } from '../../../api/equality.ts';
import type { CertificateSigningRequest } from '../../../api/gen/certificates-v1.ts';
import type { ClusterTrustBundle } from '../../../api/gen/certificates-v1beta1.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import { messageOf } from '../../../apimachinery/status.ts';
import { resourceAccess } from '../../authorization/access.ts';
import type { Authorizer } from '../../authorization/authorizer.ts';
import type { UserInfo } from '../../request.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { certificateRequestSubject } from '../certificate-request.ts';
import { handling, type PluginContext } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

const group = 'certificates.k8s.io';
const resource = 'certificatesigningrequests';
const clientSigner = 'kubernetes.io/kube-apiserver-client';

export function certificateApproval({ authorizer }: PluginContext): AdmissionPlugin {
  return {
    name: 'CertificateApproval',
    handles: handling(['UPDATE'], group, resource, ['approval']),
    async validate(attributes) {
      const { signerName } = (attributes.oldObject as unknown as CertificateSigningRequest).spec;
      if (await mayUseSigner(authorizer, attributes.user, { verb: 'approve', signerName })) return;
      throw refusal(attributes, `user not permitted to approve requests with signerName ${quote(signerName)}`);
    },
  };
}

export function certificateSigning({ authorizer }: PluginContext): AdmissionPlugin {
  return {
    name: 'CertificateSigning',
    handles: handling(['UPDATE'], group, resource, ['status']),
    async validate(attributes) {
      const [request, oldRequest] = [
        attributes.object,
        attributes.oldObject,
      ] as unknown as readonly CertificateSigningRequest[];
      const [status, oldStatus] = [request!.status, oldRequest!.status];
      const unchanged =
        semanticallyEqual(status?.certificate, oldStatus?.certificate) &&
        semanticallyEqual(status?.conditions, oldStatus?.conditions);
      const { signerName } = oldRequest!.spec;
      if (unchanged || (await mayUseSigner(authorizer, attributes.user, { verb: 'sign', signerName }))) return;
      throw refusal(attributes, `user not permitted to sign requests with signerName ${quote(signerName)}`);
    },
  };
}

export function certificateSubjectRestriction(): AdmissionPlugin {
  return {
    name: 'CertificateSubjectRestriction',
    handles: handling(['CREATE'], group, resource),
    validate(attributes) {
      const { signerName, request } = (attributes.object as unknown as CertificateSigningRequest).spec;
      if (signerName !== clientSigner) return;
      let organizations: readonly string[];
      try {
        organizations = certificateRequestSubject(request).organizations;
      } catch (error) {
        throw refusal(attributes, `failed to parse CSR: ${messageOf(error)}`);
      }
      if (!organizations.includes('system:masters')) return;
      throw refusal(attributes, `use of ${clientSigner} signer with system:masters group is not allowed`);
    },
  };
}

/** Who publishes trust anchors of a signer speaks for it. A change that says nothing new is let be. */
export function clusterTrustBundleAttest({ authorizer }: PluginContext): AdmissionPlugin {
  return {
    name: 'ClusterTrustBundleAttest',
    handles: handling(['CREATE', 'UPDATE'], group, 'clustertrustbundles'),
    async validate(attributes) {
      const { spec } = attributes.object as unknown as ClusterTrustBundle;
      const { signerName } = spec;
      if (!signerName || onlyGarbageCollection(attributes)) return;
      if (await mayUseSigner(authorizer, attributes.user, { verb: 'attest', signerName })) return;
      throw refusal(attributes, `user not permitted to attest for signerName ${quote(signerName)}`);
    },
  };
}

/** Owners and finalizers alone, or nothing at all. */
function onlyGarbageCollection({ object, oldObject }: AdmissionAttributes): boolean {
  if (!object || !oldObject) return false;
  const rest = ({ metadata, ...fields }: KubeObject) => {
    const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _managed, ...others } = metadata;
    return { ...fields, metadata: others };
  };
  return semanticallyEqual(rest(object as KubeObject), rest(oldObject));
}

/** A right is given for one signer, or for all of a domain by `example.com/*`. */
async function mayUseSigner(
  authorizer: Authorizer,
  user: UserInfo,
  question: { readonly verb: string; readonly signerName: string },
): Promise<boolean> {
  const { verb, signerName } = question;
  for (const name of [signerName, `${signerName.split('/')[0]}/*`]) {
    const access = { verb, group, version: '*', resource: 'signers', name };
    if ((await authorizer.authorize(resourceAccess(user, access))).decision === 'allow') return true;
  }
  return false;
}
