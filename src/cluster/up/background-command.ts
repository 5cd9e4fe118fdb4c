/** The words by which a command that was told to detach is given again to a process in the background. */

import type { UpOptions } from '../data/up-settings.ts';
import type { JoinOptions } from '../joining/join.ts';

export interface BackgroundCommand {
  readonly dataDir: string | undefined;
  /** Of the log in the data directory's `run`. */
  readonly logName: string;
  readonly words: readonly string[];
}

/** The option that tells the process in the background what it is. */
export const backgroundOption = '--in-background';

export function upWords(options: UpOptions): string[] {
  return [
    'up',
    ...given({
      '--data-dir': options.dataDir,
      '--listen': options.listen,
      '--runtime': options.runtime,
      '--container-runtime-endpoint': options.containerRuntimeEndpoint,
      '--kubeconfig': options.kubeconfig,
      '--node-name': options.nodeName,
      '--nodes': options.nodes === undefined ? undefined : String(options.nodes),
      '--kube-apiserver-flag': options.kubeApiserverFlag,
      '--kube-controller-manager-flag': options.kubeControllerManagerFlag,
      '--kube-scheduler-flag': options.kubeSchedulerFlag,
    }),
    ...(options.mergeKubeconfig ? ['--merge-kubeconfig'] : []),
    ...(options.install === false ? ['--no-install'] : []),
  ];
}

export function joinWords(options: JoinOptions): string[] {
  return [
    'join',
    ...(options.server === undefined ? [] : [options.server]),
    ...given({
      '--token': options.token,
      '--discovery-token-ca-cert-hash': options.discoveryTokenCaCertHash,
      '--data-dir': options.dataDir,
      '--node-name': options.nodeName,
      '--node-ip': options.nodeIp,
      '--runtime': options.runtime,
      '--container-runtime-endpoint': options.containerRuntimeEndpoint,
    }),
    ...(options.install === false ? ['--no-install'] : []),
  ];
}

function given(options: Readonly<Record<string, string | readonly string[] | undefined>>): string[] {
  return Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((each) => `${name}=${each}`),
  );
}
