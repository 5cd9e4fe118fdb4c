/**
 * Credentials for registries that belong to the node itself: files as the docker program writes them, in folders of the node's
 * administrator. The first `config.json` that can be read counts, or else the first `.dockercfg`; every Pod of the node may use what it
 * says. Read anew after five minutes.
 */
import { isObject } from '../../apimachinery/patch/merge-patch.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { authParts, Keyring, type RegistryEntry, type SourcedCredentials } from './credentials.ts';

export interface NodeCredentialFiles {
  /** Paths of files in the newer form, then of files in the older one, in the order in which they are looked at. */
  readonly configJson: readonly string[];
  readonly dockercfg: readonly string[];
  /** Undefined where there is no such file. */
  read(path: string): Promise<string | undefined>;
}

export interface NodeCredentialsOptions {
  readonly files: NodeCredentialFiles;
  readonly clock: Clock;
  readonly log: Log;
}

const lifetimeMs = 5 * 60_000;

export class NodeCredentials {
  readonly #options: NodeCredentialsOptions;
  #keyring: Promise<Keyring> | undefined;
  #untilMs = 0;

  constructor(options: NodeCredentialsOptions) {
    this.#options = options;
  }

  async lookup(image: string): Promise<readonly SourcedCredentials[]> {
    const now = this.#options.clock.monotonic();
    if (!this.#keyring || now >= this.#untilMs) {
      this.#keyring = this.#read();
      this.#untilMs = now + lifetimeMs;
    }
    return (await this.#keyring).lookup(image);
  }

  async #read(): Promise<Keyring> {
    const { configJson, dockercfg } = this.#options.files;
    const keyring = new Keyring();
    const entries =
      (await this.#firstOf(configJson, (config) => (isObject(config) ? (config.auths ?? {}) : undefined))) ??
      (await this.#firstOf(dockercfg, (config) => config)) ??
      {};
    for (const [registry, entry] of Object.entries(entries)) keyring.add(registry, entry);
    return keyring;
  }

  async #firstOf(
    paths: readonly string[],
    registriesOf: (config: unknown) => unknown,
  ): Promise<Readonly<Record<string, RegistryEntry>> | undefined> {
    const { files, log } = this.#options;
    for (const path of paths) {
      const text = await files.read(path).catch(() => undefined);
      if (text === undefined) continue;
      const entries = entriesOf(registriesOf(parsed(text)));
      if (entries) return entries;
      // What it says stays untold: it may hold passwords.
      log.debug('cannot read registry credentials of the node', { path });
    }
    return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Undefined when one of them is not what it should be: then nothing of the file counts. */
function entriesOf(registries: unknown): Readonly<Record<string, RegistryEntry>> | undefined {
  if (!isObject(registries)) return undefined;
  const entries: [string, RegistryEntry][] = [];
  for (const [registry, entry] of Object.entries(registries)) {
    if (!isObject(entry)) return undefined;
    const { auth = '', username = '', password = '' } = entry;
    if (typeof auth !== 'string' || typeof username !== 'string' || typeof password !== 'string') return undefined;
    if (auth !== '' && !authParts(auth)) return undefined;
    entries.push([registry, { auth, username, password }]);
  }
  return Object.fromEntries(entries);
}
