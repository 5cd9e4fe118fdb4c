/** Jobs whose Pods end as the test says, in a cluster whose time runs twenty times as fast: failed Pods are replaced after 10 s and more. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Job, type JobSpec, jobs, type SuccessPolicyRule } from '../../src/api/gen/batch-v1.ts';
import { type Pod, pods } from '../../src/api/gen/core-v1.ts';
import { startCluster, when, whenAll, whenGone } from './cluster.ts';
import { fastClock } from './fast-clock.ts';
import { isRunning, startNode } from './nodes.ts';
import { assertNewer, change, referenceTo, withAnnotation } from './operations.ts';
import { image } from './workloads.ts';

const clock = fastClock(20);
const cluster = await startCluster({ clock });
const { client, namespace: makeNamespace } = cluster;
const node = await startNode(cluster, 'node-1', { clock });

const indexAnnotation = 'batch.kubernetes.io/job-completion-index';
const indexOf = ({ metadata }: Pod) => Number(metadata.annotations?.[indexAnnotation]);
const ownerOf = (pod: Pod | undefined) => pod?.metadata.ownerReferences?.[0]?.uid;

/** A Job whose containers run until they are ended. */
function job(
  namespace: string,
  name: string,
  spec: Partial<JobSpec>,
  restartPolicy: 'Never' | 'OnFailure' = 'Never',
): Job {
  const annotations = { 'simulation.coracle.io/stop-exit-code': '143' };
  const containers = [{ name: 'c', image, command: ['sleep', 'infinity'] }];
  return {
    metadata: { namespace, name, labels: { 'e2e-job': name } },
    spec: { backoffLimit: 6, template: { metadata: { annotations }, spec: { restartPolicy, containers } }, ...spec },
  };
}

const indexed = { completionMode: 'Indexed' } as const;

/** Ends every container of the Job's Pods with the exit code given; undefined lets it run. */
function endAll(namespace: string, exitCode: (pod: Pod) => number | undefined): Disposable {
  const stop = new AbortController();
  const run = async () => {
    const ended = new Set<string>();
    for await (const event of client.watch(pods, { namespace, signal: stop.signal })) {
      if (event.type === 'BOOKMARK' || event.type === 'DELETED' || !isRunning(event.object)) continue;
      const { metadata, status } = event.object;
      const key = `${metadata.uid} ${status?.containerStatuses?.[0]?.restartCount}`;
      const code = exitCode(event.object);
      if (code === undefined || !status?.containerStatuses?.[0]?.state?.running || ended.has(key)) continue;
      ended.add(key);
      await node.end(event.object, code);
    }
  };
  run().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return { [Symbol.dispose]: () => stop.abort() };
}

const conditionOf = (object: Job | undefined, type: string) =>
  object?.status?.conditions?.find((condition) => condition.type === type && condition.status === 'True');

const whenEnded = async (made: Job, type: 'Complete' | 'Failed'): Promise<Job> =>
  (await when(client, jobs, referenceTo(made), (object) => conditionOf(object, type) !== undefined))!;

const whenRunning = (namespace: string, count: number) =>
  whenAll(client, pods, { namespace }, (all) => all.length === count && all.every(isRunning));

test('[sig-apps] Job should create pods for an Indexed job with completion indexes and specified hostname [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(jobs, job(namespace, 'indexed-job', { ...indexed, parallelism: 2, completions: 4 }));
  using _ = endAll(namespace, () => 0);
  const complete = await whenEnded(made, 'Complete');
  assert.equal(complete.status?.completedIndexes, '0-3');
  const all = (await client.list(pods, { namespace })).items.toSorted((a, b) => indexOf(a) - indexOf(b));
  assert.deepEqual(all.map(indexOf), [0, 1, 2, 3]);
  for (const pod of all) {
    assert.match(pod.metadata.name!, new RegExp(`^indexed-job-${indexOf(pod)}-.{5}$`));
    assert.equal(pod.spec.hostname, `indexed-job-${indexOf(pod)}`);
    assert.equal(pod.metadata.labels?.[indexAnnotation], String(indexOf(pod)));
    const variable = pod.spec.containers[0]?.env?.find(({ name }) => name === 'JOB_COMPLETION_INDEX');
    assert.equal(variable?.valueFrom?.fieldRef?.fieldPath, `metadata.labels['${indexAnnotation}']`);
  }
});

