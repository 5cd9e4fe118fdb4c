/**
 * `coracle COMPONENT`: one component as a process of its own, under its upstream name, with its upstream flags and files. Runs until
 * SIGTERM or SIGINT. What it cannot start with is said in one line, as Go's commands do.
 */
import { StatusError } from '../../apimachinery/status.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { type FlagDefinition, FlagError, parseFlags } from '../../serving/flags.ts';
import { CommandError } from '../command-error.ts';
import { thisMachine } from '../machine/machine.ts';
import { guard, processLog } from '../processes/process-log.ts';
import { versions } from '../versions.ts';
import type { ComponentCommand } from './flags/component-definition.ts';
import { GivenFlags } from './flags/given-flags.ts';

const commands: Readonly<Record<string, () => Promise<ComponentCommand>>> = {
  'kube-apiserver': async () => (await import('./kube-apiserver/kube-apiserver.ts')).kubeApiServer,
  'kube-controller-manager': async () => (await import('./kube-controller-manager.ts')).kubeControllerManager,
  'kube-scheduler': async () => (await import('./kube-scheduler.ts')).kubeScheduler,
  kubelet: async () => (await import('./kubelet/kubelet.ts')).kubelet,
  'kube-proxy': async () => (await import('./kube-proxy.ts')).kubeProxy,
};

const helpFlag: FlagDefinition = { name: 'help', type: 'bool', default: false };

/** Resolves to the exit status. */
export async function runComponentCommand(name: string, words: readonly string[]): Promise<number> {
  const command = await commands[name]!();
  try {
    return await runCommand(command, words);
  } catch (error) {
    if (!(error instanceof FlagError)) throw error;
    process.stderr.write(`Error: ${error.message}\nSee '${name} --help' for usage.\n`);
    return 1;
  }
}

async function runCommand(command: ComponentCommand, words: readonly string[]): Promise<number> {
  const { name } = command;
  const table = [...command.flags, helpFlag];
  const parsed = parseFlags(
    table,
    words.map((word) => (word === '-h' ? '--help' : word)),
  );
  if (parsed.values.get('help') === true) {
    process.stdout.write(helpText(name, command.flags));
    return 0;
  }
  if (parsed.given.has('version') && parsed.values.get('version') !== false) {
    process.stdout.write(`Kubernetes ${versions.kubernetes}\n`);
    return 0;
  }
  if (parsed.positional.length > 0) {
    const list = parsed.positional.map((word) => JSON.stringify(word)).join(' ');
    throw new FlagError(`"${name}" does not take any arguments, got [${list}]`);
  }
  const flags = new GivenFlags(parsed);
  const log = processLog({ level: flags.number('v') >= 4 ? 'debug' : 'info' });
  guard(log);
  const abort = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (abort.signal.aborted) process.exit(1);
      abort.abort(new Error(signal));
    });
  }
  for (const deprecated of parsed.deprecated) log.warn(`Flag --${deprecated} has been deprecated`);
  const environment = {
    clock: systemClock,
    random: systemRandom,
    log,
    machine: thisMachine(),
    signal: abort.signal,
    started() {
      const unused = flags.withoutEffect().filter((flag) => !logFlags.has(flag));
      if (unused.length > 0)
        log.warn(`flags that are accepted and have no effect: ${unused.map((flag) => `--${flag}`).join(', ')}`);
      for (const warning of flags.warnings) log.warn(warning);
      log.info(`${name} starts`, { version: versions.kubernetes });
    },
  };
  try {
    await command.run(flags, environment);
    return 0;
  } catch (error) {
    if (abort.signal.aborted) return 0;
    throw error instanceof StatusError ? new CommandError(error.message, `See the log of ${name}.`) : error;
  }
}

/** Ways of writing logs that the one log here makes pointless. */
const logFlags: ReadonlySet<string> = new Set([
  'log-flush-frequency',
  'log-json-info-buffer-size',
  'log-json-split-stream',
  'log-text-info-buffer-size',
  'log-text-split-stream',
  'logging-format',
  'vmodule',
]);

export function helpText(name: string, flags: readonly FlagDefinition[]): string {
  const rows = flags.map((flag) => {
    const type = flag.type === 'bool' || flag.type === 'tristate' ? '' : ` ${flag.type}`;
    return { left: `      --${flag.name}${type}`, right: defaultText(flag) };
  });
  const width = Math.max(...rows.map(({ left }) => left.length));
  const lines = rows.map(({ left, right }) => `${left.padEnd(width)}   ${right}`.trimEnd());
  return `Usage:\n  ${name} [flags]\n\nFlags:\n${lines.join('\n')}\n`;
}

function defaultText({ default: initial, deprecated }: FlagDefinition): string {
  const none = initial === null || initial === '' || initial === false || initial === 0;
  const empty = typeof initial === 'object' && initial !== null && Object.keys(initial).length === 0;
  const value = Array.isArray(initial)
    ? `[${initial.join(',')}]`
    : typeof initial === 'object' && initial !== null
      ? Object.entries(initial)
          .map(([key, one]) => `${key}=${one}`)
          .join(',')
      : typeof initial === 'string'
        ? JSON.stringify(initial)
        : String(initial);
  return [none || empty ? '' : `(default ${value})`, deprecated ? '(DEPRECATED)' : ''].filter(Boolean).join(' ');
}
