/** Where a machine's files with credentials for registries lie: where the docker program and upstream's kubelet look for them. */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { NodeCredentialFiles } from '../images/node-credentials.ts';

/** `home`: of the user that the kubelet runs as; without it only the kubelet's own folder is looked at. */
export function credentialFiles(rootDirectory: string, home?: string): NodeCredentialFiles {
  const near = home === undefined ? [rootDirectory] : [rootDirectory, ''];
  const inHomes = (folder: string) => (home === undefined ? [] : [join(home, folder), join('/', folder)]);
  const paths = (folders: readonly string[], name: string) => folders.map((folder) => resolve(join(folder, name)));
  return {
    configJson: paths([...near, ...inHomes('.docker')], 'config.json'),
    dockercfg: paths([...near, ...inHomes('')], '.dockercfg'),
    read: (path) => readFile(path, 'utf8').catch(() => undefined),
  };
}
