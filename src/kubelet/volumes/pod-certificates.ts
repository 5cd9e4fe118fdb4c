/**
 * Certificates for Pods: for each `podCertificate` source a key is made on the node and a PodCertificateRequest written, which a signer of
 * the cluster answers. A certificate that was issued is used until another one is; one that was refused stays so for the Pod's life.
 *
 *     (asked) --issued--> fresh --(time to renew)--> fresh, asked again --issued--> fresh
 *        `--denied, failed--> over                            `--denied, failed--> over
 *
 * Nothing is kept over a restart of the kubelet: then all is asked for anew.
 */
import { type PodCertificateRequest, podCertificateRequests } from '../../api/gen/certificates-v1beta1.ts';
import { type Node, type Pod, type PodCertificateProjection, serviceAccounts } from '../../api/gen/core-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { parseTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { createCertificateRequest } from '../../pki/certificate-request.ts';
import { encodePrivateKey, generateKeyOf } from '../../pki/keys.ts';
import { decodePem, encodePem } from '../../pki/pem.ts';
import type { Informer, InformerSet } from '../../reconcile/informer.ts';

export interface PodCertificatesOptions {
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly nodeName: string;
  /** Gate PodCertificateRequest. */
  readonly enabled: boolean;
  /** Undefined as long as it is not registered. */
  node(): Node | undefined;
  event(pod: Pod, reason: string, message: string): void;
  /** Something was answered that the Pod asked for. */
  onChange(podUid: string): void;
}

/** Which source of which volume. */
export interface CertificateSource {
  readonly volume: string;
  readonly index: number;
  readonly projection: PodCertificateProjection;
}

export interface PodCertificate {
  /** PEM. */
  readonly key: string;
  readonly chain: string;
  /** When to come back for a newer one. */
  readonly renewAtMs: number;
}

interface Issued {
  readonly key: string;
  readonly chain: string;
  readonly beginRefreshAtMs: number;
  readonly notAfterMs: number;
  readonly told: Set<string>;
}

interface Asked {
  readonly name: string;
  readonly key: string;
  /** A request that cannot be seen by then was deleted. */
  readonly abandonAtMs: number;
}

interface Entry {
  readonly signerName: string;
  readonly issued?: Issued | undefined;
  readonly asked?: Asked | undefined;
  /** There will never be one. */
  readonly refused?: { readonly state: 'denied' | 'failed'; readonly message: string } | undefined;
}

/** Those who want the same certificate, one after the other. */
interface Line {
  last: Promise<unknown>;
}

interface Step {
  readonly projection: PodCertificateProjection;
  isReleased(): boolean;
}

type State = 'not_yet_issued' | 'fresh' | 'overdue_for_refresh' | 'expired' | 'denied' | 'failed';

const minuteMs = 60_000;
const assumeDeletedMs = 10 * minuteMs;
const overdueMs = 10 * minuteMs;
const jitterMs = 5 * minuteMs;

export class PodCertificates {
  readonly #options: PodCertificatesOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #lines = new Map<string, Line>();
  #requests: Promise<Informer<PodCertificateRequest>> | undefined;

  constructor(options: PodCertificatesOptions) {
    this.#options = options;
  }

