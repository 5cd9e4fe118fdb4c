/** Text tables for the terminal. */

import type { ListedToken } from '../cluster/joining/tokens.ts';
import type { LocalNode } from '../cluster/local-nodes/local-nodes.ts';
import type { ClusterStatus, ProcessStatus } from '../cluster/up/status.ts';

export function clusterTable(cluster: ClusterStatus): string {
  const rows: [string, string][] = [
    ['cluster', cluster.isRunning ? `running at ${cluster.server}` : 'not running'],
    ...cluster.processes.map((process): [string, string] => [process.name, processText(process)]),
    ...Object.entries(cluster.nodeProblems).map(([part, problem]): [string, string] => [
      part,
      `fails and is started again: ${problem}`,
    ]),
    ...(cluster.apiProblem ? ([['api server', `does not answer: ${cluster.apiProblem}`]] as [string, string][]) : []),
    ...cluster.nodes.map(({ name, version, problem }): [string, string] => [
      `node/${name}`,
      `${problem === undefined ? 'Ready' : `not Ready: ${problem}`}${version ? `, ${version}` : ''}`,
    ]),
    ['data', cluster.dataDirectory],
    ['kubeconfig', cluster.kubeconfig],
  ];
  return columns(rows);
}

function processText({ pid, uptimeSeconds = 0, memoryBytes = 0 }: ProcessStatus): string {
  return pid === undefined ? '-' : `pid ${pid}, up ${duration(uptimeSeconds)}, ${Math.round(memoryBytes / 1e6)} MB`;
}

export function duration(seconds: number): string {
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m${whole % 60}s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)}h${Math.floor((whole % 3600) / 60)}m`;
  return `${Math.floor(whole / 86_400)}d${Math.floor((whole % 86_400) / 3600)}h`;
}

export function tokenTable(tokens: readonly ListedToken[]): string {
  const rows = tokens.map(({ token, secondsLeft }): [string, string] => [
    token,
    secondsLeft === undefined ? '<forever>' : duration(secondsLeft),
  ]);
  return columns([['TOKEN', 'TTL'], ...rows]);
}

export function localNodeTable(nodes: readonly LocalNode[]): string {
  const rows = nodes.map(({ name, address = '-', state }): [string, string, string] => [name, address, state]);
  return columns([['NAME', 'ADDRESS', 'STATE'], ...rows]);
}

export interface ListedImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
}

export function imageTable(images: readonly ListedImage[]): string {
  const rows = images
    .flatMap((image) => {
      const names = image.repoTags.length > 0 ? image.repoTags : image.repoDigests.slice(0, 1);
      const id = image.id.replace(/^sha256:/, '').slice(0, 13);
      return names.map((name): [string, string, string] => [name, id, size(image.sizeBytes)]);
    })
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return columns([['IMAGE', 'ID', 'SIZE'], ...rows]);
}

export function size(bytes: number): string {
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)}kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)}MB` : `${(bytes / 1e9).toFixed(2)}GB`;
}

export function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
