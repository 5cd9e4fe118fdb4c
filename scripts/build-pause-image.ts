/**
 * Assembles the program that keeps a Pod's namespaces alive, for x86-64 and arm64, and writes it to
 * `src/kubelet/images/gen/pause-binary.ts`. A static ELF file of a few hundred bytes without a library, that does
 *
 *     block SIGINT, SIGTERM and SIGCHLD
 *     for ever: wait for one of them; SIGCHLD: reap every child that has ended; another: exit(0)
 *
 * Blocked signals reach even process 1 of a namespace, which the kernel otherwise shields from signals it has no handler for.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const baseAddress = 0x400000;
const headerBytes = 64 + 56;
const SIGINT = 2;
const SIGTERM = 15;
const SIGCHLD = 17;
const signalSet = [SIGINT, SIGTERM, SIGCHLD].reduce((set, signal) => set | (1n << BigInt(signal - 1)), 0n);

/** Code with labels: `at` marks one, `jump` leaves a place that is filled in when all labels are known. */
class Assembler {
  readonly #bytes: number[] = [];
  readonly #labels = new Map<string, number>();
  readonly #fixes: (() => void)[] = [];

  get offset(): number {
    return this.#bytes.length;
  }

  emit(...bytes: number[]): this {
    this.#bytes.push(...bytes);
    return this;
  }

  word(value: number): this {
    return this.emit(value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, (value >>> 24) & 0xff);
  }

  at(label: string): this {
    this.#labels.set(label, this.offset);
    return this;
  }

