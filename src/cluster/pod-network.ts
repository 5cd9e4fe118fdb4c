/**
 * The network of Pods on a node: a bridge with an address per Pod out of the node's Pod CIDR, written as CNI configuration once the
 * control plane has given the Node its range. Masquerading of traffic that leaves the cluster is the proxy's (nftables).
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface PodNetworkOptions {
  /** Folder of the runtime's network configuration. */
  readonly folder: string;
  /** Where assigned addresses are remembered. */
  readonly addressFolder: string;
  /** At most 15 characters, the kernel's limit. */
  readonly bridge: string;
}

/** Writes the configuration when it differs from what stands there. Returns whether it did. */
export function writePodNetwork(podCidrs: readonly string[], options: PodNetworkOptions): boolean {
  const configuration = {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: options.bridge,
        isGateway: true,
        isDefaultGateway: true,
        hairpinMode: true,
        ipMasq: false,
        ipam: { type: 'host-local', dataDir: options.addressFolder, ranges: podCidrs.map((subnet) => [{ subnet }]) },
      },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ],
  };
  const text = `${JSON.stringify(configuration, null, 2)}\n`;
  const file = join(options.folder, '10-pods.conflist');
  let current = '';
  try {
    current = readFileSync(file, 'utf8');
  } catch {}
  if (current === text) return false;
  mkdirSync(options.folder, { recursive: true });
  // Renamed into place, so that the runtime, which watches the folder, never reads half a file.
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
  return true;
}
