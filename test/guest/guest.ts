/**
 * A machine with systemd as its first process and cgroup v2, whatever the machine of the test has: Debian under QEMU's software
 * emulation. Its disk is a copy of an image that is built once from Debian's packages (`image/build.sh`) and kept in `.cache`; Coracle and
 * its Node.js come on a second, read-only disk made from the working tree. Commands reach it over connections that it opens to us.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Random } from '../../src/base/random.ts';
import { VolatileDisk } from './volatile-disk.ts';

const root = resolve(import.meta.dirname, '../..');

export interface GuestOptions {
  readonly processors?: number;
  readonly memoryMebibytes?: number;
  /** Further words for QEMU, e.g. memory nodes. */
  readonly arguments?: readonly string[];
  /** Put on the second disk below `/opt/coracle`, by file name. */
  readonly files?: Readonly<Record<string, Uint8Array | string>>;
  /** Without systemd: nothing runs but what is asked for, and it boots in a few seconds. */
  readonly isBare?: boolean;
  /** Ports of the guest by those of 127.0.0.1 here that lead to them. */
  readonly ports?: Readonly<Record<number, number>>;
  /** What its disk forgets when the plug is pulled; see `Guest.boot`. */
  readonly volatile?: Random;
}

export interface Guest {
  /** Where programs in the guest reach 127.0.0.1 of this machine. */
  readonly hostAddress: string;
  /** Runs a bash script as root; its output of both kinds. Rejects with the output when it fails. */
  run(script: string): Promise<string>;
  /** Resolves when the machine is off. */
  readonly off: Promise<void>;
  /**
   * Switches an ended machine on again, with the disk as it was left. Given chance, the disk is volatile from now on: when the plug is
   * pulled it forgets what was not flushed, or some of it. Without, all that was written is on it.
   */
  boot(volatile?: Random): Promise<void>;
  /** Pulls the plug. */
  cut(): Promise<void>;
  /** What the kernel and systemd print. */
  console(): string;
  stop(): Promise<void>;
}

/** What a guest needs of the machine. */
export const guestParts: readonly string[] = [
  'root',
  'x86-64',
  '/usr/bin/qemu-system-x86_64',
  '/usr/sbin/debootstrap',
  '/sbin/mke2fs',
  '/bin/busybox',
  '/usr/bin/cpio',
];

export async function startGuest(options: GuestOptions = {}): Promise<Guest> {
  const image = guestImage();
  const directory = mkdtempSync(join(tmpdir(), 'coracle-guest-'));
  const commands = await CommandServer.listen();
  execFileSync('cp', ['--sparse=always', '--reflink=auto', join(image, 'disk.img'), directory]);
  makeSourceDisk(directory, options.files ?? {});
  const guest = new QemuGuest(image, directory, commands, options);
  await guest.boot(options.volatile);
  return guest;
}

/** The folder of the image, built if the recipe has changed or never ran here. */
function guestImage(): string {
  const recipe = join(import.meta.dirname, 'image');
  const hash = createHash('sha256');
  for (const name of globSync('**/*', { cwd: recipe, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort())
    hash.update(`${name.slice(recipe.length)}\n`).update(readFileSync(name));
  const folder = join(root, '.cache/guest', hash.digest('hex').slice(0, 16));
  if (!existsSync(join(folder, 'disk.img'))) {
    console.log('building the image of the guest, once');
    execFileSync(join(recipe, 'build.sh'), [folder], { stdio: ['ignore', 'ignore', 'inherit'] });
  }
  return folder;
}

/** Node.js, the sources and the libraries that they need, as a file system named `coracle`. */
function makeSourceDisk(directory: string, files: Readonly<Record<string, Uint8Array | string>>): void {
  const staging = join(directory, 'coracle');
  mkdirSync(join(staging, 'bin'), { recursive: true });
  cpSync(join(root, 'node_modules/node/bin/node'), join(staging, 'bin/node'), { dereference: true });
  cpSync(join(root, 'package.json'), join(staging, 'package.json'));
  for (const name of globSync('src/**/*.{ts,json}', { cwd: root })) {
    if (/\.(test|fixture|contract)\.ts$/.test(name)) continue;
    const target = join(staging, name.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    const source = readFileSync(join(root, name), 'utf8');
    writeFileSync(target, name.endsWith('.ts') ? withoutTypes(source) : source);
  }
  for (const name of libraries())
    cpSync(join(root, 'node_modules', name), join(staging, 'node_modules', name), {
      recursive: true,
      dereference: true,
    });
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(staging, name)), { recursive: true });
    execFileSync('tee', [join(staging, name)], { input: content, stdio: ['pipe', 'ignore', 'inherit'] });
  }
  execFileSync('/sbin/mke2fs', [
    '-q',
    '-t',
    'ext4',
    '-L',
    'coracle',
    '-d',
    staging,
    '-O',
    '^has_journal',
    join(directory, 'coracle.img'),
    '600M',
  ]);
  rmSync(staging, { recursive: true });
}

/** Emulated, the guest would take longer to strip the types at each start than to run the program. */
function withoutTypes(source: string): string {
  return stripTypeScriptTypes(source).replace(/(['"])(\.{1,2}\/[^'"\n]*)\.ts\1/g, '$1$2.js$1');
}

/** What package.json depends on, and what that depends on. */
function libraries(): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (file: string) => {
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(file, 'utf8')) as {
      dependencies?: Record<string, string>;
      optionalDependencies?: Record<string, string>;
    };
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const manifest = join(root, 'node_modules', name, 'package.json');
      if (found.has(name) || !existsSync(manifest)) continue;
      found.add(name);
      visit(manifest);
    }
  };
  visit(join(root, 'package.json'));
  return found;
}

