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
import { createHttpTransport, type HttpTransport } from '../../src/client/http-transport.ts';
import { type Client, createClient } from '../../src/client/index.ts';
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

export interface RunningProcess {
  /** Resolves when it serves; rejects when it ends before. */
  start(): Promise<void>;
  /** Sends a signal; resolves, for SIGTERM and SIGKILL, when the process has gone. */
  signal(signal: NodeJS.Signals): Promise<void>;
  /** What it has written since it began. */
  output(): string;
}

export interface ServerProcess extends RunningProcess {
  readonly hostname: string;
  /** `--advertise-address` */
  readonly address: string;
  readonly port: number;
  /** As the administrator. */
  readonly client: Client;
}

export interface Servers {
  readonly all: readonly ServerProcess[];
  /** By way of the balancer, on a connection of its own. */
  connect(): { readonly client: Client; close(): Promise<void> };
  /** Of the balancer. */
  readonly url: string;
  readonly folder: string;
  stop(): Promise<void>;
}

const root = resolve(import.meta.dirname, '../..');

export async function startServers({ count, endpoints, flags = [] }: ServersOptions): Promise<Servers> {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-servers-'));
  const { authority, admin } = writeKeys(folder, ['127.0.0.1']);
  const transports: HttpTransport[] = [];
  const clientOf = (port: number) => {
    const tls = { ca: authority.certificatePem, cert: admin.certificatePem, key: admin.keyPem };
    const transport = createHttpTransport({ server: `https://127.0.0.1:${port}`, clock: systemClock, tls });
    transports.push(transport);
    return { client: createClient(transport), close: () => transport.close() };
  };
  const ports = await freePorts(count);
  const all = ports.map((port, i) => {
    const hostname = `server-${i}`;
    const address = `10.0.0.${i + 1}`;
    const own = ['--bind-address=127.0.0.1', `--advertise-address=${address}`, `--etcd-servers=${endpoints.join(',')}`];
    const running = apiServerProcess({ hostname, port, words: [...own, ...flags], folder });
    return { hostname, address, port, client: clientOf(port).client, ...running };
  });
  const balancer = await startBalancer(ports);
  const { port } = balancer.address() as AddressInfo;
  const stop = async () => {
    await Promise.all(transports.map((transport) => transport.close()));
    await Promise.all(all.map((server) => server.signal('SIGKILL')));
    balancer.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    // As on the day of the installation: all at once.
    await Promise.all(all.map((server) => server.start()));
  } catch (error) {
    await stop();
    throw error;
  }
  return { all, connect: () => clientOf(port), url: `https://127.0.0.1:${port}`, folder, stop };
}

export interface Keys {
  readonly authority: CertificateAuthority;
  readonly admin: { readonly certificatePem: string; readonly keyPem: string };
}

/** Writes what `apiServerProcess` reads. `addresses`: where the servers are reached. */
export function writeKeys(folder: string, addresses: readonly string[]): Keys {
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
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  return { authority, admin };
}

function commonFlags(folder: string): readonly string[] {
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

export interface ApiServerProcessOptions {
  readonly hostname: string;
  readonly port: number;
  /** Its flags besides those about keys. */
  readonly words: readonly string[];
  /** Of the keys. */
  readonly folder: string;
  /** What it is started by, e.g. `nsenter`; default nothing. */
  readonly within?: readonly string[];
  /** Of Node.js. */
  readonly nodeFlags?: readonly string[];
}

export function apiServerProcess(options: ApiServerProcessOptions): RunningProcess {
  const { hostname, port, words, folder, within = [], nodeFlags = [] } = options;
  let running: ChildProcess | undefined;
  let output = '';
  const own = [`--secure-port=${port}`, `--cert-dir=${join(folder, hostname)}`];
  const main = [...nodeFlags, join(root, 'src/cli/main.ts'), 'kube-apiserver', ...commonFlags(folder)];
  const script = `hostname ${hostname} && exec "$@"`;
  const shell = ['unshare', '--uts', 'sh', '-c', script, 'sh'];
  const [program, ...rest] = [...within, ...shell, process.execPath, ...main, ...words, ...own];
  return {
    async start() {
      output = '';
      const child = spawn(program!, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
      running = child;
      await new Promise<void>((serving, reject) => {
        child.on('error', reject);
        child.on('exit', (code) => reject(new Error(`${hostname} ended with ${code}:\n${output.slice(-3000)}`)));
        for (const stream of [child.stdout, child.stderr]) {
          stream.setEncoding('utf8');
          stream.on('data', (chunk: string) => {
            output += chunk;
            if (output.includes('"serving"')) serving();
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