  /** Throws in upstream's words as long as there is none, and for ever when it was refused. */
  async certificate(pod: Pod, source: CertificateSource): Promise<PodCertificate> {
    if (!this.#options.enabled) throw new Error('unimplemented');
    const key = `${pod.metadata.uid}/${source.volume}/${source.index}`;
    const line = this.#lines.get(key) ?? { last: Promise.resolve() };
    this.#lines.set(key, line);
    const isReleased = () => this.#lines.get(key) !== line;
    const turn = line.last.then(() => this.#advance(key, pod, { projection: source.projection, isReleased }));
    line.last = turn.catch(() => undefined);
    const { issued, refused } = await turn;
    if (refused) throw new Error(refused.message);
    if (!issued) throw new Error('credential bundle is not issued yet');
    // While a newer one is asked for its answer wakes the Pod; should that get lost, the Pod looks again.
    const again = this.#options.clock.now() + minuteMs;
    return { key: issued.key, chain: issued.chain, renewAtMs: Math.max(issued.beginRefreshAtMs, again) };
  }

  release(podUid: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(`${podUid}/`)) this.#entries.delete(key);
    for (const key of this.#lines.keys()) if (key.startsWith(`${podUid}/`)) this.#lines.delete(key);
  }

  /** How many certificates of a signer are in which state. */
  states(): readonly { readonly signerName: string; readonly state: State; readonly count: number }[] {
    const now = this.#options.clock.now();
    const counts = new Map<string, { signerName: string; state: State; count: number }>();
    for (const entry of this.#entries.values()) {
      const { signerName } = entry;
      const state = stateOf(entry, now);
      const key = `${signerName} ${state}`;
      counts.set(key, { signerName, state, count: (counts.get(key)?.count ?? 0) + 1 });
    }
    return [...counts.values()];
  }

  /** A Pod that is released meanwhile leaves nothing behind, and asks for nothing more. */
  async #advance(key: string, pod: Pod, { projection, isReleased }: Step): Promise<Entry> {
    const before = this.#entries.get(key) ?? { signerName: projection.signerName };
    if (isReleased()) return before;
    let after = before;
    try {
      after = await this.#next(before, pod, projection);
    } catch (error) {
      if (this.#options.signal.aborted) throw error;
      const { namespace, name } = pod.metadata;
      this.#options.log.error('while handling podCertificate projected volume source', {
        pod: `${namespace}/${name}`,
        source: key,
        error: messageOf(error),
      });
    }
    if (!isReleased()) this.#entries.set(key, after);
    return after;
  }

  async #next(entry: Entry, pod: Pod, projection: PodCertificateProjection): Promise<Entry> {
    const { clock } = this.#options;
    if (entry.refused) return entry;
    if (entry.issued) this.#complain(entry.issued, pod);
    if (entry.asked) return this.#answered(entry, entry.asked, pod);
    if (entry.issued && clock.now() < entry.issued.beginRefreshAtMs) return entry;
    return { ...entry, asked: await this.#ask(pod, projection) };
  }

  async #answered(entry: Entry, { name, key, abandonAtMs }: Asked, pod: Pod): Promise<Entry> {
    const { clock, event, random } = this.#options;
    const { namespace } = pod.metadata;
    const found = (await this.#follow()).get(`${namespace}/${name}`);
    if (!found) {
      if (clock.now() <= abandonAtMs) return entry;
      this.#options.log.warn('PodCertificateRequest appears to have been deleted', { name: `${namespace}/${name}` });
      return { ...entry, asked: undefined };
    }
    const verdict = found.status?.conditions?.find(({ type }) => ['Denied', 'Failed', 'Issued'].includes(type));
    if (!verdict) return entry;
    const { type, reason = '', message = '' } = verdict;
    if (type !== 'Issued') {
      const [state, how] = type === 'Denied' ? (['denied', 'was denied'] as const) : (['failed', 'failed'] as const);
      const [because, explained] = [`reason=${quote(reason)}`, `message=${quote(message)}`];
      event(pod, type, `PodCertificateRequest ${namespace}/${name} ${how}, ${because}, ${explained}`);
      const refusal = `PodCertificateRequest was permanently ${state}: ${because} ${explained}`;
      return { signerName: entry.signerName, refused: { state, message: refusal } };
    }
    const { beginRefreshAt = '', certificateChain = '', notAfter = '' } = found.status ?? {};
    return {
      signerName: entry.signerName,
      issued: {
        key,
        chain: cleaned(certificateChain),
        beginRefreshAtMs: (parseTime(beginRefreshAt) ?? 0) + random.next() * jitterMs,
        notAfterMs: parseTime(notAfter) ?? 0,
        told: new Set(),
      },
    };
  }

