import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeObject } from '../apimachinery/meta.ts';
import { groupResource } from '../apimachinery/resource.ts';
import { behaviourOf } from './behaviours.ts';
import { context, given } from './given.fixture.ts';
import { warningsAbout } from './warnings.ts';

interface Case {
  readonly what: string;
  readonly of: readonly [group: string, resource: string];
  readonly object: object;
  readonly previous?: object;
  readonly subresource?: string;
  readonly warnings: readonly string[];
}

function warningsOf({ of: [group, resource], object, previous, subresource }: Case): readonly string[] {
  const behaviour = behaviourOf({ group, resource });
  const name = groupResource(behaviour.resource) + (subresource ? `/${subresource}` : '');
  const made = (written: object) => given(behaviour, written) as KubeObject;
  return warningsAbout(name, made(object), previous && made(previous));
}

const container = { name: 'c', image: 'i' };
const podOf = (spec: object, metadata = {}) => ({ metadata, spec: { containers: [container], ...spec } });
const ports = (...list: object[]) => podOf({ containers: [{ ...container, ports: list }] });
const deploymentOf = (spec: object, metadata = {}) => ({
  metadata,
  spec: { selector: { matchLabels: { a: 'b' } }, template: { ...podOf(spec), metadata: { labels: { a: 'b' } } } },
});

const pods = ['', 'pods'] as const;
const services = ['', 'services'] as const;
const deployments = ['apps', 'deployments'] as const;

const ofPods: Case[] = [
  { what: 'an ordinary Pod', of: pods, object: podOf({}), warnings: [] },
  {
    what: 'a name that is no label',
    of: pods,
    object: podOf({}, { name: 'a.b' }),
    warnings: [
      "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
    ],
  },
  {
    what: 'old labels of nodes',
    of: pods,
    object: podOf({
      nodeSelector: { 'beta.kubernetes.io/os': 'linux' },
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'node-role.kubernetes.io/master', operator: 'Exists' }] }],
          },
        },
      },
      topologySpreadConstraints: [
        { maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', topologyKey: 'failure-domain.beta.kubernetes.io/zone' },
      ],
    }),
    warnings: [
      'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: node-role.kubernetes.io/master is use "node-role.kubernetes.io/control-plane" instead',
      'spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
      'spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod',
    ],
  },
  {
    what: 'annotations that do nothing',
    of: pods,
    object: podOf(
      {},
      {
        annotations: {
          'scheduler.alpha.kubernetes.io/critical-pod': '',
          'seccomp.security.alpha.kubernetes.io/pod': 'unconfined',
        },
      },
    ),
    warnings: [
      'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
      'metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead',
    ],
  },
  {
    what: 'old volumes and paths that meet',
    of: pods,
    object: podOf({
      volumes: [
        { name: 'git', gitRepo: { repository: 'r' } },
        {
          name: 'map',
          configMap: {
            name: 'm',
            items: [
              { key: 'k', path: 'a/' },
              { key: 'l', path: 'a/b' },
            ],
          },
        },
        {
          name: 'all',
          projected: {
            sources: [
              { secret: { name: 's', items: [{ key: 'k', path: 'token' }] } },
              { serviceAccountToken: { path: 'token' } },
              {},
            ],
          },
        },
      ],
    }),
    warnings: [
      'spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+',
      'volume "map" (ConfigMap "m"): overlapping paths: "a/b" with "a"',
      'volume "all" (Projected) has no sources provided',
      'volume "all" (Projected): overlapping paths: "token" (ServiceAccountToken) with "token" (Secret "s")',
    ],
  },
  {
    what: 'what is there twice',
    of: pods,
    object: podOf({
      hostAliases: [{ ip: '::1' }, { ip: '::1' }],
      imagePullSecrets: [{ name: 's' }, { name: 's' }, {}],
      containers: [
        {
          ...container,
          env: [
            { name: 'A', value: '1' },
            { name: 'A', value: '$(A)2' },
            { name: 'A', value: '3' },
          ],
        },
      ],
    }),
    warnings: [
      'spec.hostAliases[1].ip: duplicate ip "::1"',
      'spec.imagePullSecrets[1].name: duplicate name "s"',
      'spec.imagePullSecrets[2].name: invalid empty name ""',
      'spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply',
    ],
  },
  {
    what: 'parts of bytes',
    of: pods,
    object: podOf({
      containers: [{ ...container, resources: { limits: { memory: '100m', cpu: '100m' } } }],
    }),
    warnings: [
      'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer',
      'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
    ],
  },
  {
    what: 'a port twice',
    of: pods,
    object: ports({ containerPort: 80, name: 'web' }, { containerPort: 80, name: 'web' }),
    warnings: [
      'spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]',
      'spec.containers[0].ports[1]: duplicate port name "web" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]',
    ],
  },
  {
    what: 'ports that overlap',
    of: pods,
    object: ports(
      { containerPort: 80, hostPort: 80 },
      { containerPort: 80, hostIP: '1.2.3.4' },
      { containerPort: 80, hostPort: 80, hostIP: '1.2.3.4' },
    ),
    warnings: [
      'spec.containers[0].ports[1]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}',
      'spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]',
      'spec.containers[0].ports[2]: dangerously ambiguous port definition with spec.containers[0].ports[0]',
      'spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[1]',
    ],
  },
  {
    what: 'addresses that are read in two ways',
    of: pods,
    object: podOf({ dnsConfig: { nameservers: ['010.0.0.1'] } }),
    warnings: ['spec.dnsConfig.nameservers[0]: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"'],
  },
  {
    what: 'a Pod that was there before',
    of: pods,
    object: podOf({ terminationGracePeriodSeconds: -5 }),
    previous: podOf({}),
    warnings: [],
  },
];

