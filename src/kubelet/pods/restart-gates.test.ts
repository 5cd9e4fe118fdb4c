import assert from 'node:assert/strict';
import { it } from 'node:test';
import { shouldRestart } from '../../api/core/v1/pod-status.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { containersToReset } from './restart-all.ts';
import { throughRestartGates } from './restart-gates.ts';
import { emptyRuntimePod, type RuntimeContainer } from './runtime-pod.ts';

const rule = (action: string, ...values: number[]) => ({ action, exitCodes: { operator: 'In', values } });
const main: Container = {
  name: 'main',
  image: 'app:1',
  restartPolicy: 'Never',
  restartPolicyRules: [rule('RestartAllContainers', 88), rule('Restart', 88, 42)],
};
const sidecar: Container = { name: 'side', image: 'app:1', restartPolicy: 'Always' };
const pod: Pod = {
  metadata: { name: 'web' },
  spec: { restartPolicy: 'OnFailure', containers: [main], initContainers: [sidecar] },
};
const exited = {
  ...emptyRuntimePod,
  containers: [{ name: 'main', state: 'exited', exitCode: 88 } as RuntimeContainer],
};

function seen(gates: Readonly<Record<string, boolean>>) {
  const through = throughRestartGates(pod, gates);
  const [container] = through.spec.containers;
  return {
    on42: shouldRestart(container!, through.spec, 42),
    on88: shouldRestart(container!, through.spec, 88),
    all: containersToReset(through, exited).length > 0,
    sidecar: through.spec.initContainers?.[0]?.restartPolicy,
  };
}

it('with open gates a Pod is what it is', () => {
  assert.equal(throughRestartGates(pod, {}), pod);
  assert.deepEqual(seen({}), { on42: true, on88: true, all: true, sidecar: 'Always' });
});

it('without the restart of all containers its rule falls back to the policy of the container', () => {
  const gates = { RestartAllContainersOnContainerExits: false };
  assert.deepEqual(seen(gates), { on42: true, on88: false, all: false, sidecar: 'Always' });
});

it('without rules the policy of the Pod decides', () => {
  const gates = { ContainerRestartRules: false, RestartAllContainersOnContainerExits: false };
  assert.deepEqual(seen(gates), { on42: true, on88: true, all: false, sidecar: 'Always' });
  const never = throughRestartGates({ ...pod, spec: { ...pod.spec, restartPolicy: 'Never' } }, gates);
  assert.equal(shouldRestart(never.spec.containers[0]!, never.spec, 42), false);
});
