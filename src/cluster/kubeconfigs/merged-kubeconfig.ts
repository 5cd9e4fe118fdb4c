/**
 * The cluster's entry in the user's own kubeconfig: merged into it only when asked, and taken out again when the cluster is removed.
 * What was merged where is remembered in the data directory; an entry that has become another cluster's by then stays.
 */
import { appendFileSync, existsSync, readFileSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  emptyKubeconfig,
  formatKubeconfig,
  type Kubeconfig,
  mergeKubeconfig,
  parseKubeconfig,
  withoutContext,
} from '../../client/kubeconfig.ts';
import { contextName } from '../certificates/cluster-pki.ts';
import { CommandError } from '../command-error.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import type { ThisMachine } from '../machine/machine.ts';
import { readKubeconfig, writeKubeconfig } from './kubeconfig-file.ts';

/** Adds the cluster to the file that kubectl reads when nothing else is said. Returns its path. */
export function mergeIntoOwn(directory: DataDirectory, machine: ThisMachine, text: string): string {
  const named = (machine.environment.KUBECONFIG ?? '').split(':').find(Boolean);
  const path = resolve(named ?? join(machine.home, '.kube', 'config'));
  const file = existsSync(path) ? realpathSync(path) : path;
  const before = existsSync(file) ? readKubeconfig(file) : emptyKubeconfig;
  // Remembered first: of a crash in between nothing is left that nobody knows of.
  if (!mergedInto(directory).includes(file)) appendFileSync(directory.mergedKubeconfigs, `${file}\n`);
  return writeKubeconfig(file, formatKubeconfig(mergeKubeconfig(before, parseKubeconfig(text))));
}

export interface TakenOut {
  readonly file: string;
  /** Why the context is still there; absent: it is not. */
  readonly problem?: string;
}

/** Takes the cluster out of all files that it was merged into and still stands in. */
export function takeOutOfOwn(directory: DataDirectory): TakenOut[] {
  const authority = join(directory.pki, 'ca.crt');
  if (!existsSync(authority)) return [];
  const caData = readFileSync(authority).toString('base64');
  return mergedInto(directory)
    .filter((file) => existsSync(file))
    .flatMap((file) => {
      try {
        const config = readKubeconfig(file);
        if (!leadsTo(config, caData)) return [];
        writeKubeconfig(file, formatKubeconfig(withoutContext(config, contextName)));
        return [{ file }];
      } catch (error) {
        if (error instanceof CommandError) return [{ file, problem: error.message }];
        throw error;
      }
    });
}

function mergedInto({ mergedKubeconfigs }: DataDirectory): string[] {
  if (!existsSync(mergedKubeconfigs)) return [];
  return readFileSync(mergedKubeconfigs, 'utf8').split('\n').filter(Boolean);
}

/** A cluster is its authority: addresses come and go. */
function leadsTo(config: Kubeconfig, caData: string): boolean {
  const cluster = config.contexts[contextName]?.cluster;
  return cluster !== undefined && config.clusters[cluster]?.['certificate-authority-data'] === caData;
}