  /** `encode` makes the bytes from the label's offset and the offset of the place itself. */
  later(length: number, label: string, encode: (target: number, here: number) => readonly number[]): this {
    const here = this.offset;
    this.emit(...new Array<number>(length).fill(0));
    this.#fixes.push(() => {
      const target = this.#labels.get(label);
      if (target === undefined) throw new Error(`no label ${label}`);
      for (const [i, byte] of encode(target, here).entries()) this.#bytes[here + i] = byte;
    });
    return this;
  }

  finish(): Buffer {
    for (const fix of this.#fixes) fix();
    return Buffer.from(this.#bytes);
  }
}

const little = (value: number) => [value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, (value >>> 24) & 0xff];

function signalSetBytes(): number[] {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(signalSet);
  return [...bytes];
}

function assembleX64(): Buffer {
  const code = new Assembler();
  const setAddress = (opcode: number) =>
    code.later(5, 'set', (target) => [opcode, ...little(baseAddress + headerBytes + target)]);
  const short = (opcode: number, label: string) =>
    code.later(2, label, (target, here) => [opcode, (target - here - 2) & 0xff]);
  const syscall = () => code.emit(0x0f, 0x05);

  code.emit(0xb8, 14, 0, 0, 0).emit(0x31, 0xff); // eax = rt_sigprocmask, edi = SIG_BLOCK
  setAddress(0xbe); // esi = set
  code.emit(0x31, 0xd2).emit(0x41, 0xba, 8, 0, 0, 0); // edx = 0, r10d = 8
  syscall();
  code.at('wait').emit(0xb8, 128, 0, 0, 0); // eax = rt_sigtimedwait
  setAddress(0xbf); // edi = set
  code.emit(0x31, 0xf6).emit(0x31, 0xd2).emit(0x41, 0xba, 8, 0, 0, 0); // no info, no limit
  syscall();
  code.emit(0x83, 0xf8, SIGCHLD); // cmp eax, SIGCHLD
  short(0x74, 'reap'); // je
  code.emit(0x85, 0xc0); // test eax, eax
  short(0x78, 'wait'); // js: interrupted
  code.emit(0xb8, 60, 0, 0, 0).emit(0x31, 0xff); // exit(0)
  syscall();
  code.at('reap').emit(0xb8, 61, 0, 0, 0).emit(0x83, 0xcf, 0xff); // eax = wait4, edi = -1
  code.emit(0x31, 0xf6).emit(0xba, 1, 0, 0, 0).emit(0x45, 0x31, 0xd2); // no status, WNOHANG, no usage
  syscall();
  code.emit(0x85, 0xc0);
  short(0x7f, 'reap'); // jg: one was reaped, look for more
  short(0xeb, 'wait');
  while ((headerBytes + code.offset) % 8 !== 0) code.emit(0x90);
  return code
    .at('set')
    .emit(...signalSetBytes())
    .finish();
}

function assembleArm64(): Buffer {
  const code = new Assembler();
  const move = (register: number, value: number) => code.word(0xd2800000 | (value << 5) | register);
  const setAddress = (register: number) =>
    code.later(4, 'set', (target, here) => {
      const distance = target - here;
      return little((0x10000000 | ((distance & 3) << 29) | (((distance >> 2) & 0x7ffff) << 5) | register) >>> 0);
    });
  const compare = (value: number) => code.word(0x7100001f | (value << 10)); // cmp w0, #value
  const branchIf = (condition: number, label: string) =>
    code.later(4, label, (target, here) =>
      little((0x54000000 | ((((target - here) >> 2) & 0x7ffff) << 5) | condition) >>> 0),
    );
  const branch = (label: string) =>
    code.later(4, label, (target, here) => little((0x14000000 | (((target - here) >> 2) & 0x3ffffff)) >>> 0));
  const systemCall = (number: number) => move(8, number).word(0xd4000001);

  move(0, 0);
  setAddress(1);
  move(2, 0);
  move(3, 8);
  systemCall(135); // rt_sigprocmask
  code.at('wait');
  setAddress(0);
  move(1, 0);
  move(2, 0);
  move(3, 8);
  systemCall(137); // rt_sigtimedwait
  compare(SIGCHLD);
  branchIf(0, 'reap'); // eq
  compare(0);
  branchIf(11, 'wait'); // lt: interrupted
  move(0, 0);
  systemCall(93); // exit
  code.at('reap').word(0x92800000); // x0 = -1
  move(1, 0);
  move(2, 1);
  move(3, 0);
  systemCall(260); // wait4
  compare(0);
  branchIf(12, 'reap'); // gt
  branch('wait');
  while ((headerBytes + code.offset) % 8 !== 0) code.word(0xd503201f);
  return code
    .at('set')
    .emit(...signalSetBytes())
    .finish();
}

/** One loadable segment holds headers and code; the entry point follows the headers. */
function elf(machine: number, code: Buffer): Buffer {
  const file = Buffer.alloc(headerBytes + code.length);
  file.write('\x7fELF', 0, 'latin1');
  file.set([2, 1, 1], 4); // 64 bits, little endian, version 1
  file.writeUInt16LE(2, 16); // executable
  file.writeUInt16LE(machine, 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(BigInt(baseAddress + headerBytes), 24); // entry
  file.writeBigUInt64LE(64n, 32); // program headers
  file.writeUInt16LE(64, 52);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(1, 56);
  file.writeUInt32LE(1, 64); // PT_LOAD
  file.writeUInt32LE(5, 68); // read and execute
  file.writeBigUInt64LE(BigInt(baseAddress), 80);
  file.writeBigUInt64LE(BigInt(baseAddress), 88);
  file.writeBigUInt64LE(BigInt(file.length), 96);
  file.writeBigUInt64LE(BigInt(file.length), 104);
  file.writeBigUInt64LE(0x10000n, 112); // alignment: the largest page of arm64
  code.copy(file, headerBytes);
  return file;
}

const directory = fileURLToPath(new URL('../src/kubelet/images/gen/', import.meta.url));
mkdirSync(directory, { recursive: true });
const binaries = { amd64: elf(62, assembleX64()), arm64: elf(183, assembleArm64()) };
writeFileSync(
  `${directory}pause-binary.ts`,
  [
    '/** The pause program as ELF files in base64. Made by scripts/build-pause-image.ts: change the script, not this file. */',
    'export const pauseBinaries = {',
    ...Object.entries(binaries).map(([name, bytes]) => `  ${name}: '${bytes.toString('base64')}',`),
    '} as const;',
    '',
  ].join('\n'),
);
