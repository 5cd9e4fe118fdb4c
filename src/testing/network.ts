/**
 * Hosts for tests that are about packets: each is a network namespace, Pods hang on a host by a veth pair with a route of their own, and
 * everything is gone when the network is closed. Needs root.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TestHost {
  readonly namespace: string;
  /** Runs a program inside and returns what it prints; throws when it fails. */
  run(program: string, ...words: string[]): string;
  /** Starts a program inside that runs until the network is closed. */
  start(program: string, ...words: string[]): ChildProcess;
  /** An executable that runs `program` inside this host. */
  wrapper(program: string): string;
}

export interface TestNetwork {
  host(addresses: readonly string[]): TestHost;
  /** A host behind `router` with one address, reached through a veth pair. */
  pod(router: TestHost, address: string): TestHost;
  close(): void;
}

export function testNetwork(): TestNetwork {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-network-'));
  const hosts: TestHost[] = [];
  const children: ChildProcess[] = [];
  const create = () => {
    const host = createHost(`ct${process.pid}-${hosts.length}`, { folder, children });
    hosts.push(host);
    return host;
  };
  return {
    host(addresses) {
      const host = create();
      // A bridge without ports holds addresses as well as a dummy link, which not every kernel has.
      host.run('ip', 'link', 'add', 'uplink', 'type', 'bridge');
      for (const address of addresses) host.run('ip', 'addr', 'add', address, 'dev', 'uplink');
      host.run('ip', 'link', 'set', 'uplink', 'up');
      host.run('ip', 'route', 'add', 'default', 'dev', 'uplink');
      return host;
    },
    pod(router, address) {
      const pod = create();
      connect(router, pod, { veth: `v${hosts.length}`, address });
      return pod;
    },
    close() {
      for (const child of children) child.kill('SIGKILL');
      for (const { namespace } of hosts) ip('netns', 'del', namespace);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const ip = (...words: string[]) => execFileSync('ip', words, { encoding: 'utf8' });

/** `folder` takes its wrappers, `children` what it starts. */
function createHost(
  namespace: string,
  { folder, children }: { readonly folder: string; readonly children: ChildProcess[] },
): TestHost {
  ip('netns', 'add', namespace);
  // Not `ip netns exec`, which remounts /sys and hides the cgroups.
  const enter = `--net=/run/netns/${namespace}`;
  const run = (program: string, ...words: string[]) =>
    execFileSync('nsenter', [enter, program, ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 20_000,
    });
  run('ip', 'link', 'set', 'lo', 'up');
  run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
  return {
    namespace,
    run,
    start(program, ...words) {
      const child = spawn('nsenter', [enter, program, ...words], { stdio: 'ignore' });
      children.push(child);
      return child;
    },
    wrapper(program) {
      const file = join(folder, `${namespace}-${program}`);
      writeFileSync(file, `#!/bin/sh\nexec nsenter ${enter} ${program} "$@"\n`);
      chmodSync(file, 0o755);
      return file;
    },
  };
}

function connect(
  router: TestHost,
  pod: TestHost,
  { veth, address }: { readonly veth: string; readonly address: string },
): void {
  const peer = ['peer', 'name', 'eth0', 'netns', pod.namespace];
  ip('link', 'add', veth, 'netns', router.namespace, 'type', 'veth', ...peer);
  router.run('ip', 'addr', 'add', '169.254.1.1/32', 'dev', veth);
  router.run('ip', 'link', 'set', veth, 'up');
  router.run('ip', 'route', 'add', `${address}/32`, 'dev', veth);
  pod.run('ip', 'addr', 'add', `${address}/32`, 'dev', 'eth0');
  pod.run('ip', 'link', 'set', 'eth0', 'up');
  pod.run('ip', 'route', 'add', '169.254.1.1/32', 'dev', 'eth0', 'scope', 'link');
  pod.run('ip', 'route', 'add', 'default', 'via', '169.254.1.1');
}
