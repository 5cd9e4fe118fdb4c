/**
 * The machine and the user a command runs on and as: read once, here, and handed on as values.
 *
 * The room: what there is under a cluster and what is missing there. It reads the environment and runs programs, and touches no cluster.
 * What a node needs installed is named in `requirements.ts`; how it is installed stands in `package-installation.ts`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { homedir, type NetworkInterfaceInfo, networkInterfaces, hostname as systemHostname } from 'node:os';
import { join } from 'node:path';
import { ownExtension } from '../../base/own-imports.ts';
import type { Machine } from './requirements.ts';

export interface ThisMachine extends Machine {
  readonly home: string;
  readonly xdgDataHome: string | undefined;
  /** As the machine calls itself, in the form of a Node's name. */
  readonly nodeName: string;
  /** What a process started here gets to see. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Words that start this program again. */
  readonly self: readonly string[];
}

export function thisMachine(): ThisMachine {
  const { env } = process;
  return {
    path: (env.PATH ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin').split(':').filter(Boolean),
    isRoot: process.getuid?.() === 0,
    home: homedir(),
    xdgDataHome: env.XDG_DATA_HOME,
    nodeName: nodeNameOf(systemHostname()),
    environment: env,
    self: [process.execPath, ...process.execArgv, join(import.meta.dirname, `../../cli/main${ownExtension}`)],
  };
}

/** Node names are DNS subdomains in small letters. */
export function nodeNameOf(hostname: string): string {
  const name = hostname
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[.-]+|[.-]+$/g, '');
  return name || 'node';
}

/** The address other machines and Pods reach this one by; undefined on a machine that has none. */
export function nodeAddress(): string | undefined {
  const routes = readText('/proc/net/route');
  const defaultInterface = routes
    .split('\n')
    .map((line) => line.split('\t'))
    .find((fields) => fields[1] === '00000000')?.[0];
  return chooseAddress(networkInterfaces(), defaultInterface);
}

/**
 * Of the interface with the default route, else the first that is neither loopback nor link-local. One of the machine's own that lies on its
 * loopback interface, as routed machines have them, is better than none.
 */
export function chooseAddress(
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>,
  defaultInterface: string | undefined,
): string | undefined {
  const candidates = Object.entries(interfaces)
    .flatMap(([name, list = []]) => list.map((entry) => ({ name, ...entry })))
    .filter(
      ({ family, address }) => family === 'IPv4' && !address.startsWith('169.254.') && !address.startsWith('127.'),
    );
  const outside = candidates.filter(({ internal }) => !internal);
  return (outside.find(({ name }) => name === defaultInterface) ?? outside[0] ?? candidates[0])?.address;
}

/** Name servers of the machine itself, without those in `except`. */
export function nameServers(except: readonly string[], file = '/etc/resolv.conf'): string[] {
  return [...readText(file).matchAll(/^\s*nameserver\s+(\S+)/gm)]
    .map((match) => match[1]!)
    .filter((address) => !except.includes(address));
}

/** The resolver configuration that Pods can use too: not one that points at a stub on the machine's loopback. */
export function podResolvConf(): string {
  const resolved = '/run/systemd/resolve/resolv.conf';
  const servers = nameServers([]);
  const onlyStub = servers.length > 0 && servers.every((address) => address.startsWith('127.'));
  return onlyStub && existsSync(resolved) ? resolved : '/etc/resolv.conf';
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
