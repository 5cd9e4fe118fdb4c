/**
 * Which kernel settings a Pod may change: those that the kernel keeps per namespace and that touch nobody else, and those that an
 * administrator has allowed with `--allowed-unsafe-sysctls`. None in a namespace that the Pod shares with its node. Pure.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import type { Rejection } from './admission.ts';

type Namespace = 'IPC' | 'Net';

/** Since which kernel each is kept per namespace; absent: since long ago. */
const safe: Readonly<Record<string, string | undefined>> = {
  'kernel.shm_rmid_forced': undefined,
  'net.ipv4.ip_local_port_range': undefined,
  'net.ipv4.tcp_syncookies': undefined,
  'net.ipv4.ping_group_range': undefined,
  'net.ipv4.ip_unprivileged_port_start': undefined,
  'net.ipv4.ip_local_reserved_ports': '3.16',
  'net.ipv4.tcp_keepalive_time': '4.5',
  'net.ipv4.tcp_keepalive_intvl': '4.5',
  'net.ipv4.tcp_keepalive_probes': '4.5',
  'net.ipv4.tcp_fin_timeout': '4.6',
  'net.ipv4.tcp_rmem': '4.15',
  'net.ipv4.tcp_wmem': '4.15',
};

const ipc = /^kernel\.(sem|shm(all|max|mni|_rmid_forced)?|msg(max|mnb|mni)?)$|^fs\.mqueue\./;
const wellFormed = /^[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9*/]*[a-z0-9*])?)*[./]?\*?$/;
const longest = 253;

/** `net/ipv4/conf/eno2.100/rp_filter` is `net.ipv4.conf.eno2/100.rp_filter`: the first separator says which is which. */
export function sysctlName(name: string): string {
  if (/[./]/.exec(name)?.[0] !== '/') return name;
  return name.replace(/[./]/g, (separator) => (separator === '.' ? '/' : '.'));
}

export class SysctlRules {
  readonly #names = new Map<string, Namespace>();
  readonly #prefixes: (readonly [prefix: string, namespace: Namespace])[] = [];

  /** Throws for a pattern that allows what is the whole machine's. */
  constructor(allowed: readonly string[], kernelVersion: string) {
    for (const [name, since] of Object.entries(safe))
      if (since === undefined || isAtLeast(kernelVersion, since)) this.#names.set(name, namespaceOf(name)!);
    for (const pattern of allowed) this.#allow(pattern);
  }

  rejection(pod: Pod): Rejection | undefined {
    for (const { name } of pod.spec.securityContext?.sysctls ?? []) {
      const problem = this.#problem(sysctlName(name), pod);
      if (problem) return { reason: 'SysctlForbidden', message: `forbidden sysctl: ${problem}` };
    }
    return undefined;
  }

  #allow(pattern: string): void {
    if (pattern.length > longest || !wellFormed.test(pattern))
      throw new Error(
        `sysctl ${quote(pattern)} must have at most ${longest} characters and match regex ${wellFormed.source}`,
      );
    const [name = '', ...rest] = sysctlName(pattern).split('*');
    const namespace = namespaceOf(name);
    if (!namespace) throw new Error(`the sysctls ${quote(name)} are not known to be namespaced`);
    if (rest.length > 0) this.#prefixes.push([name, namespace]);
    else this.#names.set(name, namespace);
  }

  #problem(name: string, { spec }: Pod): string | undefined {
    const namespace = this.#names.get(name) ?? this.#prefixes.find(([prefix]) => name.startsWith(prefix))?.[1];
    if (!namespace) return `${quote(name)} not allowlisted`;
    const isShared = namespace === 'IPC' ? spec.hostIPC : spec.hostNetwork;
    return isShared ? `${quote(name)} not allowed with host ${namespace} enabled` : undefined;
  }
}

function namespaceOf(name: string): Namespace | undefined {
  if (name.startsWith('net.')) return 'Net';
  return ipc.test(name) ? 'IPC' : undefined;
}

function isAtLeast(version: string, wanted: string): boolean {
  const [major = 0, minor = 0] = version.split(/[.-]/).map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = wanted.split('.').map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}
