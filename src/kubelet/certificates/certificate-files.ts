/**
 * A certificate and its key on disk, one file for both, as upstream's kubelet keeps them: `NAME-2026-01-31-08-15-00.pem`, and
 * `NAME-current.pem`, a link to the newest. A new pair is complete and synced before the link is moved, and the link is moved by a rename, so
 * that a crash leaves the old pair or the new one.
 */
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { type Certificate, parseCertificates } from '../../pki/certificate.ts';
import { parsePrivateKey, publicKeyBytes } from '../../pki/keys.ts';
import { encodePem } from '../../pki/pem.ts';

export interface KeyPair {
  /** The chain, leaf first. */
  readonly certificatePem: string;
  readonly keyPem: string;
  readonly leaf: Certificate;
}

export interface CertificateFilesOptions {
  /** `--cert-dir`. */
  readonly folder: string;
  /** `kubelet-client`, `kubelet-server`. */
  readonly name: string;
}

export class CertificateFiles {
  readonly #folder: string;
  readonly #name: string;

  /** Finishes a change that was interrupted between its two last steps. */
  constructor({ folder, name }: CertificateFilesOptions) {
    this.#folder = resolve(folder);
    this.#name = name;
    if (!exists(this.currentPath) && isLink(this.#path('updated'))) renameSync(this.#path('updated'), this.currentPath);
  }

  get currentPath(): string {
    return this.#path('current');
  }

  /** Undefined: there is none yet. Throws when what lies there is no pair. */
  current(): KeyPair | undefined {
    return exists(this.currentPath) ? readPair(this.currentPath) : undefined;
  }

  /** Makes the pair the current one and returns it as it was read back. */
  update({ certificatePem, keyPem }: Omit<KeyPair, 'leaf'>, nowMs: number): KeyPair {
    mkdirSync(this.#folder, { recursive: true, mode: 0o755 });
    const path = this.#path(new Date(nowMs).toISOString().slice(0, 19).replace(/[T:]/g, '-'));
    const certificates = parseCertificates(certificatePem).map(({ bytes }) => encodePem('CERTIFICATE', bytes));
    writeSynced(path, certificates.join('') + keyPem);
    const pair = readPair(path);
    for (const link of [this.currentPath, this.#path('updated')])
      if (exists(link) && !isLink(link)) throw new Error(`expected "${link}" to be a symlink but it is a file`);
    rmSync(this.#path('updated'), { force: true });
    symlinkSync(path, this.#path('updated'));
    renameSync(this.#path('updated'), this.currentPath);
    return pair;
  }

  #path(qualifier: string): string {
    return join(this.#folder, `${this.#name}-${qualifier}.pem`);
  }
}

/** Throws an `Error` that names the file. */
function readPair(path: string): KeyPair {
  const text = readFileSync(path, 'utf8');
  try {
    return pairOf(text, text);
  } catch (error) {
    throw new Error(`could not convert data from "${path}" into cert/key pair: ${(error as Error).message}`);
  }
}

/** Throws when the two do not belong together. */
export function pairOf(certificatePem: string, keyPem: string): KeyPair {
  const [leaf] = parseCertificates(certificatePem);
  if (!leaf) throw new Error('tls: failed to find any PEM data in certificate input');
  const key = parsePrivateKey(keyPem);
  if (!publicKeyBytes(key).equals(publicKeyBytes(leaf.publicKey)))
    throw new Error('tls: private key does not match public key');
  return { certificatePem, keyPem, leaf };
}

function writeSynced(path: string, text: string): void {
  const file = openSync(path, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