const ofWorkloads: Case[] = [
  {
    what: 'a Deployment with a name that its Pods cannot have',
    of: deployments,
    object: deploymentOf({}, { name: 'a.b' }),
    warnings: [
      'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
    ],
  },
  {
    what: 'a template of a new generation',
    of: deployments,
    object: deploymentOf({ terminationGracePeriodSeconds: -1 }, { generation: 2 }),
    previous: deploymentOf({}, { generation: 1 }),
    warnings: [
      'spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
    ],
  },
  {
    what: 'a template that is as it was',
    of: deployments,
    object: deploymentOf({ terminationGracePeriodSeconds: -1 }, { generation: 1 }),
    previous: deploymentOf({ terminationGracePeriodSeconds: -1 }, { generation: 1 }),
    warnings: [],
  },
  {
    what: 'an update of a schedule with a zone in it',
    of: ['batch', 'cronjobs'],
    object: { spec: { schedule: 'TZ=UTC * * * * *', jobTemplate: { spec: { template: podOf({}) } } } },
    previous: { spec: { schedule: '* * * * *', jobTemplate: { spec: { template: podOf({}) } } } },
    warnings: [
      'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
    ],
  },
  {
    what: 'a very large Job',
    of: ['batch', 'jobs'],
    object: {
      spec: { completionMode: 'Indexed', completions: 100_001, parallelism: 10_001, template: podOf({}) },
    },
    warnings: [
      'spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail',
    ],
  },
  {
    what: 'a StatefulSet that forgets nothing',
    of: ['apps', 'statefulsets'],
    object: {
      spec: {
        ...deploymentOf({}).spec,
        revisionHistoryLimit: -1,
        volumeClaimTemplates: [{ spec: { resources: { requests: { storage: '0.5' } } } }],
      },
    },
    warnings: [
      'spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "500m" is invalid, must be an integer',
      'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
    ],
  },
];