class QemuGuest implements Guest {
  readonly hostAddress = '10.0.2.2';
  readonly #image: string;
  readonly #directory: string;
  readonly #commands: CommandServer;
  readonly #options: GuestOptions;
  #process: ChildProcess | undefined;
  #disk: VolatileDisk | undefined;
  off: Promise<void> = Promise.resolve();

  constructor(image: string, directory: string, commands: CommandServer, options: GuestOptions) {
    this.#image = image;
    this.#directory = directory;
    this.#commands = commands;
    this.#options = options;
  }

  async boot(volatile?: Random): Promise<void> {
    if (volatile) this.#disk ??= new VolatileDisk(join(this.#directory, 'disk.img'), volatile);
    const child = spawn('qemu-system-x86_64', this.#words(), { stdio: ['ignore', 'ignore', 'inherit'] });
    this.#process = child;
    this.off = new Promise((done) => child.once('exit', () => done()));
    this.#commands.reset();
    const early = this.off.then(() => {
      throw new Error(`the guest ended while it started:\n${this.console()}`);
    });
    await Promise.race([this.run('true'), early]);
  }

  #words(): readonly string[] {
    const { processors = 2, memoryMebibytes = 1536, isBare = false, ports = {} } = this.#options;
    const file = (node: string, name: string, more = '') => [
      '-blockdev',
      `driver=file,node-name=${node},filename=${join(this.#directory, name)},cache.no-flush=on${more}`,
    ];
    const forwards = Object.entries(ports).map(([here, there]) => `,hostfwd=tcp:127.0.0.1:${here}-:${there}`);
    const kernel = `console=ttyS0 root=/dev/vda rw net.ifnames=0 quiet mitigations=off psi=1 guest.port=${this.#commands.port}`;
    return [
      ...['-accel', 'tcg,thread=multi', '-cpu', 'max', '-machine', 'q35'],
      ...['-nodefaults', '-no-reboot', '-display', 'none'],
      ...['-smp', String(processors), '-m', String(memoryMebibytes), ...(this.#options.arguments ?? [])],
      ...['-kernel', join(this.#image, 'vmlinuz'), '-initrd', join(this.#image, 'initrd')],
      ...['-append', `${kernel}${isBare ? ' init=/usr/local/sbin/guest-bare' : ''}`],
      ...(this.#disk?.switchOn('disk') ?? file('disk', 'disk.img')),
      ...file('coracle', 'coracle.img', ',read-only=on'),
      ...['disk', 'coracle'].flatMap((node) => ['-device', `virtio-blk-pci,drive=${node}`]),
      ...['-netdev', `user,id=net${forwards.join('')}`, '-device', 'virtio-net-pci,netdev=net'],
      ...['-serial', `file:${join(this.#directory, 'console.log')}`],
    ];
  }

  run(script: string): Promise<string> {
    return this.#commands.run(script);
  }

  async cut(): Promise<void> {
    this.#process?.kill('SIGKILL');
    await this.off;
    this.#disk?.cut();
  }

  console(): string {
    const file = join(this.#directory, 'console.log');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  async stop(): Promise<void> {
    await this.cut();
    await this.#commands.close();
    rmSync(this.#directory, { recursive: true });
  }
}

/** A line for `Guest.run` that writes a text file. */
export function write(path: string, content: string): string {
  return `cat > ${path} <<'END_OF_FILE'\n${content}\nEND_OF_FILE`;
}

const statusMark = 'guest-command-ended';

/** Hands each script to a connection that the guest has opened and that carries nothing yet. */
class CommandServer {
  readonly #server: Server;
  #idle: Socket[] = [];
  #waiting: ((socket: Socket) => void)[] = [];

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      socket.on('error', () => socket.destroy());
      const next = this.#waiting.shift();
      if (next) next(socket);
      else this.#idle.push(socket);
    });
  }

  static async listen(): Promise<CommandServer> {
    const server = createServer();
    await new Promise<void>((done, fail) => {
      server.once('error', fail);
      server.listen(0, '127.0.0.1', done);
    });
    return new CommandServer(server);
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  async run(script: string): Promise<string> {
    const socket = await this.#take();
    socket.write(`( set -e\n${script}\n) </dev/null\nprintf '\\n${statusMark} %d\\n' $?\nexit\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const end = text.lastIndexOf(`\n${statusMark} `);
    const output = end < 0 ? text : text.slice(0, end);
    const status = end < 0 ? 'connection lost' : text.slice(end + statusMark.length + 2).trim();
    if (status !== '0') throw new Error(`in the guest: ${status}\n${script}\n${output}`);
    return output;
  }

  async #take(): Promise<Socket> {
    let socket = this.#idle.shift();
    while (socket?.destroyed || socket?.readableEnded) socket = this.#idle.shift();
    return socket ?? new Promise((take) => this.#waiting.push(take));
  }

  /** The machine behind the connections is gone. */
  reset(): void {
    for (const socket of this.#idle) socket.destroy();
    this.#idle = [];
  }

  async close(): Promise<void> {
    this.reset();
    await promisify((done: () => void) => this.#server.close(done))();
  }
}
