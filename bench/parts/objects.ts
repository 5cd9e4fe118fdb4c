/** The objects that the programs make: of the size and shape that clusters have. */
import { type Access, ask, closeSession, openSession } from './https-client.ts';

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

/** Pods need it, and an API server alone has no controller to make it. */
export async function createDefaultAccount(access: Access): Promise<void> {
  const session = await openSession(access);
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
  const { status } = await ask(session, `/api/v1/namespaces/${namespace}/serviceaccounts`, { body });
  await closeSession(session);
  if (status !== 201) throw new Error(`creating the default account was answered with ${status}`);
}
