/**
 * Rights beyond upstream's bootstrap policy that make node certificates come with no manual step: the approving controller may
 * approve serving requests, which upstream leaves to people, and kubelets may be approved when they join and when they renew, as
 * kubeadm sets it up. The composition root puts them into the cluster.
 */
import type { ClusterRole, ClusterRoleBinding } from '../../api/gen/rbac-v1.ts';
import { signerNames } from './requests.ts';

const rbacGroup = 'rbac.authorization.k8s.io';

export const servingApproverRole: ClusterRole = {
  metadata: { name: 'coracle:kubelet-serving-approver' },
  rules: [
    {
      apiGroups: ['certificates.k8s.io'],
      resources: ['signers'],
      resourceNames: [signerNames.kubeletServing],
      verbs: ['approve'],
    },
  ],
};

export const nodeCertificateBindings: readonly ClusterRoleBinding[] = [
  {
    metadata: { name: 'coracle:kubelet-serving-approver' },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'coracle:kubelet-serving-approver' },
    subjects: [{ kind: 'ServiceAccount', name: 'certificate-controller', namespace: 'kube-system' }],
  },
  groupBinding('kubelet-bootstrap', 'system:bootstrappers', 'system:node-bootstrapper'),
  groupBinding(
    'node-autoapprove-bootstrap',
    'system:bootstrappers',
    'system:certificates.k8s.io:certificatesigningrequests:nodeclient',
  ),
  groupBinding(
    'node-autoapprove-certificate-rotation',
    'system:nodes',
    'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient',
  ),
];

function groupBinding(name: string, group: string, role: string): ClusterRoleBinding {
  return {
    metadata: { name: `coracle:${name}` },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'Group', apiGroup: rbacGroup, name: group }],
  };
}
