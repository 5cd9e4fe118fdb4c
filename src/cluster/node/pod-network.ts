/**
 * The network of Pods on a node, beside Services: each Pod hangs on the node by a point-to-point link with an address out of the
 * node's range (CNI's `ptp`), so every packet is routed and every translation of a Service undone; what leaves the cluster gets the
 * node's own address (an nftables table of ours). See docs/adr/0005-node-network.md.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Kernel } from '../../proxy/proxy.ts';

export interface PodNetworkOptions {
  /** Folder of the runtime's network configuration. */
  readonly folder: string;
  /** Where assigned addresses are remembered. */
  readonly addressFolder: string;
}

const fileName = '10-coracle.conflist';

/** Writes the configuration when it differs from what stands there. Returns whether it did. */
export function writePodNetwork(podCidrs: readonly string[], options: PodNetworkOptions): boolean {
  const text = podNetworkConfiguration(podCidrs, options.addressFolder);
  const file = join(options.folder, fileName);
  if (readText(file) === text) return false;
  mkdirSync(options.folder, { recursive: true });
  // Renamed into place, so that the runtime, which watches the folder, never reads half a file.
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
  return true;
}

export function podNetworkConfiguration(podCidrs: readonly string[], addressFolder: string): string {
  const configuration = {
    // The latest that containerd 1.4 knows; later ones know it too.
    cniVersion: '0.4.0',
    name: 'coracle',
    plugins: [
      {
        type: 'ptp',
        ipMasq: false,
        ipam: {
          type: 'host-local',
          dataDir: addressFolder,
          ranges: podCidrs.map((subnet) => [{ subnet }]),
          routes: podCidrs.map((subnet) => ({ dst: subnet.includes(':') ? '::/0' : '0.0.0.0/0' })),
        },
      },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ],
  };
  return `${JSON.stringify(configuration, null, 2)}\n`;
}

/** Whether somebody else already gives the runtime a network. */
export function hasForeignNetwork(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => /\.(conf|conflist|json)$/.test(name) && name !== fileName);
  } catch {
    return false;
  }
}

/** The ranges of the configuration that stands there. */
export function configuredPodCidrs(folder: string): string[] {
  const text = readText(join(folder, fileName)) ?? '';
  return [...text.matchAll(/"subnet": "([^"]+)"/g)].map((match) => match[1]!);
}

export function removePodNetwork(folder: string): void {
  rmSync(join(folder, fileName), { force: true });
}

const podsTable = 'coracle-pods';
const multicast = { ip: '224.0.0.0/4', ip6: 'ff00::/8' };

/** Traffic from `sources` to anywhere but `inside` leaves with the node's own address. One transaction; repeating it changes nothing. */
export async function masquerade(
  kernel: Kernel,
  sources: readonly string[],
  { inside, tableName = podsTable }: { readonly inside: readonly string[]; readonly tableName?: string },
): Promise<void> {
  const table = { name: tableName };
  for (const family of ['ip', 'ip6'] as const) {
    const ofFamily = (cidrs: readonly string[]) => cidrs.filter((cidr) => cidr.includes(':') === (family === 'ip6'));
    if (ofFamily(sources).length === 0) continue;
    const chain = { family, table: table.name, name: 'postrouting' };
    const staying = [...ofFamily(inside), multicast[family]];
    await kernel.apply([
      { add: { table: { family, ...table } } },
      { delete: { table: { family, ...table } } },
      { add: { table: { family, ...table } } },
      { add: { chain: { ...chain, type: 'nat', hook: 'postrouting', prio: 100, policy: 'accept' } } },
      ...ofFamily(sources).map((cidr) => ({
        add: {
          rule: {
            family,
            table: table.name,
            chain: chain.name,
            expr: [
              matchAddress(family, 'saddr', '==', cidr),
              ...staying.map((other) => matchAddress(family, 'daddr', '!=', other)),
              { masquerade: null },
            ],
          },
        },
      })),
    ]);
  }
}

