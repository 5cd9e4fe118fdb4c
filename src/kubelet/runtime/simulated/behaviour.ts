/**
 * What a simulated container does, decided by what its Pod says, in this order:
 *
 * 1. annotations of the Pod: `simulation.coracle.io/run-seconds: "5"` (or `run-seconds.CONTAINER`), and likewise `exit-code`,
 *    `start-seconds` (how long it takes to start), `stop-seconds` (how long it takes to obey), `stop-exit-code`;
 * 2. its command, when it is made of `echo`, `sleep`, `true`, `false` and `exit` alone;
 * 3. what it is: an init container, and a container of a Job, is done after a second; all others run for ever.
 */
import { type ContainerConfig, runtimeAnnotations, type SandboxConfig } from '../runtime.ts';

export interface Behaviour {
  readonly startMs: number;
  /** Infinity: until it is stopped. */
  readonly runMs: number;
  readonly exitCode: number;
  readonly stopMs: number;
  readonly stopExitCode: number;
  /** Written to its log at these times after its start. */
  readonly output: readonly { readonly atMs: number; readonly text: string }[];
}

export const simulationPrefix = 'simulation.coracle.io/';

export function behaviourOf(
  container: Pick<ContainerConfig, 'name' | 'command' | 'args' | 'annotations'>,
  sandbox: Pick<SandboxConfig, 'labels' | 'annotations'>,
): Behaviour {
  const setting = (name: string): number | undefined => {
    const text =
      sandbox.annotations[`${simulationPrefix}${name}.${container.name}`] ??
      sandbox.annotations[simulationPrefix + name];
    return text === undefined || Number.isNaN(Number(text)) ? undefined : Number(text);
  };
  const script = runScript([...container.command, ...container.args]);
  const isDone = container.annotations[runtimeAnnotations.kind] === 'init' || isOfJob(sandbox);
  const runSeconds = setting('run-seconds');
  return {
    startMs: (setting('start-seconds') ?? 0) * 1000,
    runMs: runSeconds !== undefined ? runSeconds * 1000 : (script?.runMs ?? (isDone ? 1000 : Number.POSITIVE_INFINITY)),
    exitCode: setting('exit-code') ?? script?.exitCode ?? 0,
    stopMs: (setting('stop-seconds') ?? 0) * 1000,
    stopExitCode: setting('stop-exit-code') ?? 0,
    output: script?.output ?? [],
  };
}

function isOfJob({ labels }: Pick<SandboxConfig, 'labels'>): boolean {
  return labels['batch.kubernetes.io/job-name'] !== undefined || labels['job-name'] !== undefined;
}

interface Script {
  readonly runMs: number;
  readonly exitCode: number;
  readonly output: readonly { readonly atMs: number; readonly text: string }[];
}

/** Undefined when there is a word in it that only a real machine understands. */
export function runScript(command: readonly string[]): Script | undefined {
  const [program = '', flag = '', text = ''] = command;
  const isShell = /(^|\/)(ba|a)?sh$/.test(program) && /^-[a-z]*c$/.test(flag);
  const steps = isShell ? text.split(/&&|;|\n/).map((step) => step.trim().split(/\s+/)) : [command];
  const output: { atMs: number; text: string }[] = [];
  let runMs = 0;
  let exitCode = 0;
  for (const [word = '', ...rest] of steps) {
    switch (word.replace(/^\/(usr\/)?bin\//, '')) {
      case '':
        break;
      case 'echo':
        output.push({ atMs: runMs, text: rest.join(' ').replace(/^(["'])(.*)\1$/, '$2') });
        break;
      case 'sleep': {
        const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
        const match = /^([\d.]+)([smhd]?)$/.exec(rest[0] ?? '');
        if (!match && !/^inf/.test(rest[0] ?? '')) return undefined;
        runMs += match ? Number(match[1]) * 1000 * (units[match[2] || 's'] ?? 1) : Number.POSITIVE_INFINITY;
        break;
      }
      case 'true':
        exitCode = 0;
        break;
      case 'false':
        exitCode = 1;
        break;
      case 'exit':
        return { runMs, output, exitCode: Number(rest[0] ?? exitCode) };
      default:
        return undefined;
    }
  }
  return command.length === 0 ? undefined : { runMs, exitCode, output };
}
