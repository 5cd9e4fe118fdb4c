/** Objects of seeded runs: small ones of every kind whose controllers are under test, and what is done to them meanwhile. */
import type { DaemonSet, Deployment, StatefulSet } from '../../api/gen/apps-v1.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import type { PodTemplateSpec, Service } from '../../api/gen/core-v1.ts';
import type { PodDisruptionBudget } from '../../api/gen/policy-v1.ts';

export interface TemplateOptions {
  readonly version?: string | undefined;
  readonly cpu?: string | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

const namespace = 'default';

function template(name: string, { version = '1', cpu = '100m', annotations }: TemplateOptions = {}): PodTemplateSpec {
  return {
    metadata: { labels: { app: name }, ...(annotations ? { annotations } : {}) },
    spec: {
      containers: [{ name: 'main', image: `example/${name}:${version}`, resources: { requests: { cpu } } }],
    },
  };
}

const selector = (name: string) => ({ matchLabels: { app: name } });

export function deployment(name: string, replicas: number, options: TemplateOptions = {}): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: { replicas, selector: selector(name), template: template(name, options) },
  };
}

export function statefulSet(name: string, replicas: number): StatefulSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name, namespace },
    spec: { replicas, serviceName: name, selector: selector(name), template: template(name) },
  };
}

export function daemonSet(name: string): DaemonSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace },
    spec: { selector: selector(name), template: template(name, { cpu: '10m' }) },
  };
}

export function job(name: string, completions: number, parallelism: number): Job {
  const { metadata, spec } = template(name, { cpu: '10m' });
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace },
    spec: {
      completions,
      parallelism,
      backoffLimit: 100,
      template: { metadata, spec: { ...spec!, restartPolicy: 'Never' } },
    },
  };
}

export function service(name: string): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  };
}

export function budget(name: string, minAvailable: number): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace },
    spec: { minAvailable, selector: selector(name) },
  };
}
