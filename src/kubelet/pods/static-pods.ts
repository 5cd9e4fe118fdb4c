/**
 * Pods from files on the node. Each runs without the API server; a mirror object shows it there, which the kubelet makes anew when
 * somebody deletes it, and which carries the static Pod's status. A file that changes is a new Pod: the old one ends first.
 */
import { createHash } from 'node:crypto';
import { isMirrorPod, mirrorPodAnnotation } from '../../api/core/v1/mirror-pod.ts';
import { defaultPod } from '../../api/core/v1/pod-defaults.ts';
import { type Node, type Pod, pods } from '../../api/gen/core-v1.ts';
import { type Draft, draft, keyOf } from '../../apimachinery/meta.ts';
import { isAlreadyExists, isNotFound, messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { yamlToJson } from '../../apimachinery/yaml-text.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Client } from '../../client/client.ts';
import type { NodeHost } from '../host/host.ts';
import type { PodWorkers } from './pod-workers.ts';
import { type StatusTarget, targetOf } from './status-writer.ts';

export interface StaticPodsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly nodeName: string;
  readonly host: NodeHost;
  /** Folder of manifests; empty: none. */
  readonly path: string;
  readonly checkMs: number;
  /** Mirrors belong to it; undefined as long as it is not registered. */
  node(): Node | undefined;
}

const annotations = {
  source: 'kubernetes.io/config.source',
  hash: 'kubernetes.io/config.hash',
  seen: 'kubernetes.io/config.seen',
} as const;

const settleMs = 1000;

export class StaticPods {
  readonly #options: StaticPodsOptions;
  /** By `namespace/name`. */
  readonly #wanted = new Map<string, Pod>();
  /** By the same key: which file it came from. */
  readonly #files = new Map<string, string>();
  readonly #mirrors = new Map<string, Pod>();
  /** Resolves when the folder has been read once. */
  readonly whenRead: Promise<void>;
  #markRead: () => void = () => {};
  #wake: (() => void) | undefined;

  constructor(options: StaticPodsOptions) {
    this.#options = options;
    this.whenRead = new Promise((resolve) => {
      this.#markRead = resolve;
    });
    if (options.path === '') this.#markRead();
  }

  /** A Pod of the API server reports to itself, a static Pod to its mirror, and nowhere as long as it has none. */
  statusTarget(pod: Pod): StatusTarget | undefined {
    if (pod.metadata.annotations?.[annotations.source] !== 'file') return targetOf(pod);
    const mirror = this.#mirrors.get(keyOf(pod));
    return mirror && targetOf(mirror);
  }

