/** What the control plane's process tells the node's: a file, so that the node starts again by itself with all it needs. */
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nameServerUser, provisionerUser } from '../addons.ts';
import type { ClusterPki } from '../certificates/cluster-pki.ts';
import type { PemPair } from '../certificates/kubelet-certificates.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import type { RuntimeKind } from '../data/up-settings.ts';

export interface NodeConfig {
  /** Of the program: a node of another one is started anew. */
  readonly program: string;
  /** Of Kubernetes, as the Node's status tells it. */
  readonly version: string;
  /** URL of the API server. */
  readonly server: string;
  readonly nodeName: string;
  /** Absent on a machine with loopback alone, which can only have a simulated node. */
  readonly nodeIp?: string | undefined;
  readonly runtime: RuntimeKind;
  readonly containerRuntimeEndpoint?: string | undefined;
  readonly clusterDns: string;
  readonly clusterDomain: string;
  readonly serviceCidrs: readonly string[];
  readonly clusterCidrs: readonly string[];
  /** Whether the node came to its cluster by itself: then it renews its own certificates, and all its parts are one user. */
  readonly joined?: boolean | undefined;
  /** Names of certified keys in the data directory's `pki`. */
  readonly keys: Readonly<Record<'kubelet' | 'proxy' | 'dns' | 'provisioner' | 'server', string>>;
  /** Changes when one of the keys was made anew. */
  readonly fingerprint: string;
}

/** Makes the node's credentials where they are missing; each part of it is a user of its own. */
export function nodeKeys(pki: ClusterPki, nodeName: string, addresses: readonly string[]): NodeKeys {
  const names = {
    kubelet: `kubelet-${nodeName}`,
    proxy: 'kube-proxy',
    dns: 'kube-dns',
    provisioner: 'local-provisioner',
    server: 'kubelet-server',
  };
  const pairs = [
    pki.client(names.kubelet, `system:node:${nodeName}`, ['system:nodes']),
    pki.client(names.proxy, 'system:kube-proxy'),
    pki.client(names.dns, nameServerUser),
    pki.client(names.provisioner, provisionerUser),
    pki.kubeletServer(nodeName, addresses),
  ];
  const hash = createHash('sha256');
  for (const { certificatePem } of pairs) hash.update(certificatePem);
  return { keys: names, fingerprint: hash.digest('hex').slice(0, 16) };
}

/** Of a node that joined: one file holds certificate and key. */
export const joinedKeys: NodeKeys = {
  keys: {
    kubelet: 'kubelet-client-current',
    proxy: 'kubelet-client-current',
    dns: 'kubelet-client-current',
    provisioner: 'kubelet-client-current',
    server: 'kubelet-server-current',
  },
  fingerprint: 'its own',
};

/** PEM of a certificate and its key. Throws when they are not there. */
export function readNodeKey(directory: DataDirectory, { joined }: NodeConfig, name: string): PemPair {
  const text = (extension: string) => readFileSync(join(directory.pki, `${name}.${extension}`), 'utf8');
  return joined ? { certificate: text('pem'), key: text('pem') } : { certificate: text('crt'), key: text('key') };
}

export type NodeKeys = Pick<NodeConfig, 'keys' | 'fingerprint'>;

export function nodeConfigFile(directory: DataDirectory): string {
  return join(directory.node, 'config.json');
}

export function readNodeConfig(directory: DataDirectory): NodeConfig {
  return JSON.parse(readFileSync(nodeConfigFile(directory), 'utf8')) as NodeConfig;
}

/** Returns whether it differs from what stood there. */
export function writeNodeConfig(directory: DataDirectory, config: NodeConfig): boolean {
  const file = nodeConfigFile(directory);
  const text = `${JSON.stringify(config, null, 2)}\n`;
  let current: string | undefined;
  try {
    current = readFileSync(file, 'utf8');
  } catch {}
  if (current === text) return false;
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
  return true;
}
