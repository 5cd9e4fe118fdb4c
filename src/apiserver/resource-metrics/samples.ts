/**
 * What a kubelet's `/metrics/resource` says, and what two such pages say together: how much CPU was used between them, and how much memory
 * now. Pure.
 *
 *     container_cpu_usage_seconds_total{container="c",namespace="n",pod="p"} 12.5 1767225600000
 *     container_memory_working_set_bytes{container="c",namespace="n",pod="p"} 1048576 1767225600000
 *     node_cpu_usage_seconds_total 340.1 1767225600000
 *     node_memory_working_set_bytes 2147483648 1767225600000
 */

/** At one moment; undefined where the page does not say. */
export interface Sample {
  readonly cpuSeconds: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly atMs: number;
}

export interface NodeSample {
  readonly node: Sample;
  /** By `namespace/name`, then by container. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Sample>>;
}

export interface Usage {
  readonly usage: Readonly<Record<'cpu' | 'memory', string>>;
  readonly atMs: number;
  readonly windowMs: number;
}

const line = /^(node|container)_(cpu_usage_seconds_total|memory_working_set_bytes)(?:\{([^}]*)\})? (\S+)(?: (\d+))?$/;
const label = /([a-z]+)="((?:[^"\\]|\\.)*)"/g;

/** `nowMs` stands for times that the page leaves out. */
export function parseResourcePage(text: string, nowMs: number): NodeSample {
  const nothing: Sample = { cpuSeconds: undefined, memoryBytes: undefined, atMs: nowMs };
  let node = nothing;
  const pods = new Map<string, Map<string, Sample>>();
  for (const entry of text.split('\n')) {
    const [, subject, what, labelText = '', valueText, timeText] = line.exec(entry) ?? [];
    const value = Number(valueText);
    if (subject === undefined || !Number.isFinite(value)) continue;
    const atMs = timeText === undefined ? nowMs : Number(timeText);
    const figure = what === 'cpu_usage_seconds_total' ? { cpuSeconds: value } : { memoryBytes: value };
    if (subject === 'node') {
      node = { ...node, ...figure, atMs };
      continue;
    }
    const labels = Object.fromEntries([...labelText.matchAll(label)].map(([, name, content]) => [name, content]));
    const key = `${labels.namespace}/${labels.pod}`;
    const containers = pods.get(key) ?? new Map<string, Sample>();
    pods.set(key, containers);
    containers.set(labels.container ?? '', { ...(containers.get(labels.container ?? '') ?? nothing), ...figure, atMs });
  }
  return { node, pods };
}

/** Undefined unless time has passed between the two, and CPU was counted on: a container that started anew counts from 0. */
export function usageBetween(before: Sample | undefined, after: Sample | undefined): Usage | undefined {
  if (before?.cpuSeconds === undefined || after?.cpuSeconds === undefined || after.memoryBytes === undefined)
    return undefined;
  const windowMs = after.atMs - before.atMs;
  const seconds = after.cpuSeconds - before.cpuSeconds;
  if (windowMs <= 0 || seconds < 0) return undefined;
  const cpu = `${Math.round((seconds / windowMs) * 1e12)}n`;
  return { usage: { cpu, memory: `${Math.round(after.memoryBytes / 1024)}Ki` }, atMs: after.atMs, windowMs };
}
