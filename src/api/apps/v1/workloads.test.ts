import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import { replicationControllerBehaviour } from '../../core/v1/replication-controller.ts';
import {
  assertErrors,
  type BadInput,
  created,
  errorsOf,
  given,
  merged,
  rowOf,
  updated,
  updateErrorsOf,
} from '../../given.fixture.ts';
import type { KindBehaviour } from '../../kind.ts';
import { controllerRevisionBehaviour } from './controller-revision.ts';
import { daemonSetBehaviour } from './daemon-set.ts';
import { deploymentBehaviour } from './deployment.ts';
import { replicaSetBehaviour } from './replica-set.ts';
import { statefulSetBehaviour } from './stateful-set.ts';

const web = {
  metadata: { name: 'web', namespace: 'default', generation: 1, creationTimestamp: '2025-12-31T23:59:00Z' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'nginx', image: 'nginx' }] } },
  },
};

/** What all templates share is tested with Pods. */
function withoutTemplate(spec: object): object {
  const { template: _, ...rest } = spec as { template: unknown };
  return rest;
}

describe('defaults of kinds with a Pod template', () => {
  const kinds = [deploymentBehaviour, replicaSetBehaviour, daemonSetBehaviour, statefulSetBehaviour];
  const expected: Readonly<Record<string, object>> = {
    Deployment: {
      replicas: 1,
      selector: web.spec.selector,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
    },
    ReplicaSet: { replicas: 1, selector: web.spec.selector },
    DaemonSet: {
      selector: web.spec.selector,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      revisionHistoryLimit: 10,
    },
    StatefulSet: {
      replicas: 1,
      selector: web.spec.selector,
      podManagementPolicy: 'OrderedReady',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      revisionHistoryLimit: 10,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    },
  };
  for (const behaviour of kinds as readonly KindBehaviour[]) {
    const { kind } = behaviour.resource;
    it(`of a ${kind}`, () => {
      const { spec } = given(behaviour, web) as KubeObject & { spec: object };
      assert.deepEqual(withoutTemplate(spec), expected[kind]);
    });
  }

  it('of a ReplicationController select by the labels of its template, which become its own', () => {
    const { selector: _, ...spec } = web.spec;
    const controller = given(replicationControllerBehaviour, { ...web, spec });
    assert.deepEqual(controller.spec?.selector, { app: 'web' });
    assert.deepEqual(controller.metadata.labels, { app: 'web' });
    assert.equal(controller.spec?.replicas, 1);
  });

  it('of a Deployment that recreates hold no limits of a rolling update', () => {
    const deployment = given(deploymentBehaviour, merged(web, { spec: { strategy: { type: 'Recreate' } } }));
    assert.deepEqual(deployment.spec.strategy, { type: 'Recreate' });
  });
});

function badInputs<T extends KubeObject>(behaviour: KindBehaviour<T>, cases: readonly BadInput[]): void {
  describe(`a bad ${behaviour.resource.kind}`, () => {
    it('is good before it is made bad', () => assert.deepEqual(errorsOf(behaviour, web), []));
    for (const bad of cases) it(bad.title, () => assertErrors(behaviour, web, bad));
  });
}

const mismatch = {
  title: 'selects other Pods than it makes',
  changes: { spec: { selector: { matchLabels: { app: 'other' } } } },
  errors: ['spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`'],
};
const never = {
  title: 'makes Pods that end',
  changes: { spec: { template: { spec: { restartPolicy: 'Never' } } } },
  errors: ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
};
const negative = {
  title: 'has fewer than no replicas',
  changes: { spec: { replicas: -1 } },
  errors: ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
};

badInputs(deploymentBehaviour, [
  mismatch,
  never,
  negative,
  {
    title: 'selects nothing in particular',
    changes: { spec: { selector: { matchLabels: null } } },
    errors: ['spec.selector: Invalid value: {}: empty selector is invalid for deployment'],
  },
  {
    title: 'may neither lack nor add a Pod while it rolls',
    changes: { spec: { strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: '0%' } } } },
    errors: ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0'],
  },
  {
    title: 'may lack more Pods than there are',
    changes: { spec: { strategy: { rollingUpdate: { maxUnavailable: '120%' } } } },
    errors: ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "120%": must not be greater than 100%'],
  },
  {
    title: 'rolls while it recreates',
    changes: { spec: { strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } } },
    errors: ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
  },
  {
    title: 'gives up before its Pods can be ready',
    changes: { spec: { minReadySeconds: 600, progressDeadlineSeconds: 600 } },
    errors: ['spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds'],
  },
]);
badInputs(replicaSetBehaviour, [mismatch, never, negative]);
badInputs(daemonSetBehaviour, [
  mismatch,
  never,
  {
    title: 'may neither lack nor add a Pod while it rolls',
    changes: { spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 0 } } } },
    errors: ['spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0'],
  },
  {
    title: 'both lacks and adds Pods while it rolls',
    changes: { spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } } } },
    errors: [
      'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero',
    ],
  },
]);
badInputs(statefulSetBehaviour, [
  mismatch,
  never,
  negative,
  {
    title: 'has a policy that is none',
    changes: { spec: { podManagementPolicy: 'Random' } },
    errors: ["spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'"],
  },
]);

