/**
 * Images for tests, made from what the machine has: Debian's static busybox. Nothing is pulled from anywhere.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import {
  type BuiltImage,
  buildImage,
  type ImageConfig,
  type ImageEntry,
  ociArchive,
} from '../kubelet/images/oci-archive.ts';

export interface BusyboxImageOptions {
  readonly config?: ImageConfig;
  /** Put in beside busybox. */
  readonly entries?: readonly ImageEntry[];
}

const busyboxPath = '/bin/busybox';

/** An OCI archive of busybox with all its applets, named `reference`; by default it runs a shell. */
export function busyboxImageArchive(reference: string, options: BusyboxImageOptions = {}): Buffer {
  return ociArchive(reference, [busyboxImage(options)]);
}

export function busyboxImage(options: BusyboxImageOptions = {}): BuiltImage {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const config = {
    Cmd: ['sh'],
    Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
    ...options.config,
  };
  return buildImage({ architecture, entries: [...busyboxEntries(), ...(options.entries ?? [])], config });
}

function busyboxEntries(): ImageEntry[] {
  const applets = execFileSync(busyboxPath, ['--list'], { encoding: 'utf8' })
    .split('\n')
    .filter((name) => name && name !== 'busybox');
  const directories = ['bin', 'etc', 'home', 'proc', 'root', 'sys', 'usr', 'usr/bin', 'usr/sbin', 'var', 'var/log'];
  return [
    ...directories.map((path) => ({ path })),
    { path: 'tmp', mode: 0o1777 },
    { path: 'bin/busybox', mode: 0o755, content: readFileSync(busyboxPath) },
    ...applets.map((name) => ({ path: `bin/${name}`, link: 'busybox' })),
    { path: 'etc/passwd', content: 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n' },
    { path: 'etc/group', content: 'root:x:0:\nnogroup:x:65534:\n' },
  ];
}