  onMirror(pod: Pod, workers: PodWorkers): void {
    if (!isMirrorPod(pod) || pod.spec.nodeName !== this.#options.nodeName) return;
    const before = this.#mirrors.get(keyOf(pod));
    this.#mirrors.set(keyOf(pod), pod);
    if (before?.metadata.uid !== pod.metadata.uid) workers.wake(this.#wanted.get(keyOf(pod))?.metadata.uid ?? '');
    this.#wake?.();
  }

  onMirrorGone(pod: Pod, _workers: PodWorkers): void {
    if (this.#mirrors.get(keyOf(pod))?.metadata.uid === pod.metadata.uid) this.#mirrors.delete(keyOf(pod));
    this.#wake?.();
  }

  async run(workers: PodWorkers): Promise<void> {
    const { clock, host, log, path, checkMs, signal } = this.#options;
    if (path !== '') host.watchDirectory(path, () => this.#wake?.(), signal);
    while (!signal.aborted) {
      if (path !== '') await this.#read();
      this.#markRead();
      const isSettled = this.#apply(workers);
      const isMirrored = await this.#mirror().catch((error) => {
        if (!signal.aborted) log.warn('failed to keep mirror pods', { error: messageOf(error) });
        return false;
      });
      await this.#sleep(clock, isSettled && isMirrored ? checkMs : settleMs);
    }
  }

  /** Until the time is over or something happened; a folder without manifests needs no clock. */
  #sleep(clock: Clock, delayMs: number): Promise<void> {
    const { path, signal } = this.#options;
    const woken = new AbortController();
    const both = AbortSignal.any([woken.signal, signal]);
    this.#wake = () => woken.abort();
    if (path !== '' || this.#mirrors.size > 0) return sleep(clock, delayMs, both).catch(() => undefined);
    return new Promise((resolve) => {
      if (both.aborted) resolve();
      both.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  async #read(): Promise<void> {
    const { host, log, path } = this.#options;
    const files = await host.readDirectory(path);
    const found = new Map<string, Pod>();
    for (const { name, content } of files) {
      try {
        const pod = this.#parse(name, content);
        found.set(keyOf(pod), pod);
        this.#files.set(keyOf(pod), name);
      } catch (error) {
        log.warn("can't process config file", { path: `${path}/${name}`, error: messageOf(error) });
        // A file that is being written keeps the Pod that it held.
        for (const [key, pod] of this.#wanted) if (this.#files.get(key) === name) found.set(key, pod);
      }
    }
    for (const key of this.#wanted.keys()) if (!found.has(key)) this.#wanted.delete(key);
    for (const [key, pod] of found)
      if (this.#wanted.get(key)?.metadata.uid !== pod.metadata.uid) this.#wanted.set(key, pod);
  }

  #parse(file: string, content: string): Pod {
    const { clock, nodeName, path } = this.#options;
    const pod = draft(JSON.parse(yamlToJson(content).json) as Pod) as Draft<Pod>;
    if (pod?.kind !== 'Pod' || !pod.metadata?.name || !pod.spec) throw new Error('the file does not hold a Pod');
    const hash = createHash('md5')
      .update(`host:${nodeName}\nfile:${path}/${file}\n`)
      .update(JSON.stringify(pod))
      .digest('hex');
    const uid = pod.metadata.uid || hash;
    pod.metadata = {
      ...pod.metadata,
      uid,
      name: `${pod.metadata.name}-${nodeName.toLowerCase()}`,
      namespace: pod.metadata.namespace || 'default',
      annotations: {
        ...pod.metadata.annotations,
        [annotations.hash]: uid,
        [annotations.seen]: formatTime(clock.now()),
        [annotations.source]: 'file',
      },
    };
    pod.spec.nodeName = nodeName;
    pod.spec.tolerations = [...(pod.spec.tolerations ?? []), { operator: 'Exists', effect: 'NoExecute' }];
    pod.status = { phase: 'Pending' };
    defaultPod(pod);
    return pod as Pod;
  }

  /** Whether nothing is left to do: an old Pod may have to end before its successor starts. */
  #apply(workers: PodWorkers): boolean {
    let isSettled = true;
    for (const worker of workers.all()) {
      const { pod } = worker;
      if (pod.metadata.annotations?.[annotations.source] !== 'file') continue;
      if (this.#wanted.get(keyOf(pod))?.metadata.uid !== pod.metadata.uid) workers.remove(worker.uid);
    }
    for (const pod of this.#wanted.values()) {
      const present = workers.byName(pod.metadata.namespace ?? '', pod.metadata.name ?? '');
      if (!present) workers.add(pod);
      else if (present.uid !== pod.metadata.uid) isSettled = false;
    }
    return isSettled;
  }

  async #mirror(): Promise<boolean> {
    const node = this.#options.node();
    if (!node) return this.#wanted.size === 0;
    let isDone = true;
    for (const [key, mirror] of this.#mirrors) {
      const wanted = this.#wanted.get(key);
      const isStale =
        mirror.metadata.annotations?.[mirrorPodAnnotation] !== wanted?.metadata.annotations?.[annotations.hash];
      if (!isStale && !mirror.metadata.deletionTimestamp) continue;
      await this.#delete(mirror);
      isDone = false;
    }
    for (const [key, pod] of this.#wanted) if (!this.#mirrors.has(key)) await this.#create(pod, node);
    return isDone;
  }

  async #create(pod: Pod, node: Node): Promise<void> {
    const { uid: _, resourceVersion: _version, ...metadata } = pod.metadata;
    const shown = pod.metadata.annotations ?? {};
    const mirror: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...metadata,
        annotations: { ...shown, [mirrorPodAnnotation]: shown[annotations.hash] ?? '' },
        ownerReferences: [
          {
            apiVersion: 'v1',
            kind: 'Node',
            name: node.metadata.name ?? '',
            uid: node.metadata.uid ?? '',
            controller: true,
          },
        ],
      },
      spec: pod.spec,
    };
    try {
      await this.#options.client.create(pods, mirror, { signal: this.#options.signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  async #delete(mirror: Pod): Promise<void> {
    const { namespace, name = '', uid } = mirror.metadata;
    try {
      await this.#options.client.delete(
        pods,
        { namespace, name },
        { gracePeriodSeconds: 0, preconditions: { uid }, signal: this.#options.signal },
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
