import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
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
import { podBehaviour } from './pod.ts';

const web = {
  metadata: { name: 'web', namespace: 'default', creationTimestamp: '2025-12-31T23:59:00Z' },
  spec: { containers: [{ name: 'nginx', image: 'nginx:1.27' }] },
};

function withContainer(changes: object): object {
  return { spec: { containers: [{ name: 'nginx', image: 'nginx:1.27', ...changes }] } };
}

describe('defaults of a Pod', () => {
  it('fills in what a kubelet and a scheduler rely on', () => {
    const pod = given(podBehaviour, web);
    assert.deepEqual(pod.spec, {
      containers: [
        {
          name: 'nginx',
          image: 'nginx:1.27',
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          imagePullPolicy: 'IfNotPresent',
        },
      ],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      schedulerName: 'default-scheduler',
      enableServiceLinks: true,
    });
  });

  const policies: readonly (readonly [image: string, policy: string])[] = [
    ['nginx', 'Always'],
    ['nginx:latest', 'Always'],
    ['nginx:1.27', 'IfNotPresent'],
    ['localhost:5000/nginx', 'Always'],
    ['localhost:5000/nginx:1', 'IfNotPresent'],
    [`nginx@sha256:${'a'.repeat(64)}`, 'IfNotPresent'],
  ];
  for (const [image, policy] of policies) {
    it(`pulls ${image} ${policy}`, () => {
      const pod = given(podBehaviour, merged(web, withContainer({ image })));
      assert.equal(pod.spec.containers[0]!.imagePullPolicy, policy);
    });
  }

  it('gives a Pod whose time to end is negative one second', () => {
    const pod = given(podBehaviour, merged(web, { spec: { terminationGracePeriodSeconds: -1 } }));
    assert.equal(pod.spec.terminationGracePeriodSeconds, 1);
  });

  it('requests what is limited', () => {
    const resources = { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } };
    const pod = given(podBehaviour, merged(web, withContainer({ resources })));
    assert.deepEqual(pod.spec.containers[0]!.resources?.requests, { cpu: '500m', memory: '1Gi' });
  });

  it('gives a probe its times', () => {
    const pod = given(podBehaviour, merged(web, withContainer({ livenessProbe: { httpGet: { port: 80 } } })));
    assert.deepEqual(pod.spec.containers[0]!.livenessProbe, {
      httpGet: { path: '/', port: 80, scheme: 'HTTP' },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 3,
    });
  });

  it('makes a volume without a source an empty folder', () => {
    const pod = given(podBehaviour, merged(web, { spec: { volumes: [{ name: 'scratch' }] } }));
    assert.deepEqual(pod.spec.volumes, [{ name: 'scratch', emptyDir: {} }]);
  });

  it('opens container ports on the host of a Pod in the host network', () => {
    const ports = [{ containerPort: 80 }];
    const spec = { hostNetwork: true, containers: [{ name: 'nginx', image: 'nginx:1', ports }] };
    const pod = given(podBehaviour, merged(web, { spec }));
    assert.deepEqual(pod.spec.containers[0]!.ports, [{ containerPort: 80, hostPort: 80, protocol: 'TCP' }]);
  });
});

