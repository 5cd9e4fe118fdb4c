/**
 * Why a container of a Pod has ended, where the runtime may not know it, or not yet: that the kernel killed it because its memory ran out.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { sleep } from '../../base/clock.ts';
import type { ContainerStatus } from '../runtime/runtime.ts';
import type { PodServices } from './pod-services.ts';

const killedExitCode = 137;
/** How long, and how often, a runtime is asked again why a container was killed. */
const lateReasonMs = 1000;
const lateReasonStepMs = 100;

export interface EndOptions {
  /** Whether the kubelet itself is ending the Pod: then it is no riddle who kills. */
  readonly isEnding: boolean;
  readonly signal: AbortSignal;
}

export class EndReasons {
  readonly #services: Pick<PodServices, 'clock' | 'host' | 'runtime'>;
  /** As last counted. */
  #kills = 0;

  constructor(services: Pick<PodServices, 'clock' | 'host' | 'runtime'>) {
    this.#services = services;
  }

  /**
   * As the runtime says, or `OOMKilled`. With systemd a container's group may be gone before the runtime has looked why it ended; its Pod's
   * has counted it. With cgroup v1 no group counts for those below it: the kernel's log tells, or the runtime, a moment after the end.
   */
  async of(pod: Pod, { id, exitCode, reason }: ContainerStatus, { isEnding, signal }: EndOptions): Promise<string> {
    if (exitCode !== killedExitCode) return reason;
    const kills = await this.#services.host.cgroups.oomKills(pod);
    if (kills === undefined) return isEnding ? reason : this.#soon(id, reason, signal);
    const isNew = kills > this.#kills;
    this.#kills = kills;
    return isNew && reason === 'Error' ? 'OOMKilled' : reason;
  }

  async #soon(id: string, first: string, signal: AbortSignal): Promise<string> {
    const { clock, host, runtime } = this.#services;
    let reason = first;
    if (reason === 'Error' && host.cgroups.wasOomKilled(id)) return 'OOMKilled';
    for (let waitedMs = 0; reason === 'Error' && waitedMs < lateReasonMs; waitedMs += lateReasonStepMs) {
      await sleep(clock, lateReasonStepMs, signal);
      reason = (await runtime.containerStatus(id, { signal }).catch(() => undefined))?.reason ?? reason;
    }
    return reason;
  }
}