/** Whether the rules of `masquerade` still stand. */
export async function isMasquerading(kernel: Kernel, podCidrs: readonly string[]): Promise<boolean> {
  for (const family of ['ip', 'ip6'] as const) {
    if (!podCidrs.some((cidr) => cidr.includes(':') === (family === 'ip6'))) continue;
    if ((await kernel.countRules({ family, table: podsTable, name: 'postrouting' })) === 0) return false;
  }
  return true;
}

export async function removeMasquerade(kernel: Kernel, tableName = podsTable): Promise<void> {
  const table = { name: tableName };
  for (const family of ['ip', 'ip6'])
    await kernel.apply([{ add: { table: { family, ...table } } }, { delete: { table: { family, ...table } } }]);
}

function matchAddress(family: 'ip' | 'ip6', field: 'saddr' | 'daddr', op: '==' | '!=', cidr: string) {
  const [addr, length] = cidr.split('/');
  return {
    match: { op, left: { payload: { protocol: family, field } }, right: { prefix: { addr, len: Number(length) } } },
  };
}

/** Lets the machine pass packets on, where it does not already. Throws when the kernel refuses. */
export function enableForwarding(podCidrs: readonly string[]): void {
  const files = [
    ...(podCidrs.some((cidr) => !cidr.includes(':')) ? ['/proc/sys/net/ipv4/ip_forward'] : []),
    ...(podCidrs.some((cidr) => cidr.includes(':')) ? ['/proc/sys/net/ipv6/conf/all/forwarding'] : []),
  ];
  for (const file of files) if (readText(file)?.trim() !== '1') writeFileSync(file, '1');
}

/**
 * Docker and some firewalls drop what the machine passes on unless a rule of theirs accepts it, and an accepting rule in a table of
 * ours could not overrule them. Where that is so, Pods' traffic is accepted there. Returns whether it was so.
 */
export function acceptForwarded(iptables: string | undefined, podCidrs: readonly string[]): boolean {
  if (!iptables) return false;
  const run = (...words: string[]) => spawnSync(iptables, ['-w', ...words], { encoding: 'utf8' });
  if (!run('-S', 'FORWARD').stdout?.startsWith('-P FORWARD DROP')) return false;
  for (const rule of forwardRules(podCidrs)) {
    if (run('-C', 'FORWARD', ...rule).status !== 0) run('-I', 'FORWARD', '1', ...rule);
  }
  return true;
}

/** Takes the rules of `acceptForwarded` away. */
export function withdrawForwarded(iptables: string | undefined, podCidrs: readonly string[]): void {
  if (!iptables) return;
  for (const rule of forwardRules(podCidrs)) spawnSync(iptables, ['-w', '-D', 'FORWARD', ...rule], { stdio: 'ignore' });
}

/** The chains that CNI's `portmap` leaves behind go when no host port is in them any more, whoever's it was. */
export function removeEmptyPortMappings(iptables: string | undefined): void {
  if (!iptables) return;
  const nat = (...words: string[]) => spawnSync(iptables, ['-w', '-t', 'nat', ...words], { encoding: 'utf8' });
  // One that was killed in the middle has made, or taken away, only some of them.
  const ports = nat('-S', 'CNI-HOSTPORT-DNAT');
  if (ports.status === 0 && ports.stdout.trim() !== '-N CNI-HOSTPORT-DNAT') return;
  const jumps = (nat('-S').stdout ?? '')
    .split('\n')
    .filter((rule) => /^-A (?!CNI-HOSTPORT).* -j CNI-HOSTPORT-/.test(rule));
  for (const rule of jumps) {
    const words = [...rule.matchAll(/"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? '');
    nat('-D', ...words.slice(1));
  }
  for (const chain of ['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-MASQ', 'CNI-HOSTPORT-SETMARK']) {
    nat('-F', chain);
    nat('-X', chain);
  }
}

function forwardRules(podCidrs: readonly string[]): string[][] {
  return podCidrs
    .filter((cidr) => !cidr.includes(':'))
    .flatMap((cidr) =>
      ['-s', '-d'].map((side) => [side, cidr, '-m', 'comment', '--comment', 'coracle pods', '-j', 'ACCEPT']),
    );
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
