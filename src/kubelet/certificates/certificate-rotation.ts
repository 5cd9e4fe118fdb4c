/**
 * Keeps one of the kubelet's certificates fresh: asks for the first one, and for the next when between 70 and 90 percent of a certificate's
 * life have passed, or when it no longer says what it should, since the node got another address. The one at hand is used until the next has
 * come, and each has a key of its own.
 */
import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { encodePrivateKey, type KeySource } from '../../pki/keys.ts';
import type { CertificateFiles, KeyPair } from './certificate-files.ts';
import { type CertificateTemplate, requestCertificate, type SigningRequest } from './signing-request.ts';

export const kubeletSigners = {
  client: 'kubernetes.io/kube-apiserver-client-kubelet',
  serving: 'kubernetes.io/kubelet-serving',
} as const;

export interface CertificateRotationOptions extends Pick<SigningRequest, 'signerName' | 'use'> {
  readonly client: Client;
  readonly files: CertificateFiles;
  /** What is wanted; a function: what is wanted now, undefined while that is not known yet. */
  readonly template: CertificateTemplate | (() => CertificateTemplate | undefined);
  /** Called with each new pair, once it is on disk. */
  readonly onRotated: (pair: KeyPair) => void;
  readonly keys: KeySource;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** How long a request may wait to be approved and signed before another one is made. */
const issueTimeoutMs = 15 * 60_000;
const firstRetryMs = 2_000;
const lastRetryMs = 32_000;
/** How often a template that may change is looked at. */
const templateLookMs = 10_000;
/** The same, while there is nothing to ask for yet. */
const firstLookMs = 1_000;

export class CertificateRotation {
  readonly #options: CertificateRotationOptions;
  #pair: KeyPair | undefined;
  #dueMs = 0;
  #failures = 0;

  /** Throws when the files hold something that is no pair. */
  constructor(options: CertificateRotationOptions) {
    this.#options = options;
    this.#take(options.files.current());
  }

  /** Undefined before the first one, and when it has expired. */
  get current(): KeyPair | undefined {
    const pair = this.#pair;
    return pair && pair.leaf.notAfterMs >= this.#options.clock.now() ? pair : undefined;
  }

  /** How many requests came to nothing. */
  get failures(): number {
    return this.#failures;
  }

  /** Seconds until the certificate ends, less than 0 when it has; infinite without one. */
  get ttlSeconds(): number {
    const { clock } = this.#options;
    return this.#pair ? Math.trunc((this.#pair.leaf.notAfterMs - clock.now()) / 1000) : Number.POSITIVE_INFINITY;
  }

  /** The pair at hand is replaced as soon as possible, whatever its age. */
  renewNow(): void {
    this.#dueMs = 0;
  }

  /** Resolves when the signal is aborted. */
  async run(): Promise<void> {
    const { clock, signal } = this.#options;
    let retryMs = firstRetryMs;
    while (!signal.aborted) {
      const { template } = this.#options;
      const [wanted, longestMs] =
        typeof template === 'function' ? [template(), templateLookMs] : [template, Number.POSITIVE_INFINITY];
      const waitMs = this.#satisfies(wanted) ? this.#dueMs - clock.now() : 0;
      if (!wanted || waitMs > 0) {
        await this.#rest(wanted ? Math.min(waitMs, longestMs) : firstLookMs);
        continue;
      }
      if (await this.#rotate(wanted)) {
        retryMs = firstRetryMs;
        continue;
      }
      await this.#rest(retryMs * (1 + this.#options.random.next() / 10));
      retryMs = Math.min(retryMs * 2, lastRetryMs);
    }
  }

  #rest(delayMs: number): Promise<void> {
    return sleep(this.#options.clock, delayMs, this.#options.signal).catch(() => {});
  }

  #take(pair: KeyPair | undefined): void {
    this.#pair = pair;
    if (!pair) return;
    const { notBeforeMs, notAfterMs } = pair.leaf;
    this.#dueMs = notBeforeMs + (notAfterMs - notBeforeMs) * (0.7 + 0.2 * this.#options.random.next());
  }

  /** Names beyond those that are wanted do no harm. */
  #satisfies(template: CertificateTemplate | undefined): boolean {
    const leaf = this.current?.leaf;
    if (!leaf || !template) return false;
    const covers = (wanted: readonly string[] | undefined, has: readonly string[]) =>
      (wanted ?? []).every((name) => has.includes(name));
    return (
      leaf.subject.commonName === template.commonName &&
      covers(template.organizations, leaf.subject.organizations) &&
      covers(template.dnsNames, leaf.dnsNames) &&
      covers(template.ipAddresses, leaf.ipAddresses)
    );
  }

  async #rotate(template: CertificateTemplate): Promise<boolean> {
    const { client, files, keys, clock, log, signal, signerName, use, onRotated } = this.#options;
    const key = keys.generate();
    const tooLate = new AbortController();
    const timer = clock.after(issueTimeoutMs, () => tooLate.abort(new Error('timed out waiting for the condition')));
    try {
      const waiting = AbortSignal.any([signal, tooLate.signal]);
      const certificatePem = await requestCertificate(client, { template, key, signerName, use }, waiting);
      const pair = files.update({ certificatePem, keyPem: encodePrivateKey(key) }, clock.now());
      this.#take(pair);
      onRotated(pair);
      log.info('a new certificate is in use', { signerName, until: new Date(pair.leaf.notAfterMs).toISOString() });
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      this.#failures++;
      log.warn('no new certificate; trying again', { signerName, error: messageOf(error) });
      return false;
    } finally {
      timer.cancel();
    }
  }
}
