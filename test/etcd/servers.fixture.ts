/**
 * Several `kube-apiserver` processes over one etcd, each with a hostname of its own, and a balancer before them: what is told one of them
 * is told the cluster. They share keys and authorities by files, as a real cluster's do.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { createHttpTransport, type HttpTransport, type TlsOptions } from '../../src/client/http-transport.ts';
import { type Client, createClient } from '../../src/client/index.ts';
import { certificateUser, formatKubeconfig, kubeconfigOf } from '../../src/client/kubeconfig.ts';
import { type CertificateAuthority, createCertificateAuthority, issueCertificate } from '../../src/pki/authority.ts';
import { encodePrivateKey, encodePublicKey, systemKeys } from '../../src/pki/keys.ts';
import { freePorts } from '../../src/storage/etcd/process.fixture.ts';

export interface ServersOptions {
  readonly count: number;
  /** Of etcd. */
  readonly endpoints: readonly string[];
  /** Further flags of each server. */
  readonly flags?: readonly string[];
}

export interface HostProcess {
  readonly hostname: string;
  start(): Promise<void>;
  /** Sends a signal; resolves, for SIGTERM and SIGKILL, when the process has gone. */
  signal(signal: NodeJS.Signals): Promise<void>;
  /** Its status, when it has gone by itself; null when by a signal. */
  ended(): Promise<number | null>;
  /** What it has written since it began. */
  output(): string;
}

export interface ServerProcess extends HostProcess {
  /** `--advertise-address` */
  readonly address: string;
  readonly port: number;
  /** As the administrator. */
  readonly client: Client;
}

export interface Servers {
  readonly all: readonly ServerProcess[];
  /** Whom to trust and what to show as the administrator. */
  readonly tls: TlsOptions;
  /** By way of the balancer, on a connection of its own. */
  connect(): { readonly client: Client; close(): Promise<void> };
  /** Another component, started on a host of this name, as the administrator and by way of the balancer. */
  component(name: string, hostname: string, flags?: readonly string[]): Promise<HostProcess>;
  stop(): Promise<void>;
}

const root = resolve(import.meta.dirname, '../..');

export async function startServers({ count, endpoints, flags = [] }: ServersOptions): Promise<Servers> {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-servers-'));
  const { authority, admin } = writeKeys(folder, ['127.0.0.1']);
  const transports: HttpTransport[] = [];
  const tls = { ca: authority.certificatePem, cert: admin.certificatePem, key: admin.keyPem };
  const clientOf = (port: number) => {
    const transport = createHttpTransport({ server: `https://127.0.0.1:${port}`, clock: systemClock, tls });
    transports.push(transport);
    return { client: createClient(transport), close: () => transport.close() };
  };
  const ports = await freePorts(count);
  const common = [
    '--bind-address=127.0.0.1',
    ...commonFlags(folder),
    `--etcd-servers=${endpoints.join(',')}`,
    ...flags,
  ];
  const all = ports.map((port, i): ServerProcess => {
    const hostname = `server-${i}`;
    const address = `10.0.0.${i + 1}`;
    const own = [`--secure-port=${port}`, `--advertise-address=${address}`, `--cert-dir=${join(folder, hostname)}`];
    const words = ['kube-apiserver', ...common, ...own];
    return { ...hostProcess({ hostname, words, started: '"serving"' }), address, port, client: clientOf(port).client };
  });
  const balancer = await startBalancer(ports);
  const { port } = balancer.address() as AddressInfo;
  const components: HostProcess[] = [];
  const kubeconfig = join(folder, 'kubeconfig');
  const user = certificateUser(admin.certificatePem, admin.keyPem);
  const server = `https://127.0.0.1:${port}`;
  const config = kubeconfigOf({ name: 'test', server, caPem: authority.certificatePem, user });
  writeFileSync(kubeconfig, formatKubeconfig(config), { mode: 0o600 });
  const component: Servers['component'] = async (name, hostname, more = []) => {
    const words = [name, `--kubeconfig=${kubeconfig}`, '--secure-port=0', ...more];
    const started = hostProcess({ hostname, words, started: `${name} starts` });
    components.push(started);
    await started.start();
    return started;
  };
  const stop = async () => {
    await Promise.all(transports.map((transport) => transport.close()));
    await Promise.all([...components, ...all].map((each) => each.signal('SIGKILL')));
    balancer.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    // As on the day of the installation: all at once.
    await Promise.all(all.map((each) => each.start()));
  } catch (error) {
    await stop();
    throw error;
  }
  return { all, tls, connect: () => clientOf(port), component, stop };
}

