/**
 * What `coracle up` was asked for, joined with what the same data directory was started with before: an option that is not given
 * again stays as it was, so that plain `up` finds the same cluster.
 */

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isIp } from '../../apimachinery/addresses.ts';
import { dns1123Subdomain } from '../../apimachinery/names.ts';
import type { ListenAddress } from '../../serving/listen-address.ts';
import { CommandError } from '../command-error.ts';
import type { DataDirectory } from './data-directory.ts';

export type RuntimeKind = 'containerd' | 'simulated';

/** By component: `NAME=VALUE` of its flags, as given. */
export type ComponentFlags = Readonly<
  Partial<Record<'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler', readonly string[]>>
>;

/** As given on the command line; absent: not given. */
export interface UpOptions {
  readonly dataDir?: string | undefined;
  readonly listen?: string | undefined;
  readonly runtime?: RuntimeKind | undefined;
  readonly containerRuntimeEndpoint?: string | undefined;
  readonly kubeconfig?: string | undefined;
  readonly mergeKubeconfig?: boolean | undefined;
  readonly install?: boolean | undefined;
  readonly nodeName?: string | undefined;
  readonly nodes?: number | undefined;
  readonly kubeApiserverFlag?: readonly string[] | undefined;
  readonly kubeControllerManagerFlag?: readonly string[] | undefined;
  readonly kubeSchedulerFlag?: readonly string[] | undefined;
}

/** What a cluster keeps from one start to the next. */
export interface ClusterSettings {
  readonly listen: ListenAddress;
  readonly runtime: RuntimeKind;
  /** Of a runtime of the user's own; absent: a private containerd. */
  readonly containerRuntimeEndpoint?: string | undefined;
  readonly nodeName: string;
  /** How many there are on this machine; absent: one. */
  readonly nodes?: number | undefined;
  readonly serviceCidrs: readonly string[];
  readonly clusterCidrs: readonly string[];
  /** Absent: none were given. */
  readonly componentFlags?: ComponentFlags | undefined;
}

const fileName = 'cluster.json';

const defaultListen: ListenAddress = { host: '127.0.0.1', port: 6443 };

/** Throws a `CommandError` about the first option that cannot be. */
export function settle(options: UpOptions, remembered: Partial<ClusterSettings>, nodeName: string): ClusterSettings {
  const endpoint =
    options.containerRuntimeEndpoint ??
    (options.runtime === 'simulated' ? undefined : remembered.containerRuntimeEndpoint);
  const componentFlags = joinFlags(options, remembered.componentFlags ?? {});
  const settings = {
    listen: options.listen === undefined ? (remembered.listen ?? defaultListen) : parseListen(options.listen),
    runtime:
      options.runtime ?? (options.containerRuntimeEndpoint ? 'containerd' : (remembered.runtime ?? 'containerd')),
    ...(endpoint === undefined ? {} : { containerRuntimeEndpoint: parseEndpoint(endpoint) }),
    nodeName: options.nodeName ?? remembered.nodeName ?? nodeName,
    ...((options.nodes ?? remembered.nodes) === undefined ? {} : { nodes: options.nodes ?? remembered.nodes }),
    serviceCidrs: remembered.serviceCidrs ?? ['10.96.0.0/16'],
    clusterCidrs: remembered.clusterCidrs ?? ['10.244.0.0/16'],
    ...(Object.keys(componentFlags).length === 0 ? {} : { componentFlags }),
  };
  if (settings.runtime === 'simulated' && endpoint !== undefined)
    throw new CommandError(
      '--runtime simulated and --container-runtime-endpoint exclude one another.',
      'Give one of the two.',
    );
  if (settings.containerRuntimeEndpoint !== undefined && (settings.nodes ?? 1) > 1)
    throw new CommandError(
      'one container runtime of your own cannot be that of several nodes.',
      'Give --nodes without --container-runtime-endpoint.',
    );
  const [badName] = dns1123Subdomain(settings.nodeName);
  if (badName !== undefined)
    throw new CommandError(
      `${JSON.stringify(settings.nodeName)} cannot be the name of a Node: ${badName}.`,
      'Give another with --node-name.',
    );
  return settings;
}

/** A component's flags are one option: given again they replace all of before, and a single empty one forgets them. */
function joinFlags(options: UpOptions, remembered: ComponentFlags): ComponentFlags {
  const joined = {
    'kube-apiserver': options.kubeApiserverFlag ?? remembered['kube-apiserver'],
    'kube-controller-manager': options.kubeControllerManagerFlag ?? remembered['kube-controller-manager'],
    'kube-scheduler': options.kubeSchedulerFlag ?? remembered['kube-scheduler'],
  };
  return Object.fromEntries(
    Object.entries(joined)
      .map(([component, flags]) => [component, flags?.filter((flag) => flag !== '') ?? []] as const)
      .filter(([, flags]) => flags.length > 0),
  );
}

/** `HOST:PORT`, `[IPV6]:PORT`; `localhost` is 127.0.0.1. */
export function parseListen(text: string): ListenAddress {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
  const named = match?.[1] ?? match?.[2] ?? '';
  const host = named === 'localhost' ? '127.0.0.1' : named;
  const port = Number(match?.[3]);
  if (!match || !isIp(host) || port > 65_535 || port === 0)
    throw new CommandError(
      `--listen ${JSON.stringify(text)} is not an IP address and a port.`,
      'Write it as in --listen 127.0.0.1:6443 or --listen [::1]:6443.',
    );
  return { host, port };
}

/** The form that gRPC takes. Throws a `CommandError` for what is no unix socket. */
export function parseEndpoint(text: string): string {
  if (text.startsWith('/')) return `unix://${text}`;
  if (text.startsWith('unix:///')) return text;
  throw new CommandError(
    `--container-runtime-endpoint ${JSON.stringify(text)} is no unix socket.`,
    'Write it as in --container-runtime-endpoint unix:///run/containerd/containerd.sock.',
  );
}

export function readSettings(directory: DataDirectory): Partial<ClusterSettings> {
  const file = join(directory.root, fileName);
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Partial<ClusterSettings>;
  } catch {
    throw new CommandError(`${file} cannot be read as JSON.`, 'Remove that file: it is written anew from the options.');
  }
}

export function writeSettings(directory: DataDirectory, settings: ClusterSettings): void {
  const file = join(directory.root, fileName);
  writeFileSync(`${file}.new`, `${JSON.stringify(settings, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}
