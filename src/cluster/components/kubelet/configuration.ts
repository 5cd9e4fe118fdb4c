/**
 * The kubelet's configuration from its file and its folder of further ones (`--config-dir`): each file of the folder whose name ends in
 * `.conf`, in the order of their names, changes what stands before it; lists are replaced, objects joined.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { applyMergePatch, isObject } from '../../../apimachinery/patch/merge-patch.ts';
import { messageOf } from '../../../apimachinery/status.ts';
import { type KubeletSettings, kubeletSettings } from '../../../kubelet/options.ts';
import { CommandError } from '../../command-error.ts';
import { readConfigurationFile } from '../flags/configuration-file.ts';
import type { GivenFlags } from '../flags/given-flags.ts';

const kind = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };

/** Flags win over files. Throws a `CommandError` that names the file. */
export function kubeletConfiguration(given: GivenFlags): KubeletSettings {
  const path = given.optionalText('config');
  const folder = given.optionalText('config-dir') || undefined;
  if (path === undefined && folder === undefined) return kubeletSettings(given.parsed);
  let whole: unknown = path === undefined ? kind : checked(given, path, readConfigurationFile(path));
  for (const name of folder === undefined ? [] : namesIn(folder)) {
    const file = join(folder!, name);
    whole = checked(given, file, applyMergePatch(whole, readDropIn(file)));
  }
  return kubeletSettings(given.parsed, whole);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.conf'))
      .sort();
  } catch (error) {
    throw new CommandError(
      `--config-dir ${folder} cannot be read (${(error as NodeJS.ErrnoException).code}).`,
      'Give a folder of configuration files that end in .conf.',
    );
  }
}

function readDropIn(file: string): unknown {
  const content = readConfigurationFile(file, '--config-dir');
  if (!isObject(content) || content.apiVersion !== kind.apiVersion || content.kind !== kind.kind)
    throw new CommandError(
      `failed to load kubelet config file in drop-in directory ${file}: it is no ${kind.kind}.`,
      `Each file must say apiVersion: ${kind.apiVersion} and kind: ${kind.kind}.`,
    );
  return content;
}

function checked(given: GivenFlags, path: string, content: unknown): unknown {
  try {
    kubeletSettings(given.parsed, content);
    return content;
  } catch (error) {
    throw new CommandError(
      `failed to load Kubelet config file ${path}: ${messageOf(error)}`,
      'The file must be a KubeletConfiguration of kubelet.config.k8s.io/v1beta1.',
    );
  }
}
