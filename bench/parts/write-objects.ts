/**
 * The objects of `write-path.ts`, as a client sends them: a Lease, whose renewal is a real cluster's most frequent write, a ConfigMap, a
 * Deployment, and a Pod with all that Pods of a real cluster have.
 */

export interface WriteSubject {
  readonly name: 'Lease' | 'ConfigMap' | 'Deployment' | 'Pod';
  /** Of its collection. */
  readonly path: string;
  object(name: string): Readonly<Record<string, unknown>>;
  /** What an update of it changes, as text. */
  readonly change: readonly [from: string, to: string];
  /** What a component reports of it, where it has a status. */
  readonly status?: object;
}

const labels = {
  'app.kubernetes.io/name': 'shop',
  'app.kubernetes.io/part-of': 'store',
  'app.kubernetes.io/version': '1.27.3',
};

const nextRelease = ['"1.27.3"', '"1.27.4"'] as const;

const lease: WriteSubject = {
  name: 'Lease',
  path: '/apis/coordination.k8s.io/v1/namespaces/default/leases',
  change: ['"2026-01-02T03:04:05.678901Z"', '"2026-01-02T03:04:15.678901Z"'],
  object: (name) => ({
    kind: 'Lease',
    apiVersion: 'coordination.k8s.io/v1',
    metadata: {
      name,
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Node', name: 'worker-1', uid: '5c4d6f0e-6f0a-4b1e-9c53-2a8f9d1c7b12' },
      ],
    },
    spec: { holderIdentity: 'worker-1', leaseDurationSeconds: 40, renewTime: '2026-01-02T03:04:05.678901Z' },
  }),
};

const configMap: WriteSubject = {
  name: 'ConfigMap',
  path: '/api/v1/namespaces/default/configmaps',
  change: nextRelease,
  object: (name) => ({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name, labels },
    data: {
      'settings.yaml': 'listen: 0.0.0.0:8080\nworkers: 4\nupstream: http://backend.default.svc:80\n'.repeat(12),
      'log.properties': 'level=info\nformat=json\nsample=0.1\n'.repeat(12),
      mode: 'production',
    },
  }),
};

const startedAt = '2026-01-02T03:04:05Z';

const deployment: WriteSubject = {
  name: 'Deployment',
  status: {
    observedGeneration: 1,
    replicas: 3,
    updatedReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    conditions: [
      { type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable', lastTransitionTime: startedAt },
      { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', lastTransitionTime: startedAt },
    ],
  },
  path: '/apis/apps/v1/namespaces/default/deployments',
  change: nextRelease,
  object: (name) => ({
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    metadata: {
      name,
      labels,
      annotations: { 'example.com/owner': 'team-shop', 'example.com/runbook': 'https://runbooks.test/shop' },
    },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'shop' } },
      template: { metadata: { labels: { app: 'shop', ...labels } }, spec: podSpec() },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: 1 } },
    },
  }),
};

const pod: WriteSubject = {
  name: 'Pod',
  status: {
    phase: 'Running',
    hostIP: '192.0.2.7',
    podIP: '10.1.2.3',
    podIPs: [{ ip: '10.1.2.3' }],
    startTime: startedAt,
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: startedAt,
    })),
    containerStatuses: ['main', 'proxy'].map((name) => ({
      name,
      image: `registry.test/${name}:1`,
      imageID: `registry.test/${name}@sha256:0123456789abcdef`,
      containerID: `containerd://${name}-0123456789abcdef`,
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt } },
    })),
  },
  path: '/api/v1/namespaces/default/pods',
  change: nextRelease,
  object: (name) => ({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name,
      labels: { app: 'shop', 'pod-template-hash': '5d4f8c7b9', ...labels },
      annotations: { 'example.com/scrape': 'true' },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: 'shop-5d4f8c7b9',
          uid: '5c4d6f0e-6f0a-4b1e-9c53-2a8f9d1c7b11',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      ...podSpec(),
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
        { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      ],
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 100,
              podAffinityTerm: {
                labelSelector: { matchLabels: { app: 'shop' } },
                topologyKey: 'kubernetes.io/hostname',
              },
            },
          ],
        },
      },
    },
  }),
};

function podSpec() {
  return {
    volumes: [
      { name: 'settings', configMap: { name: 'shop-settings' } },
      { name: 'scratch', emptyDir: { sizeLimit: '1Gi' } },
      { name: 'certificates', secret: { secretName: 'shop-tls' } },
    ],
    initContainers: [
      {
        name: 'migrate',
        image: 'registry.test/shop/migrate:1.27.3',
        command: ['/migrate', '--all'],
        env: [{ name: 'LEVEL', value: 'info' }],
      },
    ],
    containers: [
      {
        name: 'main',
        image: 'registry.test/shop/application:1.27.3',
        args: ['--config=/etc/shop/settings.yaml', '--metrics=:9090'],
        ports: [
          { name: 'http', containerPort: 8080 },
          { name: 'metrics', containerPort: 9090 },
        ],
        env: [
          { name: 'LOG_LEVEL', value: 'info' },
          { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'shop-database', key: 'password' } } },
        ],
        resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
        volumeMounts: [
          { name: 'settings', mountPath: '/etc/shop', readOnly: true },
          { name: 'scratch', mountPath: '/tmp' },
        ],
        livenessProbe: { httpGet: { path: '/live', port: 'http' }, initialDelaySeconds: 10 },
        readinessProbe: { httpGet: { path: '/ready', port: 'http' } },
        securityContext: { runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      },
      {
        name: 'proxy',
        image: 'registry.test/mesh/proxy:2.4.1',
        ports: [{ name: 'https', containerPort: 8443 }],
        resources: { requests: { cpu: '10m', memory: '32Mi' } },
        volumeMounts: [{ name: 'certificates', mountPath: '/etc/tls', readOnly: true }],
      },
    ],
    serviceAccountName: 'default',
    securityContext: { fsGroup: 2000, seccompProfile: { type: 'RuntimeDefault' } },
    terminationGracePeriodSeconds: 45,
  };
}

export const subjects: readonly WriteSubject[] = [lease, configMap, deployment, pod];
