/** A machine of a test, with what a user would type on it: programs in its network namespace, `coracle` on a data directory, `kubectl`. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestHost } from '../../src/testing/network.ts';
import { busyboxImageArchive } from '../../src/testing/oci-image.ts';

export const root = resolve(import.meta.dirname, '../..');

export interface ClusterMachineOptions {
  /** Data directory of `coracle` on this machine. */
  readonly data: string;
  /** Home, and place of files that go with the test. */
  readonly folder: string;
  /** Default: that of the data directory. */
  readonly kubeconfig?: string;
}

const timeoutMs = 180_000;

export class ClusterMachine {
  readonly host: TestHost;
  readonly #options: ClusterMachineOptions;

  constructor(host: TestHost, options: ClusterMachineOptions) {
    this.host = host;
    this.#options = options;
  }

  /** What the program prints, trimmed; throws when it fails. */
  run(program: string, ...words: string[]): string {
    const { folder, data, kubeconfig = join(data, 'kubeconfig') } = this.#options;
    return execFileSync('nsenter', [`--net=/run/netns/${this.host.namespace}`, program, ...words], {
      encoding: 'utf8',
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      env: { ...process.env, KUBECONFIG: kubeconfig, HOME: folder },
    }).trim();
  }

  coracle(...words: string[]): string {
    return this.run('./coracle', ...words, '--data-dir', this.#options.data);
  }

  kubectl(...words: string[]): string {
    return this.run('kubectl', ...words);
  }

  /** What `coracle` complains of; it must fail. */
  refusal(...words: string[]): string {
    try {
      this.coracle(...words);
    } catch (error) {
      return String((error as { readonly stderr?: string }).stderr);
    }
    throw new assert.AssertionError({ message: `coracle ${words.join(' ')} was not refused` });
  }

  /** Brings `busybox:1.36` into the runtimes of this machine. */
  loadBusybox(): void {
    const archive = join(this.#options.folder, 'busybox.tar');
    writeFileSync(archive, busyboxImageArchive('docker.io/library/busybox:1.36'));
    this.coracle('image', 'load', archive);
  }

  /** `True`, `False` or `Unknown`. */
  readiness(nodeName: string): string {
    return this.kubectl('get', 'node', nodeName, '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}');
  }
}
