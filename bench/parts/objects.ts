/** The objects that the programs make: of the size and shape that clusters have. */

export const namespace = 'default';

/** Half a kilobyte, like most. */
export function configMap(name: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, labels: { app: 'bench', part: name.slice(-1) } },
    data: { 'settings.yaml': 'listen: 0.0.0.0:8080\nworkers: 4\nupstream: http://backend.default.svc:80\n'.repeat(3) },
  });
}

/** What a Deployment's Pod looks like when it arrives; the server makes about two kilobytes of it. */
export function pod(name: string, nodeName?: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'bench', 'pod-template-hash': '5d4f8c7b9' } },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      containers: [
        {
          name: 'main',
          image: 'registry.test/team/application:1.27.3',
          ports: [{ containerPort: 8080, name: 'http' }],
          env: [
            { name: 'LOG_LEVEL', value: 'info' },
            { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          ],
          resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
          readinessProbe: { httpGet: { path: '/ready', port: 'http' } },
        },
      ],
    },
  });
}
