/** Details of upstream's messages about wrong objects, as its own server was heard to say them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeObject } from '../apimachinery/meta.ts';
import { validatingAdmissionPolicyBehaviour } from './admissionregistration/v1/validating-admission-policy.ts';
import { deploymentBehaviour } from './apps/v1/deployment.ts';
import { replicaSetBehaviour } from './apps/v1/replica-set.ts';
import { statefulSetBehaviour } from './apps/v1/stateful-set.ts';
import { jobBehaviour } from './batch/v1/job.ts';
import { certificateSigningRequestBehaviour } from './certificates/v1/certificate-signing-request.ts';
import { persistentVolumeBehaviour } from './core/v1/persistent-volume.ts';
import { podBehaviour } from './core/v1/pod.ts';
import { flowSchemaBehaviour } from './flowcontrol/v1/flow-schema.ts';
import { errorsOf } from './given.fixture.ts';
import type { KindBehaviour } from './kind.ts';
import { priorityClassBehaviour } from './scheduling/v1/priority-class.ts';
import { volumeAttachmentBehaviour } from './storage/v1/volume-attachment.ts';

interface Case {
  readonly name: string;
  readonly behaviour: unknown;
  readonly written: object;
  readonly error: string;
}

const container = { name: 'c', image: 'i' };
const template = { spec: { containers: [container] } };
const unmatched = 'spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`';

const cases: readonly Case[] = [
  {
    name: 'a Deployment without a selector',
    behaviour: deploymentBehaviour,
    written: { spec: { template } },
    error: unmatched,
  },
  {
    name: 'a ReplicaSet without a selector',
    behaviour: replicaSetBehaviour,
    written: { spec: { template } },
    error: unmatched,
  },
  {
    name: 'a StatefulSet without a selector',
    behaviour: statefulSetBehaviour,
    written: { spec: { template } },
    error: unmatched,
  },
  {
    name: 'a volume without a capacity',
    behaviour: persistentVolumeBehaviour,
    written: { spec: {} },
    error: 'spec.capacity: Unsupported value: null: supported values: "storage"',
  },
  {
    name: 'a second source of a volume',
    behaviour: persistentVolumeBehaviour,
    written: { spec: { nfs: { server: 's', path: '/' }, cephfs: { monitors: ['m'] } } },
    error: 'spec.cephFS: Forbidden: may not specify more than 1 volume type',
  },
  {
    name: 'an empty failure policy',
    behaviour: validatingAdmissionPolicyBehaviour,
    written: { spec: { failurePolicy: '' } },
    error: 'spec.failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore"',
  },
  {
    name: 'an empty preemption policy',
    behaviour: priorityClassBehaviour,
    written: { preemptionPolicy: '' },
    error: 'preemptionPolicy: Required value',
  },
  {
    name: 'a verb of a flow schema',
    behaviour: flowSchemaBehaviour,
    written: { spec: { rules: [{ nonResourceRules: [{ verbs: ['fly'], nonResourceURLs: ['*'] }] }] } },
    error:
      'spec.rules[0].nonResourceRules[0].verbs: Unsupported value: ["fly"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
  },
  {
    name: 'a policy of success without indexes',
    behaviour: jobBehaviour,
    written: { spec: { template, successPolicy: { rules: [{ succeededCount: 1 }] } } },
    error:
      'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode',
  },
  {
    name: 'a request for a certificate that asks nothing',
    behaviour: certificateSigningRequestBehaviour,
    written: { spec: {} },
    error: 'spec.request: Invalid value: null: PEM block type must be CERTIFICATE REQUEST',
  },
  {
    name: 'volumes mounted with labels, which takes a gate',
    behaviour: podBehaviour,
    written: { spec: { containers: [container], securityContext: { seLinuxChangePolicy: 'MountOption' } } },
    error: 'spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"',
  },
];

describe('what upstream says', () => {
  for (const { name, behaviour, written, error } of cases) {
    it(`of ${name}`, () => {
      const errors = errorsOf(behaviour as KindBehaviour<KubeObject>, written);
      assert.ok(errors.includes(error), errors.join('\n'));
    });
  }

  it('of the account of Windows that a Pod names badly', () => {
    const securityContext = { windowsOptions: { gmsaCredentialSpecName: 'Bad' } };
    const [error = ''] = errorsOf(podBehaviour, { spec: { containers: [container], securityContext } });
    assert.match(
      error,
      /^spec\.securityContext\.windowsOptions\.gmsaCredentialSpecName: Invalid value: "Bad": a lowercase RFC 1123/,
    );
  });

  it('only once of a driver without a name', () => {
    const errors = errorsOf(volumeAttachmentBehaviour, { spec: { attacher: '', nodeName: 'n', source: {} } });
    assert.deepEqual(
      errors.filter((error) => error.startsWith('spec.attacher')),
      ['spec.attacher: Required value'],
    );
  });
});