test('[sig-apps] Job should allow to use the pod failure policy on exit code to fail the job early [Conformance]', async () => {
  const namespace = await makeNamespace();
  const onExitCodes = { containerName: 'c', operator: 'In', values: [1] } as const;
  const podFailurePolicy: JobSpec['podFailurePolicy'] = { rules: [{ action: 'FailJob', onExitCodes }] };
  const made = await client.create(jobs, job(namespace, 'early', { parallelism: 2, completions: 4, podFailurePolicy }));
  let ended = 0;
  using _ = endAll(namespace, () => (ended++ === 0 ? 1 : undefined));
  const failed = await whenEnded(made, 'Failed');
  assert.equal(conditionOf(failed, 'Failed')?.reason, 'PodFailurePolicy');
  assert.match(
    conditionOf(failed, 'Failed')?.message ?? '',
    /^Container c for pod .* failed with exit code 1 matching FailJob rule at index 0$/,
  );
});

test('[sig-apps] Job should allow to use a pod failure policy to ignore failure matching on DisruptionTarget condition [Conformance]', async () => {
  const namespace = await makeNamespace();
  const onPodConditions = [{ type: 'DisruptionTarget', status: 'True' }];
  const podFailurePolicy: JobSpec['podFailurePolicy'] = { rules: [{ action: 'Ignore', onPodConditions }] };
  const spec = { ...indexed, parallelism: 2, completions: 4, backoffLimit: 0, podFailurePolicy };
  const made = await client.create(jobs, job(namespace, 'disrupted', spec));
  // The first Pod of each index is evicted, the second may finish.
  const evicted = new Set<string>();
  const evict = async (pod: Pod) => {
    const ref = referenceTo(pod);
    await client.createSubresource(pods, ref, 'eviction', { apiVersion: 'policy/v1', kind: 'Eviction', metadata: ref });
  };
  const first = new Map<number, Pod>();
  using _ = endAll(namespace, (pod) => {
    if (first.get(indexOf(pod))) return 0;
    first.set(indexOf(pod), pod);
    evict(pod).then(() => evicted.add(pod.metadata.uid!));
    return undefined;
  });
  const complete = await whenEnded(made, 'Complete');
  assert.equal(complete.status?.succeeded, 4);
  assert.equal(complete.status?.failed ?? 0, 0);
  assert.deepEqual([...evicted].sort(), [...first.values()].map(({ metadata }) => metadata.uid).sort());
});

/** Ends these indexes with success and lets the others run: the Job is complete all the same. */
async function assertSucceeds(rule: SuccessPolicyRule, succeeding: readonly number[]): Promise<void> {
  const namespace = await makeNamespace();
  const spec = { ...indexed, parallelism: 2, completions: 2, successPolicy: { rules: [rule] } };
  const made = await client.create(jobs, job(namespace, 'with-success-policy', spec));
  using _ = endAll(namespace, (pod) => (succeeding.includes(indexOf(pod)) ? 0 : undefined));
  const complete = await whenEnded(made, 'Complete');
  assert.equal(conditionOf(complete, 'SuccessCriteriaMet')?.reason, 'SuccessPolicy');
  assert.equal(conditionOf(complete, 'Complete')?.reason, 'SuccessPolicy');
  assert.equal(complete.status?.completedIndexes, succeeding.join(','));
}

test('[sig-apps] Job with successPolicy should succeeded when all indexes succeeded [Conformance]', () =>
  assertSucceeds({ succeededIndexes: '0,1' }, [0, 1]));