describe('a bad Pod', () => {
  const cases: readonly BadInput[] = [
    { title: 'has no containers', changes: { spec: { containers: [] } }, errors: ['spec.containers: Required value'] },
    {
      title: 'has a container without a name or an image',
      changes: { spec: { containers: [{}] } },
      errors: ['spec.containers[0].name: Required value', 'spec.containers[0].image: Required value'],
    },
    {
      title: 'has two containers of a name',
      changes: {
        spec: {
          containers: [
            { name: 'a', image: 'a' },
            { name: 'a', image: 'a' },
          ],
        },
      },
      errors: ['spec.containers[1].name: Duplicate value: "a"'],
    },
    {
      title: 'names a container in capitals',
      changes: withContainer({ name: 'Nginx' }),
      errors: [
        `spec.containers[0].name: Invalid value: "Nginx": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
      ],
    },
    {
      title: 'restarts sometimes',
      changes: { spec: { restartPolicy: 'Sometimes' } },
      errors: ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
    },
    {
      title: 'requests more than its limit',
      changes: withContainer({ resources: { limits: { cpu: '1' }, requests: { cpu: '2' } } }),
      errors: [
        'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
      ],
    },
    {
      title: 'mounts a volume that it does not have, and one twice at a place',
      changes: {
        spec: {
          volumes: [{ name: 'a', emptyDir: {} }],
          containers: [
            {
              name: 'nginx',
              image: 'nginx:1',
              volumeMounts: [
                { name: 'b', mountPath: '/b' },
                { name: 'a', mountPath: '/a' },
                { name: 'a', mountPath: '/a' },
              ],
            },
          ],
        },
      },
      errors: [
        'spec.containers[0].volumeMounts[0].name: Not found: "b"',
        'spec.containers[0].volumeMounts[2].mountPath: Invalid value: "/a": must be unique',
      ],
    },
    {
      title: 'has a volume of two sources',
      changes: { spec: { volumes: [{ name: 'a', emptyDir: {}, hostPath: { path: '/' } }] } },
      errors: ['spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type'],
    },
    {
      title: 'takes an environment variable from two places, and names one badly',
      changes: withContainer({
        env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }, { name: 'A=B' }],
      }),
      errors: [
        'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
        `spec.containers[0].env[1].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than '='`,
      ],
    },
    {
      title: 'opens a port out of range by a name too long',
      changes: withContainer({ ports: [{ name: 'averyveryverylongname', containerPort: 70000 }] }),
      errors: [
        'spec.containers[0].ports[0].name: Invalid value: "averyveryverylongname": must be no more than 15 characters',
        'spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
      ],
    },
    {
      title: 'has a liveness probe that must succeed twice',
      changes: withContainer({ livenessProbe: { tcpSocket: { port: 80 }, successThreshold: 2 } }),
      errors: ['spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1'],
    },
    {
      title: 'has a probe of no kind and of negative delay',
      changes: withContainer({ readinessProbe: { initialDelaySeconds: -1 } }),
      errors: [
        'spec.containers[0].readinessProbe: Required value: must specify a handler type',
        'spec.containers[0].readinessProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0',
      ],
    },
    {
      title: 'tolerates with a value what exists',
      changes: { spec: { tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] } },
      errors: ['spec.tolerations[0].operator: Invalid value: "b": value must be empty when `operator` is \'Exists\''],
    },
    {
      title: 'tolerates for a time what has no such effect',
      changes: {
        spec: { tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 3 }] },
      },
      errors: [
        'spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be \'NoExecute\' when `tolerationSeconds` is set',
      ],
    },
    {
      title: 'has a negative grace period',
      changes: { spec: { terminationGracePeriodSeconds: -1 } },
      errors: [],
    },
    {
      title: 'has an active deadline of zero',
      changes: { spec: { activeDeadlineSeconds: 0 } },
      errors: ['spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
    },
    {
      title: 'spreads by nothing',
      changes: { spec: { topologySpreadConstraints: [{ maxSkew: 0, topologyKey: '', whenUnsatisfiable: 'Maybe' }] } },
      errors: [
        'spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
        'spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty',
        'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Maybe": supported values: "DoNotSchedule", "ScheduleAnyway"',
      ],
    },
    {
      title: 'runs as a negative user',
      changes: { spec: { securityContext: { runAsUser: -1 } } },
      errors: ['spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive'],
    },
    {
      title: 'is privileged and may not escalate',
      changes: withContainer({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
      errors: [
        'spec.containers[0].securityContext: Invalid value: {"privileged":true,"allowPrivilegeEscalation":false}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
      ],
    },
    {
      title: 'selects nodes by a bad label',
      changes: { spec: { nodeSelector: { 'a b': 'c' } } },
      errors: [
        `spec.nodeSelector: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
      ],
    },
    {
      title: 'has a DNS policy of its own without servers',
      changes: { spec: { dnsPolicy: 'None' } },
      errors: ['spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None'],
    },
    {
      title: 'restarts an init container as it likes',
      changes: { spec: { initContainers: [{ name: 'i', image: 'i', restartPolicy: 'Maybe' }] } },
      errors: [
        'spec.initContainers[0].restartPolicy: Unsupported value: "Maybe": supported values: "Always", "Never", "OnFailure"',
      ],
    },
    {
      title: 'asks a process of two sources in a hook',
      changes: withContainer({ lifecycle: { preStop: { exec: { command: ['x'] }, sleep: { seconds: 1 } } } }),
      errors: ['spec.containers[0].lifecycle.preStop.sleep: Forbidden: may not specify more than 1 handler type'],
    },
  ];
  it('is good before it is made bad', () => assert.deepEqual(errorsOf(podBehaviour, web), []));
  for (const bad of cases) it(bad.title, () => assertErrors(podBehaviour, web, bad));
});