describe('an update of a Deployment', () => {
  it('may not change the selector', () => {
    const labels = { metadata: { labels: { app: 'web', tier: 'x' } } };
    const next = merged(web, { spec: { selector: { matchLabels: { app: 'web', tier: 'x' } }, template: labels } });
    assert.deepEqual(updateErrorsOf(deploymentBehaviour, web, next), [
      'spec.selector: Invalid value: {"matchLabels":{"app":"web","tier":"x"}}: field is immutable',
    ]);
  });

  it('of the status reports no more ready replicas than there are', () => {
    const status = { replicas: 1, readyReplicas: 2, availableReplicas: 3 };
    assert.deepEqual(updateErrorsOf(deploymentBehaviour, web, { ...web, status }, 'status'), [
      'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas',
    ]);
  });

  it('of annotations counts as a generation', () => {
    const next = merged(web, { metadata: { annotations: { a: 'b' } } });
    assert.equal(updated(deploymentBehaviour, web, next).metadata.generation, 2);
  });
});

describe('an update of a StatefulSet', () => {
  it('may change replicas, but not the name of its service', () => {
    assert.deepEqual(updateErrorsOf(statefulSetBehaviour, web, merged(web, { spec: { replicas: 3 } })), []);
    const [error = ''] = updateErrorsOf(statefulSetBehaviour, web, merged(web, { spec: { serviceName: 'b' } }));
    assert.match(error, /^spec: Forbidden: updates to statefulset spec for fields other than/);
  });
});

describe('an update of a DaemonSet', () => {
  it('starts a new generation of templates when the template changes', () => {
    const spec = { template: { spec: { containers: [{ name: 'nginx', image: 'nginx:2' }] } } };
    const stored = merged(web, { spec: { templateGeneration: undefined } });
    const first = created(daemonSetBehaviour, stored);
    assert.equal(first.metadata.annotations?.['deprecated.daemonset.template.generation'], '1');
    const next = updated(daemonSetBehaviour, first, merged(first, { spec }));
    assert.equal(next.metadata.annotations?.['deprecated.daemonset.template.generation'], '2');
  });
});

describe('a ControllerRevision', () => {
  const revision = { metadata: { name: 'web-1', namespace: 'default' }, revision: 1, data: { spec: {} } };

  it('keeps its data', () => {
    assert.deepEqual(errorsOf(controllerRevisionBehaviour, revision), []);
    const errors = updateErrorsOf(controllerRevisionBehaviour, revision, { ...revision, data: { spec: { a: 1 } } });
    assert.deepEqual(errors, ['data: Invalid value: {"spec":{"a":1}}: field is immutable']);
  });

  it('must have data and a revision that is not negative', () => {
    assert.deepEqual(errorsOf(controllerRevisionBehaviour, { revision: -1 }), [
      'revision: Invalid value: -1: must be greater than or equal to 0',
      'data: Required value: data is mandatory',
    ]);
  });

  it('shows its controller', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'web', uid: '1', controller: true };
    const row = rowOf(controllerRevisionBehaviour, merged(revision, { metadata: { ownerReferences: [owner] } }));
    assert.equal(row.Controller, 'daemonset.apps/web');
    assert.equal(row.Revision, 1);
  });
});

describe('rows of workloads', () => {
  const counts = { replicas: 3, readyReplicas: 2, updatedReplicas: 1, availableReplicas: 2 };
  const wide = { Containers: 'nginx', Images: 'nginx' };

  it('of a Deployment', () => {
    assert.deepEqual(rowOf(deploymentBehaviour, merged(web, { spec: { replicas: 3 }, status: counts })), {
      Name: 'web',
      Ready: '2/3',
      'Up-to-date': 1,
      Available: 2,
      Age: '60s',
      ...wide,
      Selector: 'app=web',
    });
  });

  it('of a ReplicaSet', () => {
    assert.deepEqual(rowOf(replicaSetBehaviour, merged(web, { spec: { replicas: 3 }, status: counts })), {
      Name: 'web',
      Desired: 3,
      Current: 3,
      Ready: 2,
      Age: '60s',
      ...wide,
      Selector: 'app=web',
    });
  });

  it('of a StatefulSet', () => {
    assert.deepEqual(rowOf(statefulSetBehaviour, merged(web, { spec: { replicas: 3 }, status: counts })), {
      Name: 'web',
      Ready: '2/3',
      Age: '60s',
      ...wide,
    });
  });

  it('of a DaemonSet', () => {
    const status = {
      desiredNumberScheduled: 4,
      currentNumberScheduled: 3,
      numberReady: 2,
      updatedNumberScheduled: 1,
      numberAvailable: 2,
      numberMisscheduled: 0,
    };
    const cells = rowOf(
      daemonSetBehaviour,
      merged(web, { spec: { template: { spec: { nodeSelector: { a: 'b' } } } }, status }),
    );
    assert.deepEqual(cells, {
      Name: 'web',
      Desired: 4,
      Current: 3,
      Ready: 2,
      'Up-to-date': 1,
      Available: 2,
      'Node Selector': 'a=b',
      Age: '60s',
      ...wide,
      Selector: 'app=web',
    });
  });
});
