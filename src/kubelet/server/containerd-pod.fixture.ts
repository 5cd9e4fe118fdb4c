/** A Pod in a real containerd, started without a kubelet: for tests of what happens to it afterwards. */

import { join } from 'node:path';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Draft } from '../../apimachinery/meta.ts';
import { draft } from '../../apimachinery/meta.ts';
import { systemClock } from '../../base/clock.ts';
import { startContainerd, type TestContainerd } from '../../testing/containerd.ts';
import { busyboxImageArchive } from '../../testing/oci-image.ts';
import { connectRuntime } from '../runtime/cri/cri-runtime.ts';
import { type ContainerConfig, type ContainerRuntime, runtimeLabels, type SandboxConfig } from '../runtime/runtime.ts';
import { ordinarySecurity } from '../runtime/security.fixture.ts';
import { runningPod } from './node.fixture.ts';

const testImage = 'server.test/shell:1';

export interface RealContainer {
  readonly name: string;
  readonly command: readonly string[];
  readonly tty?: boolean;
  readonly stdin?: boolean;
}

export interface RealRuntime {
  readonly containerd: TestContainerd;
  readonly runtime: ContainerRuntime;
  /** Starts the Pod; the object has the status that a kubelet would give it. */
  startPod(name: string, containers: readonly RealContainer[]): Promise<Draft<Pod>>;
  stop(): Promise<void>;
}

export async function startRealRuntime(): Promise<RealRuntime> {
  const containerd = await startContainerd();
  try {
    return await realRuntimeOn(containerd);
  } catch (error) {
    await containerd.stop();
    throw error;
  }
}

async function realRuntimeOn(containerd: TestContainerd): Promise<RealRuntime> {
  await containerd.importImage(busyboxImageArchive(testImage));
  const runtime = await connectRuntime({ clock: systemClock, endpoint: containerd.endpoint });
  const logs = join(containerd.directory, 'logs');
  return {
    containerd,
    runtime,
    async startPod(name, containers) {
      const pod = draft(runningPod(name, containers));
      const config = sandboxConfig(name, join(logs, name), containerd.cgroupRoot);
      const sandbox = await runtime.runPodSandbox(config);
      for (const [index, container] of containers.entries()) {
        const id = await runtime.createContainer(sandbox, containerConfig(name, container), config);
        await runtime.startContainer(id);
        pod.status!.containerStatuses![index]!.containerID = `containerd://${id}`;
      }
      const ip = (await runtime.podSandboxStatus(sandbox)).ips[0] ?? '';
      Object.assign(pod.status!, { podIP: ip, podIPs: [{ ip }] });
      return pod;
    },
    async stop() {
      runtime.close();
      await containerd.stop();
    },
  };
}

function labelsOf(pod: string, container?: string): Record<string, string> {
  const { podName, podNamespace, podUid, containerName } = runtimeLabels;
  const labels = { [podName]: pod, [podNamespace]: 'default', [podUid]: `uid-${pod}` };
  return container ? { ...labels, [containerName]: container } : labels;
}

function sandboxConfig(name: string, logDirectory: string, cgroupRoot: string): SandboxConfig {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, attempt: 0 },
    hostname: name,
    logDirectory,
    portMappings: [],
    labels: labelsOf(name),
    annotations: {},
    cgroupParent: `${cgroupRoot}/pod${name}`,
    sysctls: {},
    security: { namespaces: { network: 'pod', pid: 'container', ipc: 'pod' }, privileged: false },
  };
}

function containerConfig(pod: string, { name, command, tty = false, stdin = false }: RealContainer): ContainerConfig {
  return {
    name,
    attempt: 0,
    image: { image: testImage },
    command,
    args: [],
    workingDirectory: '',
    environment: [],
    mounts: [],
    devices: [],
    labels: labelsOf(pod, name),
    annotations: {},
    logPath: `${name}.log`,
    stdin,
    stdinOnce: false,
    tty,
    resources: { cpuShares: 2 },
    security: ordinarySecurity,
  };
}
