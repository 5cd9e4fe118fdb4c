/**
 * The node in one process: kubelet, service proxy and name server, on a container runtime that outlives them. It reads its whole task
 * from a file, knows the cluster as three users with a node's rights and no more, and leaves everything running when it ends, so
 * that its successor, or the same one after a crash, adopts what it finds.
 */
import { readFileSync } from 'node:fs';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { storageClasses } from '../../api/gen/storage-v1.ts';
import { Closers } from '../../base/closers.ts';
import { createHttpTransport, type HttpTransport, type TlsOptions } from '../../client/http-transport.ts';
import { RequestStatistics } from '../../client/request-statistics.ts';
import { createClient } from '../../client/typed-client.ts';
import { type ComponentContext, componentContext } from '../../reconcile/component.ts';
import { nameServerUser } from '../addons.ts';
import { followRenewals, lookAtFilesMs, type RenewalOptions } from '../certificates/certificate-renewal.ts';
import { ComponentSupervisor } from '../processes/component-supervisor.ts';
import { volumesOf } from './local-volumes.ts';
import { claimNetwork } from './network-claim.ts';
import { readNodeKey } from './node-config.ts';
import { runNodeKubelet } from './node-kubelet.ts';
import { writeNodeProblems } from './node-problems.ts';
import type { NodeProcessOptions } from './node-process-options.ts';
import type { NodeRuntime } from './node-runtime.ts';
import { rightsGiven } from './rights-given.ts';

export interface RunningNode {
  /** Ends what runs in this process. Containers, their runtime and the kernel's tables stay. */
  close(): Promise<void>;
}

/** Rejects with a `CommandError` when there is no runtime to start the kubelet on, or another node is on this network. */
export async function startNode(options: NodeProcessOptions): Promise<RunningNode> {
  const { config, clock, directory, log } = options;
  // Ended in reverse order: what runs first, what it runs on last.
  const ending = new Closers();
  const close = () => ending.close();
  try {
    if (config.runtime !== 'simulated') ending.use(await claimNetwork(directory.root));
    const users = new NodeUsers(options);
    ending.defer(() => users.close());
    let runtime: NodeRuntime | undefined;
    ending.defer(() => runtime?.connection.close());
    writeNodeProblems(directory, new Map());
    const components = new ComponentSupervisor(clock, log, (problems) => writeNodeProblems(directory, problems));
    ending.defer(() => components.stop());
    components.run('certificates', (signal) => users.followRenewals({ clock, log, signal }));
    // A node that joined is but one user, and that may make no volumes.
    if (!config.joined)
      components.run('local provisioner', (signal) =>
        runNodeProvisioner(options, users.context('provisioner', signal)),
      );
    const { requests } = users;
    if (config.runtime === 'simulated') {
      components.run('kubelet', (signal) => runNodeKubelet(options, users.context('kubelet', signal), { requests }));
      return { close };
    }
    const { openNodeRuntime } = await import('./node-runtime.ts');
    const { runNodeNetwork, runNodeProxy, runNodeDns, runPodRoutes, runWayToServices } = await import(
      './node-network.ts'
    );
    runtime = await openNodeRuntime(options, components);
    const opened = runtime;
    components.run('kubelet', (signal) =>
      runNodeKubelet(options, users.context('kubelet', signal), { requests, runtime: opened }),
    );
    components.run('pod network', (signal) => runNodeNetwork(options, users.context('kubelet', signal)));
    components.run('routes', (signal) => runPodRoutes(options, users.context('proxy', signal)));
    components.run('way to services', (signal) => runWayToServices(options, { clock, log, signal }));
    components.run('kube-proxy', (signal) => runNodeProxy(options, users.context('proxy', signal)));
    components.run('kube-dns', (signal) => runNodeDns(options, users.context('dns', signal)));
    return { close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function runNodeProvisioner({ config, directory }: NodeProcessOptions, context: ComponentContext): Promise<void> {
  const { runLocalProvisioner } = await import('../../controllers/local-provisioner/local-provisioner.ts');
  await rightsGiven(context, storageClasses);
  await runLocalProvisioner(context, {
    nodeName: config.nodeName,
    rootOf: (nodeName) => volumesOf(nodeName, { nodeName: config.nodeName, directory }),
    folders: {
      async make(path) {
        await mkdir(path, { recursive: true });
        // Whoever a container runs as may write; the mask of this process must not say otherwise.
        await chmod(path, 0o777);
      },
      remove: (path) => rm(path, { recursive: true, force: true }),
    },
  });
}

const parts = ['kubelet', 'proxy', 'dns', 'provisioner'] as const;
type Part = (typeof parts)[number];
const nameOf: Readonly<Record<Part, string>> = {
  kubelet: 'kubelet',
  proxy: 'kube-proxy',
  dns: nameServerUser,
  provisioner: 'local-provisioner',
};

/** Who the node's parts are to the API server; each has a connection of its own. */
class NodeUsers {
  /** Of all parts together. */
  readonly requests = new RequestStatistics();
  readonly #options: NodeProcessOptions;
  readonly #transports = new Map<Part, HttpTransport>();

  constructor(options: NodeProcessOptions) {
    this.#options = options;
  }

  context(part: Part, signal: AbortSignal): ComponentContext {
    const { clock, random, log } = this.#options;
    const client = createClient(this.#transport(part));
    return componentContext({ client, clock, random, log: log.child({ component: nameOf[part] }), signal });
  }

  /**
   * What the control plane's process makes anew in the files is shown from the next connection on. A node that joined has nobody who would:
   * it asks for its next certificate itself.
   */
  async followRenewals(options: RenewalOptions): Promise<void> {
    const { directory, config, random } = this.#options;
    if (config.joined) {
      const { clientRotation } = await import('../certificates/kubelet-certificates.ts');
      return clientRotation({
        ...options,
        client: createClient(this.#transport('kubelet')),
        folder: directory.pki,
        nodeName: config.nodeName,
        random,
        onRotated: () => {
          for (const [part, transport] of this.#transports) transport.replaceTls(this.#tls(part));
        },
      }).run();
    }
    const current = () => Object.fromEntries(parts.map((part) => [part, this.#tls(part)]));
    const take = (tls: Readonly<Record<string, TlsOptions>>) => {
      for (const [part, transport] of this.#transports) transport.replaceTls(tls[part] ?? {});
    };
    return followRenewals(current, take, { ...options, everyMs: lookAtFilesMs });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#transports.values()].map((transport) => transport.close()));
  }

  #tls(part: Part): TlsOptions {
    const { directory, config } = this.#options;
    const { certificate: cert, key } = readNodeKey(directory, config, config.keys[part]);
    return { ca: readFileSync(join(directory.pki, 'ca.crt'), 'utf8'), cert, key };
  }

  #transport(part: Part): HttpTransport {
    const known = this.#transports.get(part);
    if (known) return known;
    const { config, clock } = this.#options;
    const transport = createHttpTransport({
      server: config.server,
      clock,
      statistics: this.requests,
      tls: this.#tls(part),
      userAgent: `${nameOf[part]}/${config.version}`,
    });
    this.#transports.set(part, transport);
    return transport;
  }
}
