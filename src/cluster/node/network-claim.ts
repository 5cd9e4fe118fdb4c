/**
 * One node with containers per network namespace: kernel tables, forwarding rules and Pods' addresses have no owner's name, so a second
 * one would take the first one's away. The node's process holds an abstract socket, which belongs to the network namespace and ends
 * with the process however it ends, and tells whoever connects which data directory it works for. A runtime that outlived its node, with
its Pods in this network, is known by the configuration that it was started with.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { resolve } from 'node:path';
import { CommandError } from '../command-error.ts';
import { rootOfRuntime } from './private-containerd.ts';

const nodeAddress = '\0coracle-node';

/** Claims the namespace for the node of this data directory. Throws when another node holds it. */
export async function claimNetwork(root: string, address = nodeAddress): Promise<AsyncDisposable> {
  for (;;) {
    const server = await listen(root, address);
    if (server) return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
    const holder = await networkHolder(address);
    // Gone between the two looks: tried again.
    if (holder !== undefined) throw taken(holder);
  }
}

/** Throws when a node of another data directory, or what is left of one, runs in this network namespace. */
export async function checkNetworkFree(root: string, address = nodeAddress): Promise<void> {
  const holder = await networkHolder(address);
  if (holder !== undefined && holder !== root) throw taken(holder);
  const left = rootsOfRuntimes().find((other) => other !== resolve(root));
  if (left === undefined) return;
  throw new CommandError(
    `containers of another cluster, whose node has ended, are still on this machine's network: those of ${left}.`,
    `Stop them (coracle down --data-dir ${left}), start this cluster in a network namespace of its own, or use --runtime simulated.`,
  );
}

/** The data directories whose private containerd runs in this network namespace. */
function rootsOfRuntimes(): string[] {
  const own = readlinkSync('/proc/self/ns/net');
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const root = rootOfRuntime(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0'));
        return root !== undefined && readlinkSync(`/proc/${pid}/ns/net`) === own ? [root] : [];
      } catch {
        // It has ended meanwhile, or is somebody else's.
        return [];
      }
    });
}

function taken(holder: string): CommandError {
  return new CommandError(
    `a node that runs containers is already on this machine's network: that of ${holder || 'another user'}.`,
    `Stop it (coracle down --data-dir ${holder || 'DIR'}), start this one in a network namespace of its own, or use --runtime simulated.`,
  );
}

/** Undefined: the address is taken. */
function listen(root: string, address: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.on('error', () => {}).end(root));
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen({ path: address }, () => resolve(server));
  });
}

/** The data directory of the node that runs here, if one does. */
function networkHolder(address: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ path: address });
    socket.setEncoding('utf8');
    socket.on('data', (part: string) => {
      text += part;
    });
    socket.once('end', () => resolve(text));
    socket.once('error', () => resolve(undefined));
  });
}
