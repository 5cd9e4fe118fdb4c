/** The workload of the scenarios: a web application, and a budget for it. */
import type { Deployment } from 'coracle/api/apps-v1';
import type { PodDisruptionBudget } from 'coracle/api/policy-v1';

const labels = { app: 'web' };

/** `spread: false`: the Pods want to be together. */
export function web(replicas: number, { spread = true }: { readonly spread?: boolean } = {}): Deployment {
  const together = {
    podAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: labels } },
        },
      ],
    },
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: 'web', image: 'example.org/web:1', resources: { requests: { cpu: '250m' } } }],
          ...(spread ? {} : { affinity: together }),
        },
      },
    },
  };
}

export function webBudget(minAvailable: number): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'web' },
    spec: { minAvailable, selector: { matchLabels: labels } },
  };
}