test('[sig-apps] Job with successPolicy succeededIndexes rule should succeeded even when some indexes remain pending [Conformance]', () =>
  assertSucceeds({ succeededIndexes: '0' }, [0]));

test('[sig-apps] Job with successPolicy succeededCount rule should succeeded even when some indexes remain pending [Conformance]', () =>
  assertSucceeds({ succeededCount: 1 }, [1]));

test('[sig-apps] Job should execute all indexes despite some failing when using backoffLimitPerIndex [Conformance]', async () => {
  const namespace = await makeNamespace();
  const spec = { ...indexed, parallelism: 2, completions: 4, backoffLimit: 2 ** 31 - 1, backoffLimitPerIndex: 1 };
  const made = await client.create(jobs, job(namespace, 'per-index', spec));
  using _ = endAll(namespace, (pod) => indexOf(pod) % 2);
  const failed = await whenEnded(made, 'Failed');
  assert.equal(conditionOf(failed, 'Failed')?.reason, 'FailedIndexes');
  const { failedIndexes, completedIndexes, failed: count, succeeded } = failed.status!;
  assert.deepEqual(
    { failedIndexes, completedIndexes, count, succeeded },
    { failedIndexes: '1,3', completedIndexes: '0,2', count: 4, succeeded: 2 },
  );
});

test('[sig-apps] Job should terminate job execution when the number of failed indexes exceeds maxFailedIndexes [Conformance]', async () => {
  const namespace = await makeNamespace();
  const limits = { backoffLimit: 2 ** 31 - 1, backoffLimitPerIndex: 0, maxFailedIndexes: 4 };
  const made = await client.create(
    jobs,
    job(namespace, 'max-failed', { ...indexed, parallelism: 5, completions: 50, ...limits }),
  );
  using _ = endAll(namespace, () => 1);
  const failed = await whenEnded(made, 'Failed');
  assert.equal(conditionOf(failed, 'Failed')?.reason, 'MaxFailedIndexesExceeded');
  assert.ok(failed.status!.failed! < 50);
  assert.equal(failed.status?.completedIndexes ?? '', '');
});

test('[sig-apps] Job should mark indexes as failed when the FailIndex action is matched in podFailurePolicy [Conformance]', async () => {
  const namespace = await makeNamespace();
  const podFailurePolicy: JobSpec['podFailurePolicy'] = {
    rules: [{ action: 'FailIndex', onExitCodes: { operator: 'In', values: [1] } }],
  };
  const limits = { backoffLimit: 2 ** 31 - 1, backoffLimitPerIndex: 1, podFailurePolicy };
  const made = await client.create(
    jobs,
    job(namespace, 'fail-index', { ...indexed, parallelism: 2, completions: 2, ...limits }),
  );
  // The first fails for good, the second once.
  const seen = new Set<number>();
  using _ = endAll(namespace, (pod) => {
    const isFirst = !seen.has(indexOf(pod));
    seen.add(indexOf(pod));
    return indexOf(pod) === 0 ? 1 : isFirst ? 2 : 0;
  });
  const failed = await whenEnded(made, 'Failed');
  assert.equal(conditionOf(failed, 'Failed')?.reason, 'FailedIndexes');
  const { failedIndexes, completedIndexes, failed: count } = failed.status!;
  assert.deepEqual({ failedIndexes, completedIndexes, count }, { failedIndexes: '0', completedIndexes: '1', count: 2 });
});

test('[sig-apps] Job should run a job to completion when tasks sometimes fail and are locally restarted [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(
    jobs,
    job(namespace, 'fail-once-local', { parallelism: 2, completions: 4 }, 'OnFailure'),
  );
  using _ = endAll(namespace, ({ status }) => (status?.containerStatuses?.[0]?.restartCount === 0 ? 1 : 0));
  const complete = await whenEnded(made, 'Complete');
  assert.equal(complete.status?.succeeded, 4);
  const { items } = await client.list(pods, { namespace });
  assert.deepEqual(
    items.map(({ status }) => status?.containerStatuses?.[0]?.restartCount),
    [1, 1, 1, 1],
  );
});