const ofOthers: Case[] = [
  {
    what: 'a headless Service with what it has no use for',
    of: services,
    object: {
      spec: { clusterIP: 'None', clusterIPs: ['None'], sessionAffinity: 'ClientIP', externalIPs: ['1.2.3.4'] },
    },
    warnings: [
      'spec.externalIPs is ignored for headless services',
      'spec.SessionAffinity is ignored for headless services',
    ],
  },
  {
    what: 'a Service with fields of other times and types',
    of: services,
    object: {
      spec: {
        type: 'LoadBalancer',
        externalName: 'x.example',
        externalIPs: ['1.2.3.4'],
        loadBalancerSourceRanges: ['10.0.0.1/8'],
        trafficDistribution: 'PreferClose',
      },
    },
    warnings: [
      'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
      'spec.loadBalancerSourceRanges[0]: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
      'spec.externalName is ignored when spec.type is not "ExternalName"',
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ],
  },
  {
    what: 'an address in the status of a Service',
    of: services,
    subresource: 'status',
    object: { spec: {}, status: { loadBalancer: { ingress: [{ ip: '::ffff:1.2.3.4' }] } } },
    warnings: ['status.loadBalancer.ingress[0]: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"'],
  },
  {
    what: 'an Ingress with its class in an annotation',
    of: ['networking.k8s.io', 'ingresses'],
    object: { metadata: { annotations: { 'kubernetes.io/ingress.class': 'nginx' } }, spec: {} },
    warnings: [`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`],
  },
  {
    what: 'a volume that is to be recycled',
    of: ['', 'persistentvolumes'],
    object: {
      metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': 'x' } },
      spec: { persistentVolumeReclaimPolicy: 'Recycle', rbd: { monitors: ['m'], image: 'i' } },
    },
    warnings: [
      'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
      'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
      'spec.rbd: deprecated in v1.28, non-functional in v1.31+',
    ],
  },
  {
    what: 'a quota that asks for more than it allows',
    of: ['', 'resourcequotas'],
    object: { spec: { hard: { cpu: '2', 'limits.cpu': '1500m', 'requests.memory': '1Gi', 'limits.memory': '1Gi' } } },
    warnings: ['ResourceQuota cpu (2) should be less than limits.cpu (1500m)'],
  },
  {
    what: 'a Secret for TLS without a certificate',
    of: ['', 'secrets'],
    object: { type: 'kubernetes.io/tls', data: { 'tls.crt': '', 'tls.key': '' } },
    warnings: ['tls: failed to find any PEM data in certificate input'],
  },
  {
    what: 'slices that nobody will read',
    of: ['discovery.k8s.io', 'endpointslices'],
    object: { addressType: 'FQDN', endpoints: [] },
    warnings: ['spec.addressType: FQDN endpoints are deprecated'],
  },
  {
    what: 'a class of runtimes on old labels',
    of: ['node.k8s.io', 'runtimeclasses'],
    object: { handler: 'h', scheduling: { nodeSelector: { 'beta.kubernetes.io/arch': 'amd64' } } },
    warnings: ['scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/arch" instead'],
  },
  {
    what: 'a driver that logs tokens',
    of: ['storage.k8s.io', 'csidrivers'],
    object: { spec: { tokenRequests: [{ audience: 'a' }] } },
    warnings: [
      'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes',
    ],
  },
  {
    what: 'a driver with a loud name',
    of: ['resource.k8s.io', 'resourceslices'],
    object: { spec: { driver: 'GPU.example', pool: { name: 'p' } } },
    warnings: ['spec.driver: driver names should be lowercase; "GPU.example" contains uppercase characters'],
  },
];

for (const [name, cases] of Object.entries({ Pods: ofPods, 'what makes Pods': ofWorkloads, 'other kinds': ofOthers })) {
  describe(`warnings about ${name}`, () => {
    for (const one of cases) it(one.what, () => assert.deepEqual(warningsOf(one), one.warnings));
  });
}

describe('annotations that choose an AppArmor profile', () => {
  it('are deprecated where they say what no field does', () => {
    const behaviour = behaviourOf({ group: '', resource: 'pods' });
    const key = 'container.apparmor.security.beta.kubernetes.io/c';
    const pod = given(behaviour, podOf({}, { annotations: { [key]: 'runtime/default' } }));
    const warnings: string[] = [];
    behaviour.prepareForCreate?.(pod, { ...context, warn: (message) => void warnings.push(message) });
    assert.deepEqual(warnings, [
      `metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`,
    ]);
  });
});
