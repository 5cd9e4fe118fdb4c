/** What the conformance tests of the workload kinds have in common: what their Pods run, their scale and their status. */
import assert from 'node:assert/strict';
import type { PodTemplateSpec } from '../../src/api/gen/core-v1.ts';
import type { Condition } from '../../src/apimachinery/gen/meta-v1.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import { type ResourceType, resourcePath } from '../../src/apimachinery/resource.ts';
import type { Client, ObjectReference } from '../../src/client/index.ts';
import { follow } from './cluster.ts';
import { assertNewer, change } from './operations.ts';

export const image = 'registry.k8s.io/e2e-test-images/agnhost:2.62';
export const nextImage = 'registry.k8s.io/e2e-test-images/httpd:2.4.39-4';
/** No node can pull it. */
export const missingImage = 'registry.k8s.io/does-not-exist:1';

/** Pods that run until they are told to end, and then end at once. */
export function template(labels: Readonly<Record<string, string>>, containerImage = image): PodTemplateSpec {
  return {
    metadata: { labels },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'agnhost', image: containerImage }] },
  };
}

interface Workload extends KubeObject {
  readonly spec?: { readonly replicas?: number | undefined; readonly template?: PodTemplateSpec | undefined };
}

/** The workload with another image in its template. */
export function withImage<T extends Workload>(workload: T, containerImage: string): T {
  const { spec } = workload;
  const pod = spec!.template!.spec!;
  const containers = pod.containers.map((container) => ({ ...container, image: containerImage }));
  return { ...workload, spec: { ...spec, template: { ...spec!.template, spec: { ...pod, containers } } } };
}

export function withReplicas<T extends Workload>(workload: T, replicas: number): T {
  return { ...workload, spec: { ...workload.spec, replicas } };
}

interface Scale extends KubeObject {
  readonly spec: { readonly replicas?: number };
  readonly status: { readonly replicas: number };
}

/** Its scale is one replica; an update makes it two, and a patch four. */
export async function assertScalable<T extends Workload>(
  client: Client,
  type: ResourceType<T>,
  ref: ObjectReference,
): Promise<void> {
  const scaled = type as unknown as ResourceType<Scale>;
  const subresource = 'scale';
  const path = resourcePath(type, { ...ref, subresource });
  const scale = await client.get(scaled, ref, { subresource });
  assert.deepEqual(
    { kind: scale.kind, apiVersion: scale.apiVersion, spec: scale.spec.replicas, status: scale.status.replicas },
    { kind: 'Scale', apiVersion: 'autoscaling/v1', spec: 1, status: 1 },
  );
  // Without its version: the workload's own status may be written meanwhile.
  const metadata = { ...scale.metadata, resourceVersion: undefined };
  const body = { ...scale, metadata, spec: { replicas: 2 } };
  const two = (await client.raw({ method: 'PUT', path, body })) as Scale;
  assert.equal(two.spec.replicas, 2);
  assert.equal((await client.get(type, ref)).spec?.replicas, 2);
  const four = await client.patch(scaled, ref, { type: 'merge', body: { spec: { replicas: 4 } } }, { subresource });
  assert.equal(four.spec.replicas, 4);
  assert.equal((await client.get(type, ref)).spec?.replicas, 4);
}

interface WithStatus extends KubeObject {
  readonly status?: { readonly conditions?: readonly Partial<Condition>[] | undefined };
}

/** A condition put into its status, and one patched over it, are seen by those who watch. */
export async function assertStatusWritable<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  ref: ObjectReference,
): Promise<void> {
  const conditioned = type as unknown as ResourceType<WithStatus>;
  const selection = { namespace: ref.namespace, fieldSelector: `metadata.name=${ref.name}` };
  using changes = await follow(client, conditioned, selection);
  const before = await client.get(conditioned, ref, { subresource: 'status' });
  const condition = { type: 'StatusUpdate', status: 'True' as const, reason: 'E2E', message: 'Set from e2e test' };
  const withCondition = (current: WithStatus): WithStatus => ({
    ...current,
    status: { ...current.status, conditions: [...(current.status?.conditions ?? []), condition] },
  });
  const updated = await change(client, conditioned, ref, withCondition, 'status');
  assertNewer(updated, before);
  const has = (object: WithStatus, sought: string) =>
    object.status?.conditions?.some((one) => one.type === sought) ?? false;
  const told = await changes.until(({ object }) => has(object, 'StatusUpdate'));
  assert.partialDeepStrictEqual(
    told.object.status?.conditions?.find((one) => one.type === 'StatusUpdate'),
    condition,
  );
  const body = { status: { conditions: [{ type: 'StatusPatched', status: 'True' }] } };
  const patched = await client.patch(conditioned, ref, { type: 'merge', body }, { subresource: 'status' });
  assert.deepEqual(
    patched.status?.conditions?.map((one) => one.type),
    ['StatusPatched'],
  );
  await changes.until(({ object }) => has(object, 'StatusPatched'));
}
