/**
 * The Linux kernel through the programs `nft` and `conntrack`. Commands go through a file: nft cannot read a transaction from a pipe of
 * Node.js.
 */
import { execFile } from 'node:child_process';
import { mkdir, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Kernel } from './proxy.ts';

export interface NftKernelOptions {
  /** Folder for the transaction files. */
  readonly folder: string;
  readonly nft: string;
  /** Absent: flows are left to time out. */
  readonly conntrack?: string | undefined;
}

export function nftKernel(options: NftKernelOptions): Kernel {
  let serial = 0;
  return {
    async apply(commands) {
      await mkdir(options.folder, { recursive: true });
      const file = join(options.folder, `transaction-${process.pid}-${serial++}.json`);
      await writeFile(file, JSON.stringify({ nftables: commands }));
      try {
        await run(options.nft, ['-j', '-f', file]);
      } finally {
        await unlink(file).catch(() => {});
      }
    },
    async countRules({ family, table, name }) {
      try {
        const listed = await run(options.nft, ['-j', 'list', 'chain', family, table, name]);
        const { nftables } = JSON.parse(listed) as { readonly nftables: readonly object[] };
        return nftables.filter((entry) => 'rule' in entry).length;
      } catch (error) {
        if (/No such file or directory/.test(String(error))) return 0;
        throw error;
      }
    },
    async forgetFlows({ family, protocol, destination, replySource, port }) {
      if (!options.conntrack) return;
      const words = ['-D', '-f', family === 'ip' ? 'ipv4' : 'ipv6', '-p', protocol];
      if (destination) words.push('--orig-dst', destination, '--orig-port-dst', String(port));
      if (replySource) words.push('--dst-nat', replySource);
      // Exit status 1 says that there was nothing to delete.
      await run(options.conntrack, words).catch(() => {});
    },
  };
}

function run(program: string, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, [...words], { maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${program}: ${stderr.trim() || error.message}`));
      else resolve(stdout);
    });
  });
}