  /** Each complaint once per certificate. */
  #complain({ beginRefreshAtMs, notAfterMs, told }: Issued, pod: Pod): void {
    const now = this.#options.clock.now();
    const tell = (reason: string, message: string) => {
      if (told.has(reason)) return;
      told.add(reason);
      this.#options.event(pod, reason, message);
    };
    if (now > beginRefreshAtMs + overdueMs) tell('CertificateOverdueForRefresh', 'PodCertificate refresh overdue');
    if (now > notAfterMs) tell('CertificateExpired', 'PodCertificate expired');
  }

  async #ask(pod: Pod, projection: PodCertificateProjection): Promise<Asked> {
    const { client, clock, nodeName, random, signal } = this.#options;
    const { namespace = '', name: podName = '', uid: podUid = '' } = pod.metadata;
    const serviceAccountName = pod.spec.serviceAccountName ?? '';
    // Followed before the request is written: its answer must not be missed.
    await this.#follow();
    const account = await client.get(serviceAccounts, { namespace, name: serviceAccountName }, { signal });
    const node = this.#options.node();
    if (!node) throw new Error(`while getting node object from local cache: node ${quote(nodeName)} not found`);
    const { keyType, maxExpirationSeconds, signerName, userAnnotations } = projection;
    const privateKey = await generateKeyOf(keyType);
    const [stub] = decodePem(createCertificateRequest(privateKey, { commonName: '' }));
    const request: PodCertificateRequest = {
      metadata: {
        namespace,
        generateName: 'req-',
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: podName, uid: podUid }],
      },
      spec: {
        signerName,
        podName,
        podUID: podUid,
        serviceAccountName,
        serviceAccountUID: account.metadata.uid ?? '',
        nodeName,
        nodeUID: node.metadata.uid ?? '',
        ...(maxExpirationSeconds === undefined ? {} : { maxExpirationSeconds }),
        stubPKCS10Request: stub!.bytes.toString('base64'),
        ...(userAnnotations ? { unverifiedUserAnnotations: userAnnotations } : {}),
      },
    };
    const { metadata } = await client.create(podCertificateRequests, request, { signal });
    const madeAtMs = parseTime(metadata.creationTimestamp ?? '') ?? clock.now();
    return {
      name: metadata.name ?? '',
      key: encodePrivateKey(privateKey),
      abandonAtMs: madeAtMs + assumeDeletedMs + random.next() * jitterMs,
    };
  }

  /** The requests of this node, from the first Pod on that needs one. */
  #follow(): Promise<Informer<PodCertificateRequest>> {
    this.#requests ??= this.#start().catch((error) => {
      this.#requests = undefined;
      throw error;
    });
    return this.#requests;
  }

  async #start(): Promise<Informer<PodCertificateRequest>> {
    const { client, informers, nodeName, onChange, signal } = this.#options;
    const fieldSelector = `spec.nodeName=${nodeName}`;
    // A server without such objects says so here, instead of being asked for ever.
    await client.list(podCertificateRequests, { fieldSelector, limit: 1, signal });
    const informer = informers.of(podCertificateRequests, { fieldSelector });
    await informer.whenSynced(signal);
    const changed = ({ spec }: PodCertificateRequest) => onChange(spec.podUID);
    informer.onChange({ added: changed, updated: changed, deleted: changed });
    return informer;
  }
}

function stateOf({ issued, refused }: Entry, nowMs: number): State {
  if (refused) return refused.state;
  if (!issued) return 'not_yet_issued';
  if (nowMs > issued.notAfterMs) return 'expired';
  return nowMs > issued.beginRefreshAtMs + overdueMs ? 'overdue_for_refresh' : 'fresh';
}

/** The blocks alone: what stands between them, and the headers within, is no business of the Pod's. */
function cleaned(chain: string): string {
  return decodePem(chain)
    .map(({ bytes }) => encodePem('CERTIFICATE', bytes))
    .join('');
}
