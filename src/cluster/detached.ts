/**
 * `coracle up --detach`: the same command again in a process of its own, whose progress is shown here until the cluster is ready. What
 * it prints from then on goes to the log.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from './command-error.ts';
import { defaultDataDirectory, openDataDirectory } from './data-directory.ts';
import type { ThisMachine } from './machine.ts';
import { rotate } from './process-log.ts';
import { failureOf, type ProgressEvent, type Report } from './progress.ts';
import type { UpOptions } from './up-settings.ts';

/** The option that tells the process in the background what it is. */
export const backgroundOption = '--in-background';

/** Resolves when the cluster is ready; rejects as `startCluster` does. An aborted signal gives up. */
export async function startInBackground(
  options: UpOptions,
  { machine, report, signal }: { readonly machine: ThisMachine; readonly report: Report; readonly signal: AbortSignal },
): Promise<void> {
  const directory = openDataDirectory(options.dataDir ?? defaultDataDirectory(machine));
  const logFile = join(directory.run, 'control-plane.log');
  rotate(logFile);
  const log = openSync(logFile, 'a', 0o600);
  const [command = '', ...words] = machine.self;
  const child = spawn(command, [...words, 'up', backgroundOption, ...upWords(options)], {
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
    env: { ...machine.environment },
  });
  closeSync(log);
  const giveUp = () => child.kill('SIGINT');
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      child.on('message', (event: ProgressEvent) => {
        if (event.kind === 'failed') return reject(failureOf(event));
        report(event);
        if (event.kind === 'ready') resolve();
      });
      child.once('error', reject);
      child.once('exit', (code, name) =>
        reject(
          new CommandError(
            `the process in the background ended (${name ?? `status ${code}`}) before the cluster was ready.`,
            `Its log is ${logFile}.`,
          ),
        ),
      );
    });
  } finally {
    signal.removeEventListener('abort', giveUp);
    if (child.connected) child.disconnect();
    child.unref();
  }
}

function upWords(options: UpOptions): string[] {
  const valued = {
    '--data-dir': options.dataDir,
    '--listen': options.listen,
    '--runtime': options.runtime,
    '--container-runtime-endpoint': options.containerRuntimeEndpoint,
    '--kubeconfig': options.kubeconfig,
    '--node-name': options.nodeName,
  };
  return [
    ...Object.entries(valued).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`])),
    ...(options.kubeApiserverFlag ?? []).map((flag) => `--kube-apiserver-flag=${flag}`),
    ...(options.kubeControllerManagerFlag ?? []).map((flag) => `--kube-controller-manager-flag=${flag}`),
    ...(options.kubeSchedulerFlag ?? []).map((flag) => `--kube-scheduler-flag=${flag}`),
    ...(options.mergeKubeconfig ? ['--merge-kubeconfig'] : []),
    ...(options.install === false ? ['--no-install'] : []),
  ];
}
