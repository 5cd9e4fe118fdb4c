/**
 * `--admission-control-config-file` of `kube-apiserver`: an `AdmissionConfiguration` that says for each plugin what it is to know, in
 * its place or in a file of its own. What the plugins make of it is theirs.
 */
import { dirname, resolve } from 'node:path';
import type { Clock } from '../../../base/clock.ts';
import { CommandError } from '../../command-error.ts';
import { decodeConfiguration, readConfigurationFile } from '../flags/configuration-file.ts';

const flag = '--admission-control-config-file';
const group = 'apiserver.config.k8s.io';

const imagePolicy = 'ImagePolicyWebhook';

interface ImagePolicyFile {
  readonly imagePolicy?: { readonly kubeConfigFile?: unknown } | null;
}

interface PluginEntry {
  readonly name: string;
  readonly path?: string;
  readonly configuration?: unknown;
}

/** By plugin's name. Throws `CommandError`. */
export function admissionConfigurations(path: string | undefined): ReadonlyMap<string, unknown> | undefined {
  if (path === undefined) return undefined;
  const document = readConfigurationFile(path, flag);
  const { apiVersion } = (document ?? {}) as { readonly apiVersion?: unknown };
  // Both versions have the same fields.
  const expected = apiVersion === `${group}/v1alpha1` ? `${group}/v1alpha1` : `${group}/v1`;
  const { plugins = [] } = decodeConfiguration(path, document, {
    kind: 'AdmissionConfiguration',
    apiVersion: expected,
    flag,
  }) as { readonly plugins?: readonly PluginEntry[] };
  const configurations = new Map<string, unknown>();
  for (const { name, path: own, configuration } of plugins) {
    if (configurations.has(name))
      throw new CommandError(`${flag} ${path}: plugin ${name} is configured twice.`, 'Keep one of them.');
    if (configuration != null) configurations.set(name, configuration);
    else if (own) configurations.set(name, readConfigurationFile(resolve(dirname(path), own), flag));
  }
  return configurations;
}

/** The same with what is in the kubeconfig of ImagePolicyWebhook, where that is configured. Rejects with a `CommandError`. */
export async function withImagePolicyServer(
  configurations: ReadonlyMap<string, unknown> | undefined,
  clock: Clock,
): Promise<ReadonlyMap<string, unknown> | undefined> {
  const configuration = configurations?.get(imagePolicy) as ImagePolicyFile | null | undefined;
  const path = configuration?.imagePolicy?.kubeConfigFile;
  if (!configurations || typeof path !== 'string' || path === '') return configurations;
  const { kubeconfigOptions } = await import('../flags/connection.ts');
  const server = await kubeconfigOptions(path, { flag: `${flag}: ${imagePolicy}: kubeConfigFile`, clock });
  return new Map([...configurations, [imagePolicy, { ...configuration, server }]]);
}
