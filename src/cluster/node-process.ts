/**
 * The node in one process: kubelet, service proxy and name server, on a container runtime that outlives them. It reads its whole task
 * from a file, knows the cluster as three users with a node's rights and no more, and leaves everything running when it ends, so
 * that its successor, or the same one after a crash, adopts what it finds.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodes } from '../api/gen/core-v1.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { createHttpTransport } from '../client/http-transport.ts';
import { createClient } from '../client/typed-client.ts';
import { type KubeletConfiguration, defaultConfiguration } from '../kubelet/configuration.ts';
import { startKubelet } from '../kubelet/kubelet.ts';
import { type ComponentContext, componentContext } from '../reconcile/component.ts';
import { Components } from './components.ts';
import type { DataDirectory } from './data-directory.ts';
import { podResolvConf, type ThisMachine } from './machine.ts';
import { nameServerUser } from './addons.ts';
import type { NodeConfig } from './node-config.ts';
import type { NodeRuntime } from './node-runtime.ts';

export interface NodeProcessOptions {
  readonly directory: DataDirectory;
  readonly config: NodeConfig;
  readonly machine: ThisMachine;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface RunningNode {
  /** Ends what runs in this process. Containers, their runtime and the kernel's tables stay. */
  close(): Promise<void>;
}

/** Resolves when the kubelet has started; rejects with a `CommandError` when there is no runtime to start it on. */
export async function startNode(options: NodeProcessOptions): Promise<RunningNode> {
  const { config, clock, log } = options;
  const components = new Components(clock, log);
  const node = new NodeContexts(options, components.signal);
  try {
    const runtime = await openRuntime(options, components, node);
    components.run('kubelet', (signal) => runKubelet(options, node.context('kubelet', signal), runtime));
    if (config.runtime !== 'simulated') {
      const { runNodeNetwork, runNodeProxy, runNodeDns } = await import('./node-network.ts');
      components.run('pod network', (signal) => runNodeNetwork(options, node.context('kubelet', signal)));
      components.run('kube-proxy', (signal) => runNodeProxy(options, node.context('proxy', signal)));
      components.run('kube-dns', (signal) => runNodeDns(options, node.context('dns', signal)));
    }
    return {
      async close() {
        await components.stop();
        await node.close();
        runtime.close();
      },
    };
  } catch (error) {
    await components.stop();
    await node.close();
    throw error;
  }
}

type Part = 'kubelet' | 'proxy' | 'dns';
const userOf: Readonly<Record<Part, string>> = { kubelet: 'kubelet', proxy: 'kube-proxy', dns: nameServerUser };

/** A connection to the API server for each user. */
class NodeContexts {
  readonly #options: NodeProcessOptions;
  readonly #transports = new Map<Part, ReturnType<typeof createHttpTransport>>();

  constructor(options: NodeProcessOptions) {
    this.#options = options;
  }

  context(part: Part, signal: AbortSignal): ComponentContext {
    const { clock, random, log } = this.#options;
    const client = createClient(this.#transport(part));
    return componentContext({ client, clock, random, log: log.child({ component: userOf[part] }), signal });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#transports.values()].map((transport) => transport.close()));
  }

  #transport(part: Part) {
    const known = this.#transports.get(part);
    if (known) return known;
    const { directory, config, clock } = this.#options;
    const pki = (name: string) => readFileSync(join(directory.pki, name), 'utf8');
    const key = config.keys[part];
    const transport = createHttpTransport({
      server: config.server,
      clock,
      tls: { ca: pki('ca.crt'), cert: pki(`${key}.crt`), key: pki(`${key}.key`) },
      userAgent: `${userOf[part]}/${config.version}`,
    });
    this.#transports.set(part, transport);
    return transport;
  }
}
