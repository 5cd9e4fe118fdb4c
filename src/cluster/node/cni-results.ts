/**
 * What CNI remembers of each Pod's network lies in one folder of the machine, whoever's the Pod is. A Pod that ended with everything
 * around it killed is never taken off that list; this takes off those of one cluster, told by a path in their configuration.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

interface CachedResult {
  readonly containerId?: string;
  /** The network's configuration in base64. */
  readonly config?: string;
}

/** `path`: of a folder below which the cluster's addresses are kept. Files that are no results are left alone. */
export function forgetPodNetworks(path: string, folder = '/var/lib/cni/results'): void {
  const results = namesIn(folder).map((name) => ({ file: join(folder, name), ...readResult(join(folder, name)) }));
  const isOurs = ({ config = '' }: CachedResult) => Buffer.from(config, 'base64').toString().includes(`"${path}/`);
  const gone = new Set(results.filter(isOurs).map(({ containerId }) => containerId));
  // The loopback of the same sandbox names no cluster.
  for (const { file, containerId } of results) if (containerId && gone.has(containerId)) rmSync(file, { force: true });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readResult(file: string): CachedResult {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as CachedResult;
  } catch {
    return {};
  }
}
