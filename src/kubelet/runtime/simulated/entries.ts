/** The tables of the simulated runtime, and how their entries look to its callers. */
import type { Timer } from '../../../base/clock.ts';
import type { Container, ContainerConfig, Image, LinuxResources, Sandbox, SandboxConfig } from '../runtime.ts';
import type { Behaviour } from './behaviour.ts';

export interface LogEntry {
  readonly atMs: number;
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

export interface SandboxEntry {
  readonly id: string;
  readonly config: SandboxConfig;
  readonly createdAtMs: number;
  readonly ip: string | undefined;
  isReady: boolean;
}

export interface ContainerEntry {
  readonly id: string;
  readonly sandbox: SandboxEntry;
  readonly config: ContainerConfig;
  readonly imageId: string;
  readonly createdAtMs: number;
  readonly behaviour: Behaviour;
  readonly log: LogEntry[];
  resources: LinuxResources;
  state: 'created' | 'running' | 'exited';
  startedAtMs: number;
  finishedAtMs: number;
  exitCode: number;
  timers: Timer[];
  ended: (() => void)[];
}

export interface ImageEntry {
  readonly image: Image;
}

export function hasLabels(
  labels: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>> | undefined,
): boolean {
  for (const key in wanted) if (labels[key] !== wanted[key]) return false;
  return true;
}

export function sandboxOf({ id, config, createdAtMs, isReady }: SandboxEntry): Sandbox {
  const { metadata, labels, annotations } = config;
  return { id, metadata, labels, annotations, createdAtMs, state: isReady ? 'ready' : 'notReady', runtimeHandler: '' };
}

export function containerOf({ id, sandbox, config, imageId, createdAtMs, state }: ContainerEntry): Container {
  const { name, attempt, labels, annotations } = config;
  const image = config.image.userSpecifiedImage || config.image.image;
  return {
    id,
    sandboxId: sandbox.id,
    name,
    attempt,
    image,
    imageRef: imageId,
    imageId,
    state,
    createdAtMs,
    labels,
    annotations,
  };
}

/** 64 hexadecimal digits that depend on the text alone. */
export function digest(text: string): string {
  let result = '';
  for (let round = 0; round < 8; round++) {
    let hash = 0x811c9dc5 ^ round;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
    result += hash.toString(16).padStart(8, '0');
  }
  return result;
}
