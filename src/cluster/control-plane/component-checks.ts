/**
 * What `kubectl get componentstatuses` shows of the components beside the API server, in the order and under the names that upstream gives
 * them: those of this process are known; those of others are asked at the ports they have on this machine.
 */
import type { ComponentCheck } from '../../apiserver/component-statuses.ts';
import type { Clock } from '../../base/clock.ts';
import type { ComponentSupervisor } from '../processes/component-supervisor.ts';

const ports = { scheduler: 10259, 'controller-manager': 10257 } as const;
const timeoutMs = 20_000;

/** `elsewhere` is asked about those that this process does not run. */
export function inProcessChecks(
  components: Pick<ComponentSupervisor, 'isStarted' | 'problemOf'>,
  elsewhere: readonly ComponentCheck[],
): readonly ComponentCheck[] {
  return elsewhere.map(({ name, check }) => ({
    name,
    async check() {
      if (!components.isStarted(`kube-${name}`)) return check();
      const problem = components.problemOf(`kube-${name}`);
      return problem === undefined ? { healthy: true, message: 'ok' } : { healthy: false, message: problem };
    },
  }));
}

export function localPortChecks(clock: Clock): readonly ComponentCheck[] {
  return Object.entries(ports).map(([name, port]) => ({
    name,
    async check() {
      const { LinuxProber } = await import('../../kubelet/host/linux-prober.ts');
      const target = { url: `https://127.0.0.1:${port}/healthz`, headers: [] };
      const { result, output } = await new LinuxProber(clock).http(target, timeoutMs, new AbortController().signal);
      return { healthy: result === 'success', message: output };
    },
  }));
}
