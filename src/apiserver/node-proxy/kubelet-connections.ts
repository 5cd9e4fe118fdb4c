/**
 * The way to the kubelets: which address and port a Node gives, and with which certificate the API server shows itself. A kubelet's own
 * certificate is verified only where an authority is configured, as upstream.
 */
import { type Node, nodes } from '../../api/gen/core-v1.ts';
import { statusError } from '../../apimachinery/status.ts';
import { hostPort } from '../../base/host-port.ts';
import type { Client } from '../../client/client.ts';
import type { TargetTls } from '../../serving/upgrade.ts';

export interface KubeletClientOptions {
  /** `--kubelet-client-certificate` and its key (PEM), asked for each connection so that renewed ones are taken. */
  readonly credentials?: (() => { readonly certificate: string; readonly key: string } | undefined) | undefined;
  /** `--kubelet-certificate-authority` (PEM); absent: kubelets' certificates are not verified. */
  readonly authority?: (() => string | undefined) | undefined;
  /** `--kubelet-preferred-address-types`. */
  readonly preferredAddressTypes?: readonly string[] | undefined;
  /** Where a Node names no port. Default 10250. */
  readonly port?: number | undefined;
}

export interface KubeletConnection {
  readonly host: string;
  readonly port: number;
  /** `https://host:port`. */
  readonly origin: string;
  readonly tls: TargetTls;
  /** The kubelet takes the newest WebSocket protocols itself. */
  readonly speaksWebSocket: boolean;
}

const defaultAddressTypes = ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'];
const defaultPort = 10_250;
const hostnameLabel = 'kubernetes.io/hostname';

export class KubeletConnections {
  readonly #client: Client;
  readonly #options: KubeletClientOptions;

  constructor(client: Client, options: KubeletClientOptions = {}) {
    this.#client = client;
    this.#options = options;
  }

  /** Throws NotFound without the Node, and an error when it names no usable address. */
  async of(nodeName: string, signal?: AbortSignal): Promise<KubeletConnection> {
    const node = await this.#client.get(nodes, { name: nodeName }, { signal });
    const host = preferredAddress(node, this.#options.preferredAddressTypes ?? defaultAddressTypes);
    const reported = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
    const port = reported > 0 ? reported : (this.#options.port ?? defaultPort);
    const credentials = this.#options.credentials?.();
    const authority = this.#options.authority?.();
    return {
      host,
      port,
      origin: `https://${hostPort({ host, port })}`,
      tls: { ca: authority, cert: credentials?.certificate, key: credentials?.key, verify: Boolean(authority) },
      speaksWebSocket: node.status?.declaredFeatures?.includes('ExtendWebSocketsToKubelet') ?? false,
    };
  }
}

function preferredAddress(node: Node, types: readonly string[]): string {
  const addresses = node.status?.addresses ?? [];
  for (const type of types) {
    const found = addresses.find((address) => address.type === type);
    if (found) return found.address;
    const label = node.metadata.labels?.[hostnameLabel];
    if (type === 'Hostname' && label) return label;
  }
  const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(' ');
  throw statusError({
    code: 500,
    reason: '',
    message: `no preferred addresses found; known addresses: [${known}]`,
  });
}