test('[sig-apps] Job should delete a job [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(jobs, job(namespace, 'foo', { parallelism: 2, completions: 4 }));
  await whenRunning(namespace, 2);
  await client.delete(jobs, referenceTo(made), { propagationPolicy: 'Background' });
  await whenGone(client, jobs, referenceTo(made));
  await whenAll(client, pods, { namespace }, (left) => left.length === 0);
});

test('[sig-apps] Job should adopt matching orphans and release non-matching pods [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(jobs, job(namespace, 'adopt-release', { parallelism: 2, completions: 4 }));
  const [pod] = await whenRunning(namespace, 2);
  const ref = referenceTo(pod!);
  await client.patch(pods, ref, { type: 'merge', body: { metadata: { ownerReferences: null } } });
  const adopted = await when(client, pods, ref, (current) => ownerOf(current) !== undefined);
  assert.equal(ownerOf(adopted), made.metadata.uid);
  await client.patch(pods, ref, { type: 'merge', body: { metadata: { labels: null } } });
  await when(client, pods, ref, (current) => current !== undefined && ownerOf(current) === undefined);
});

test('[sig-apps] Job should apply changes to a job status [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(jobs, job(namespace, 'e2e', { parallelism: 2, completions: 4, backoffLimit: 6 }));
  const ref = referenceTo(made);
  await when(client, jobs, ref, (object) => object?.status?.active === 2);
  const patched = await client.patch(
    jobs,
    ref,
    { type: 'merge', body: { metadata: { annotations: { patchedstatus: 'true' } }, status: { succeeded: 0 } } },
    { subresource: 'status' },
  );
  assert.equal(patched.metadata.annotations?.patchedstatus, 'true');
  assertNewer(patched, made);
  const condition = { type: 'Suspended', status: 'True' as const, reason: 'E2E', message: 'from the test' };
  const replaced = await change(
    client,
    jobs,
    ref,
    (current) => ({ ...current, status: { ...current.status, conditions: [condition] } }),
    'status',
  );
  assert.partialDeepStrictEqual(replaced.status?.conditions, [condition]);
  const read = await client.get(jobs, ref, { subresource: 'status' });
  assert.equal(read.metadata.annotations?.patchedstatus, 'true');
});

test('[sig-apps] Job should manage the lifecycle of a job [Conformance]', async () => {
  const namespace = await makeNamespace();
  const labels = { 'e2e-job': 'lifecycle', 'e2e-unique': namespace };
  const base = job(namespace, 'lifecycle', { parallelism: 2, completions: 4, suspend: true });
  const made = await client.create(jobs, { ...base, metadata: { ...base.metadata, labels } });
  const ref = referenceTo(made);
  const patched = await client.patch(jobs, ref, {
    type: 'strategic',
    body: { metadata: { labels: { patched: 'true' } } },
  });
  assert.equal(patched.metadata.labels?.patched, 'true');
  assertNewer(patched, made);
  const body = { spec: { suspend: false } };
  await client.patch(jobs, ref, { type: 'merge', body });
  await whenRunning(namespace, 2);
  const updated = await change(client, jobs, ref, (current) => withAnnotation(current, 'updated'));
  assert.equal(updated.metadata.annotations?.updated, 'true');
  using _ = endAll(namespace, () => 0);
  await whenEnded(made, 'Complete');
  const labelSelector = `e2e-unique=${namespace}`;
  assert.equal((await client.list(jobs, { labelSelector })).items.length, 1);
  await client.deleteCollection(jobs, { namespace, labelSelector });
  await whenGone(client, jobs, ref);
  assert.equal((await client.list(jobs, { labelSelector })).items.length, 0);
});
