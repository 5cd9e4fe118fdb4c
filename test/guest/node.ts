/**
 * A cluster whose only node is a guest: the control plane runs in the test's process, `coracle kubelet` as a systemd service in the guest,
 * on Debian's containerd. One boot serves many tests; the kubelet's configuration can be changed between them.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parse } from 'yaml';
import { defaultPod } from '../../src/api/core/v1/pod-defaults.ts';
import { type Container, type Node, nodes, type Pod, type PodSpec, pods } from '../../src/api/gen/core-v1.ts';
import type { Client } from '../../src/client/client.ts';
import { pauseImageArchive } from '../../src/kubelet/images/pause-image.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { type EmbeddedControlPlane, startControlPlane } from '../../src/testing/index.ts';
import { busyboxImageArchive } from '../../src/testing/oci-image.ts';
import { type Guest, type GuestOptions, startGuest, write } from './guest.ts';

export const nodeName = 'guest';
export const image = 'local.test/busybox:1';

/** Fields of KubeletConfiguration that differ from the defaults. */
export type KubeletFields = Readonly<Record<string, unknown>>;

export class GuestNode {
  readonly guest: Guest;
  readonly cluster: EmbeddedControlPlane;

  private constructor(guest: Guest, cluster: EmbeddedControlPlane) {
    this.guest = guest;
    this.cluster = cluster;
  }

  /** Resolves when the node is Ready. */
  static async start(
    fields: KubeletFields,
    options: GuestOptions & { readonly prepare?: string } = {},
  ): Promise<GuestNode> {
    const images = { 'images/pause.tar': pauseImageArchive(), 'images/busybox.tar': busyboxImageArchive(image) };
    const [cluster, guest] = await Promise.all([
      startControlPlane(),
      startGuest({ ...options, files: { ...images, ...options.files } }),
    ]);
    const node = new GuestNode(guest, cluster);
    try {
      await guest.run(
        'systemctl start containerd; for file in /opt/coracle/images/*.tar; do ctr -n k8s.io images import $file; done',
      );
      await guest.run(options.prepare ?? '');
      await node.configure(fields);
      await node.whenReady();
    } catch (error) {
      console.error(await node.kubeletLog());
      await node.stop();
      throw error;
    }
    return node;
  }

  get client(): Client {
    return this.cluster.client;
  }

  /** Starts the kubelet anew, on the default configuration with these fields. */
  async configure(fields: KubeletFields, flags = ''): Promise<void> {
    const configuration = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      cgroupDriver: 'systemd',
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      ...fields,
    };
    const kubeconfig = parse(this.cluster.kubeconfig) as { clusters: { cluster: Record<string, unknown> }[] };
    const { port } = new URL(this.cluster.url);
    for (const { cluster } of kubeconfig.clusters)
      Object.assign(cluster, { server: `https://${this.guest.hostAddress}:${port}`, 'tls-server-name': 'kubernetes' });
    await this.guest.run(
      [
        write('/etc/kubernetes/kubelet.json', JSON.stringify(configuration)),
        write('/etc/kubernetes/kubelet.conf', JSON.stringify(kubeconfig)),
        write('/etc/kubernetes/kubelet.env', `KUBELET_FLAGS=--hostname-override=${nodeName} ${flags}\n`),
        'systemctl restart kubelet',
      ].join('\n'),
    );
  }

  node(): Promise<Node> {
    return this.client.get(nodes, { name: nodeName });
  }

  /** Posted by the kubelet that runs now. */
  async whenReady(): Promise<void> {
    const startedMs = Number(await this.guest.run('date +%s')) * 1000;
    await slowly(async () => {
      const ready = (await this.node()).status?.conditions?.find(({ type }) => type === 'Ready');
      return ready?.status === 'True' && Date.parse(ready.lastHeartbeatTime ?? '') >= startedMs - 1000;
    });
  }

  async condition(type: string): Promise<NonNullable<NonNullable<Node['status']>['conditions']>[number] | undefined> {
    return (await this.node()).status?.conditions?.find((condition) => condition.type === type);
  }

  create(name: string, spec: Partial<PodSpec> & Pick<PodSpec, 'containers'>): Promise<Pod> {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default' },
      spec: { nodeName, terminationGracePeriodSeconds: 1, automountServiceAccountToken: false, ...spec },
    };
    defaultPod(pod as Parameters<typeof defaultPod>[0]);
    return this.client.create(pods, pod as Pod);
  }

  pod(name: string): Promise<Pod> {
    return this.client.get(pods, { namespace: 'default', name });
  }

  async phase(name: string, wanted: string): Promise<Pod> {
    await slowly(async () => (await this.pod(name)).status?.phase === wanted);
    return this.pod(name);
  }

  async running(name: string, spec: Partial<PodSpec> & Pick<PodSpec, 'containers'>): Promise<Pod> {
    await this.create(name, spec);
    return this.phase(name, 'Running');
  }

  async remove(...names: string[]): Promise<void> {
    for (const name of names) await this.client.delete(pods, { namespace: 'default', name });
    await slowly(async () => {
      const left = await this.client.list(pods, { namespace: 'default' });
      return !left.items.some(({ metadata }) => names.includes(metadata.name ?? ''));
    });
  }

  /** A page of the kubelet's own server. */
  fetch(path: string): Promise<string> {
    const program = `process.env.NODE_TLS_REJECT_UNAUTHORIZED = 0; fetch('https://127.0.0.1:10250${path}').then((r) => r.text()).then(console.log)`;
    return this.guest.run(`/opt/coracle/bin/node --no-warnings -e "${program}"`);
  }

  kubeletLog(): Promise<string> {
    return this.guest.run('journalctl -u kubelet -n 60 --no-pager -o cat').catch((error) => String(error));
  }

  async stop(): Promise<void> {
    await this.guest.stop();
    await this.cluster.stop();
  }
}

export function container(script: string, more: Partial<Container> = {}): Container {
  return { name: 'main', image, command: ['sh', '-c', script], ...more };
}

/** Runs until it is asked to end, and ends at once then. */
export const forever = (more: Partial<Container> = {}) =>
  container("trap 'exit 0' TERM; while true; do sleep 0.2; done", more);

/** On an emulated machine everything takes longer. */
export function slowly(isTrue: () => boolean | Promise<boolean>): Promise<boolean> {
  return eventually(isTrue, Boolean, { withinMs: 300_000, pause: () => pause(250) });
}
