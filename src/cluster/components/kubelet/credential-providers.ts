/**
 * `--image-credential-provider-config` and `--image-credential-provider-bin-dir`: programs that give the kubelet credentials for images,
 * named in one file or in all files of a folder, and looked for before the kubelet starts.
 */
import { createHash } from 'node:crypto';
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { errorsText } from '../../../apimachinery/field-error.ts';
import { providerPrograms } from '../../../kubelet/host/provider-program.ts';
import {
  type CredentialProviderFields,
  credentialProvider,
  credentialProviderErrors,
} from '../../../kubelet/images/credential-provider-settings.ts';
import type { KubeletOptions } from '../../../kubelet/kubelet.ts';
import type { KubeletSettings } from '../../../kubelet/options.ts';
import { isGateOn } from '../../../serving/feature-gates.ts';
import { CommandError } from '../../command-error.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import { decodeAsWritten, parseConfiguration, readConfigurationText } from '../flags/configuration-file.ts';

const flag = '--image-credential-provider-config';
const group = 'kubelet.config.k8s.io';

/** Undefined where none is asked for. Throws a `CommandError` in upstream's words. */
export function credentialProviders(
  { credentialProviderConfig: path, credentialProviderBinDirectory: directory, featureGates }: KubeletSettings,
  { clock, machine }: ComponentEnvironment,
): KubeletOptions['credentialProviders'] {
  if (path === '' && directory === '') return undefined;
  if (!exists(directory)) throw refusal(`plugin binary directory ${directory} did not exist`);
  const { configHash, fields } = configured(path);
  const tokensAllowed = isGateOn(featureGates, 'KubeletServiceAccountTokenForCredentialProviders');
  const errors = credentialProviderErrors(fields, { tokensAllowed });
  if (errors.length > 0) throw refusal(`failed to validate credential provider config: ${errorsText(errors)}`);
  const providers = fields.map(credentialProvider);
  for (const { name } of providers) checkProgram(join(directory, name));
  return { providers, configHash, run: providerPrograms({ directory, environment: machine.environment, clock }) };
}

interface Configured {
  readonly fields: readonly CredentialProviderFields[];
  /** Over all files as they are, each with its length before it. */
  readonly configHash: string;
}

function configured(path: string): Configured {
  if (path === '') throw refusal('credential provider config path is empty');
  const hash = createHash('sha256');
  const fields = filesOf(path).flatMap((file) => {
    const text = readConfigurationText(file, flag);
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(Buffer.byteLength(text)));
    hash.update(length).update(text);
    const { providers: own } = decodeAsWritten(file, parseConfiguration(text, { path: file, flag }), {
      kind: 'CredentialProviderConfig',
      apiVersion: `${group}/v1`,
      olderVersions: [`${group}/v1beta1`, `${group}/v1alpha1`],
      flag,
    });
    return (own ?? []) as readonly CredentialProviderFields[];
  });
  const names = fields.map(({ name = '' }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined)
    throw refusal(`duplicate provider name ${JSON.stringify(twice)} found in configuration file(s)`);
  return { fields, configHash: `sha256:${hash.digest('hex')}` };
}

/** Of a folder all that end in .json, .yaml or .yml, in the order of their names. */
function filesOf(path: string): readonly string[] {
  if (!exists(path)) throw refusal(`unable to access path ${JSON.stringify(path)}: no such file or directory`);
  if (!statSync(path).isDirectory()) return [path];
  const files = readdirSync(path, { withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && ['.json', '.yaml', '.yml'].includes(extname(entry.name)))
    .map(({ name }) => join(path, name))
    .sort();
  if (files.length === 0) throw refusal(`no configuration files found in directory ${JSON.stringify(path)}`);
  return files;
}

function checkProgram(path: string): void {
  if (!exists(path)) throw refusal(`plugin binary executable ${path} did not exist`);
  try {
    accessSync(path, constants.X_OK);
  } catch {
    throw refusal(`error inspecting binary executable ${path}: exec: ${JSON.stringify(path)}: permission denied`);
  }
}

const exists = (path: string) => statSync(path, { throwIfNoEntry: false }) !== undefined;

const refusal = (problem: string) =>
  new CommandError(
    `failed to register CRI auth plugins: ${problem}`,
    `Correct what ${flag} and --image-credential-provider-bin-dir name, or leave both out.`,
  );