describe('an update of a Pod', () => {
  it('may change the image, the deadline and further tolerations', () => {
    const next = merged(web, {
      spec: {
        activeDeadlineSeconds: 60,
        tolerations: [{ key: 'a', operator: 'Exists' }],
        containers: [{ name: 'nginx', image: 'nginx:1.28', imagePullPolicy: 'IfNotPresent' }],
      },
    });
    assert.deepEqual(updateErrorsOf(podBehaviour, web, next), []);
  });

  it('may change nothing else in the spec', () => {
    const [error = '', ...more] = updateErrorsOf(podBehaviour, web, merged(web, { spec: { nodeName: 'n' } }));
    assert.match(error, /^spec: Forbidden: pod updates may not change fields other than `spec.containers\[\*\].image`/);
    assert.deepEqual(more, []);
  });

  it('may not add or remove containers', () => {
    const next = merged(web, {
      spec: {
        containers: [
          { name: 'a', image: 'a' },
          { name: 'b', image: 'b' },
        ],
      },
    });
    assert.deepEqual(updateErrorsOf(podBehaviour, web, next), [
      'spec.containers: Forbidden: pod updates may not add or remove containers',
    ]);
  });
});

describe('the strategy of Pods', () => {
  it('starts pending, with the quality of service computed', () => {
    const pod = created(podBehaviour, merged(web, { status: { phase: 'Running' } }));
    assert.deepEqual(pod.status, { phase: 'Pending', qosClass: 'BestEffort' });
  });

  it('says that a gated Pod is not scheduled', () => {
    const pod = created(podBehaviour, merged(web, { spec: { schedulingGates: [{ name: 'example.com/a' }] } }));
    assert.deepEqual(pod.status?.conditions, [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      },
    ]);
  });

  it('keeps the quality of service that a status writer left out', () => {
    const stored = merged(web, { status: { phase: 'Pending', qosClass: 'Burstable' } });
    const pod = updated(podBehaviour, stored, merged(web, { status: { phase: 'Running' } }), 'status');
    assert.equal(pod.status?.qosClass, 'Burstable');
  });

  const grace: readonly (readonly [title: string, changes: object, requested: number | undefined, seconds: number])[] =
    [
      ['its own time', { spec: { nodeName: 'n', terminationGracePeriodSeconds: 9 } }, undefined, 9],
      ['what is asked for', { spec: { nodeName: 'n' } }, 5, 5],
      ['no time before it is on a node', {}, 5, 0],
      ['no time after its end', { spec: { nodeName: 'n' }, status: { phase: 'Failed' } }, undefined, 0],
      ['a second for less than none', { spec: { nodeName: 'n' } }, -1, 1],
    ];
  for (const [title, changes, requested, seconds] of grace) {
    it(`gives a deleted Pod ${title}`, () => {
      const pod = given(podBehaviour, merged(web, changes));
      assert.equal(podBehaviour.gracePeriodSeconds?.(pod, requested) ?? 0, seconds);
    });
  }

  it('copies matchLabelKeys of the Pod into its affinity', () => {
    const term = { topologyKey: 'zone', labelSelector: {}, matchLabelKeys: ['app'] };
    const pod = created(
      podBehaviour,
      merged(web, {
        metadata: { labels: { app: 'web' } },
        spec: { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } },
      }),
    );
    const required = pod.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
    assert.deepEqual(required?.[0]?.labelSelector?.matchExpressions, [{ key: 'app', operator: 'In', values: ['web'] }]);
  });
});