export interface Keys {
  readonly authority: CertificateAuthority;
  readonly admin: { readonly certificatePem: string; readonly keyPem: string };
}

/** Writes what `commonFlags` name. `addresses`: where the servers are reached. */
export function writeKeys(folder: string, addresses: readonly string[]): Keys {
  const keys = makeKeys(addresses);
  for (const [name, text] of Object.entries(keys.files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  return keys;
}

/** With the files that `commonFlags` name, by their names in the folder. */
export function makeKeys(addresses: readonly string[]): Keys & { readonly files: Readonly<Record<string, string>> } {
  const sources = { clock: systemClock, random: systemRandom, keys: systemKeys };
  const authority = createCertificateAuthority({ commonName: 'test-ca' }, sources);
  const serving = issueCertificate(authority, {
    commonName: 'kube-apiserver',
    usages: ['server auth'],
    dnsNames: ['localhost', 'kubernetes.default.svc'],
    ipAddresses: addresses,
  });
  const admin = issueCertificate(authority, {
    commonName: 'admin',
    organizations: ['system:masters'],
    usages: ['client auth'],
  });
  const accounts = systemKeys.generate();
  const files = {
    'ca.crt': authority.certificatePem,
    'tls.crt': serving.certificatePem,
    'tls.key': serving.keyPem,
    'admin.crt': admin.certificatePem,
    'admin.key': admin.keyPem,
    'sa.key': encodePrivateKey(accounts),
    'sa.pub': encodePublicKey(accounts),
  };
  return { authority, admin, files };
}

/** Of `kube-apiserver`: whom it trusts and as whom it serves. */
export function commonFlags(folder: string): readonly string[] {
  return [
    `--client-ca-file=${join(folder, 'ca.crt')}`,
    `--tls-cert-file=${join(folder, 'tls.crt')}`,
    `--tls-private-key-file=${join(folder, 'tls.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(folder, 'sa.pub')}`,
    `--service-account-signing-key-file=${join(folder, 'sa.key')}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=Node,RBAC',
  ];
}

export interface HostProcessOptions {
  readonly hostname: string;
  readonly words: readonly string[];
  /** It has started when it has written this. */
  readonly started: string;
  /** What it is started by, e.g. `nsenter`; default nothing. */
  readonly within?: readonly string[];
  /** Of Node.js. */
  readonly nodeFlags?: readonly string[];
}

/** A component of `coracle` on a host of its own, as far as the host's name goes. */
export function hostProcess(options: HostProcessOptions): HostProcess {
  const { hostname, words, started, within = [], nodeFlags = [] } = options;
  let running: ChildProcess | undefined;
  let output = '';
  const script = `hostname ${hostname} && exec "$@"`;
  const shell = ['unshare', '--uts', 'sh', '-c', script, 'sh'];
  const main = [process.execPath, ...nodeFlags, join(root, 'src/cli/main.ts')];
  const [program, ...rest] = [...within, ...shell, ...main, ...words];
  return {
    hostname,
    async start() {
      output = '';
      const child = spawn(program!, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
      running = child;
      await new Promise<void>((resolve, reject) => {
        child.on('error', reject);
        child.on('exit', (code) => reject(new Error(`${hostname} ended with ${code}:\n${output.slice(-3000)}`)));
        for (const stream of [child.stdout, child.stderr]) {
          stream.setEncoding('utf8');
          stream.on('data', (chunk: string) => {
            output += chunk;
            if (output.includes(started)) resolve();
          });
        }
      });
      child.removeAllListeners('exit');
    },
    async signal(signal) {
      const child = running;
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      if (signal === 'SIGTERM' || signal === 'SIGKILL') await once(child, 'exit');
    },
    async ended() {
      const child = running!;
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      return child.exitCode;
    },
    output: () => output,
  };
}

/** Each connection goes to the next server that takes it. */
async function startBalancer(ports: readonly number[]): Promise<Server> {
  let next = 0;
  const join = (client: Socket, tries: number) => {
    const server = dial(ports[next++ % ports.length]!, '127.0.0.1');
    server.once('connect', () => {
      client.pipe(server).pipe(client);
      client.once('close', () => server.destroy());
      server.once('close', (broken) => broken && client.destroy());
    });
    server.on('error', () => {
      if (server.connecting || tries === 0) client.destroy();
      else join(client, tries - 1);
    });
  };
  const balancer = createServer((client) => {
    client.on('error', () => client.destroy());
    join(client, ports.length - 1);
  });
  balancer.listen(0, '127.0.0.1');
  await once(balancer, 'listening');
  return balancer;
}
