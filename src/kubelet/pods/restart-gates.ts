/**
 * A Pod as a kubelet sees it whose gates are closed. Without `ContainerRestartRules` only the Pod's own policy says what starts again, sidecars
 * aside; without `RestartAllContainersOnContainerExits` a rule with that action is as good as none, though it still keeps those after it
 * from being asked. Pure.
 */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { isGateOn } from '../../serving/feature-gates.ts';

type FeatureGates = Parameters<typeof isGateOn>[0];

/** The very same Pod where the gates are open, or it has nothing that they close. */
export function throughRestartGates(pod: Pod, gates: FeatureGates): Pod {
  const withRules = isGateOn(gates, 'ContainerRestartRules');
  if (withRules && isGateOn(gates, 'RestartAllContainersOnContainerExits')) return pod;
  const { containers, initContainers } = pod.spec;
  if (![...containers, ...(initContainers ?? [])].some(({ restartPolicy }) => restartPolicy)) return pod;
  const seen = withRules ? withoutRestartingAll : withoutRules;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: containers.map((container) => seen(container, false)),
      initContainers: initContainers?.map((container) => seen(container, true)),
    },
  };
}

function withoutRules(container: Container, isInit: boolean): Container {
  const isSidecar = isInit && container.restartPolicy === 'Always';
  return { ...container, restartPolicy: isSidecar ? 'Always' : undefined, restartPolicyRules: undefined };
}

function withoutRestartingAll(container: Container): Container {
  const restartPolicyRules = container.restartPolicyRules?.map((rule) =>
    rule.action === 'RestartAllContainers' ? { ...rule, action: '' } : rule,
  );
  return { ...container, restartPolicyRules };
}