describe('the row of a Pod', () => {
  const running = { startedAt: '2025-12-31T23:59:00Z' };
  const container = (status: object) => ({ name: 'nginx', ready: false, restartCount: 0, image: '', ...status });
  const cases: readonly {
    readonly title: string;
    readonly changes: object;
    readonly row: Readonly<Record<string, unknown>>;
  }[] = [
    {
      title: 'of a new Pod',
      changes: { status: { phase: 'Pending' } },
      row: {
        Name: 'web',
        Ready: '0/1',
        Status: 'Pending',
        Restarts: '0',
        Age: '60s',
        IP: '<none>',
        Node: '<none>',
        'Nominated Node': '<none>',
        'Readiness Gates': '<none>',
      },
    },
    {
      title: 'of a running Pod',
      changes: {
        spec: { nodeName: 'n1' },
        status: {
          phase: 'Running',
          podIPs: [{ ip: '10.0.0.9' }],
          conditions: [{ type: 'Ready', status: 'True' }],
          containerStatuses: [container({ ready: true, state: { running } })],
        },
      },
      row: { Ready: '1/1', Status: 'Running', IP: '10.0.0.9', Node: 'n1' },
    },
    {
      title: 'of one in a crash loop',
      changes: {
        status: {
          phase: 'Running',
          containerStatuses: [
            container({
              restartCount: 5,
              state: { waiting: { reason: 'CrashLoopBackOff' } },
              lastState: { terminated: { exitCode: 1, finishedAt: '2025-12-31T23:58:00Z' } },
            }),
          ],
        },
      },
      row: { Ready: '0/1', Status: 'CrashLoopBackOff', Restarts: '5 (2m ago)' },
    },
    {
      title: 'of one that ended with a signal and no reason',
      changes: {
        status: {
          phase: 'Failed',
          containerStatuses: [container({ state: { terminated: { exitCode: 0, signal: 9 } } })],
        },
      },
      row: { Status: 'Signal:9' },
    },
    {
      title: 'of one that ended with a code and no reason',
      changes: {
        status: { phase: 'Failed', containerStatuses: [container({ state: { terminated: { exitCode: 3 } } })] },
      },
      row: { Status: 'ExitCode:3' },
    },
    {
      title: 'of one whose first init container runs',
      changes: {
        spec: {
          initContainers: [
            { name: 'i', image: 'i' },
            { name: 'j', image: 'j' },
          ],
        },
        status: { phase: 'Pending', initContainerStatuses: [container({ name: 'i', state: { running } })] },
      },
      row: { Ready: '0/1', Status: 'Init:0/2' },
    },
    {
      title: 'of one whose init container failed',
      changes: {
        spec: { initContainers: [{ name: 'i', image: 'i' }] },
        status: {
          phase: 'Pending',
          initContainerStatuses: [container({ name: 'i', state: { terminated: { exitCode: 1, reason: 'Error' } } })],
        },
      },
      row: { Status: 'Init:Error' },
    },
    {
      title: 'of one with a started sidecar',
      changes: {
        spec: { initContainers: [{ name: 'i', image: 'i', restartPolicy: 'Always' }] },
        status: {
          phase: 'Running',
          conditions: [{ type: 'Ready', status: 'True' }],
          initContainerStatuses: [container({ name: 'i', ready: true, started: true, state: { running } })],
          containerStatuses: [container({ ready: true, state: { running } })],
        },
      },
      row: { Ready: '2/2', Status: 'Running' },
    },
    {
      title: 'of a completed Pod',
      changes: {
        status: {
          phase: 'Succeeded',
          containerStatuses: [container({ state: { terminated: { exitCode: 0, reason: 'Completed' } } })],
        },
      },
      row: { Status: 'Completed', Ready: '0/1' },
    },
    {
      title: 'of an evicted Pod',
      changes: { status: { phase: 'Failed', reason: 'Evicted' } },
      row: { Status: 'Evicted' },
    },
    {
      title: 'of a Pod that is being deleted',
      changes: { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' }, status: { phase: 'Running' } },
      row: { Status: 'Terminating' },
    },
    {
      title: 'of a Pod whose node is lost',
      changes: {
        metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
        status: { phase: 'Running', reason: 'NodeLost' },
      },
      row: { Status: 'Unknown' },
    },
    {
      title: 'of a gated Pod',
      changes: {
        status: {
          phase: 'Pending',
          conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }],
        },
      },
      row: { Status: 'SchedulingGated' },
    },
    {
      title: 'of a Pod with readiness gates',
      changes: {
        spec: { readinessGates: [{ conditionType: 'a' }, { conditionType: 'b' }] },
        status: { phase: 'Running', conditions: [{ type: 'a', status: 'True' }] },
      },
      row: { 'Readiness Gates': '1/2' },
    },
  ];
  for (const { title, changes, row } of cases) {
    it(title, () => {
      const cells = rowOf(podBehaviour, merged(web, changes));
      const shown = Object.fromEntries(Object.keys(row).map((name) => [name, cells[name]]));
      assert.deepEqual(shown, row);
    });
  }

  it('says that a Pod has completed', () => {
    const pod = given(podBehaviour, merged(web, { status: { phase: 'Succeeded' } }));
    assert.deepEqual(podBehaviour.rowConditions?.(pod), [
      { type: 'Completed', status: 'True', reason: 'Succeeded', message: 'The pod has completed successfully.' },
    ]);
  });
});
