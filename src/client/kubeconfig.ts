/**
 * Kubeconfig files: read, choose a context, build what a transport needs, write and merge. Files are read through a function that
 * the caller gives; relative paths inside a kubeconfig are relative to its own folder. Fields this file does not know are kept.
 */
import { isAbsolute, join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { yamlLibrary } from '../base/lazy-module.ts';
import type { HttpTransportOptions, TlsOptions } from './http-transport.ts';

export interface KubeconfigCluster {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'certificate-authority'?: string;
  /** Base64 of PEM, as all `-data` fields. */
  readonly 'certificate-authority-data'?: string;
  readonly [other: string]: unknown;
}

export interface KubeconfigUser {
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly as?: string;
  readonly 'as-uid'?: string;
  readonly 'as-groups'?: readonly string[];
  readonly 'as-user-extra'?: Readonly<Record<string, readonly string[]>>;
  readonly exec?: unknown;
  readonly [other: string]: unknown;
}

export interface KubeconfigContext {
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string;
  readonly [other: string]: unknown;
}

export interface Kubeconfig {
  readonly clusters: Readonly<Record<string, KubeconfigCluster>>;
  readonly users: Readonly<Record<string, KubeconfigUser>>;
  readonly contexts: Readonly<Record<string, KubeconfigContext>>;
  readonly currentContext: string;
  /** Preferences, extensions and whatever else stood at the top. */
  readonly other: Readonly<Record<string, unknown>>;
}

export interface SelectedContext {
  readonly name: string;
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
  readonly namespace: string;
}

export const emptyKubeconfig: Kubeconfig = { clusters: {}, users: {}, contexts: {}, currentContext: '', other: {} };

/** Throws an `Error` that says what is wrong. `folder` is where the file lies: relative paths become absolute. */
export function parseKubeconfig(text: string, folder?: string): Kubeconfig {
  const document: unknown = yamlLibrary().parse(text) ?? {};
  if (typeof document !== 'object' || Array.isArray(document)) throw new Error('a kubeconfig must be a mapping');
  const { apiVersion, kind, clusters, users, contexts, ...rest } = document as Record<string, unknown>;
  if (kind !== undefined && kind !== 'Config') throw new Error(`not a kubeconfig: kind is ${JSON.stringify(kind)}`);
  if (apiVersion !== undefined && apiVersion !== 'v1') {
    throw new Error(`not a kubeconfig of version v1: apiVersion is ${JSON.stringify(apiVersion)}`);
  }
  const { 'current-context': currentContext = '', ...other } = rest;
  return {
    clusters: named<KubeconfigCluster>(clusters, 'cluster', (entry) => absolute(entry, clusterFiles, folder)),
    users: named<KubeconfigUser>(users, 'user', (entry) => absolute(entry, userFiles, folder)),
    contexts: named<KubeconfigContext>(contexts, 'context', (entry) => entry),
    currentContext: String(currentContext ?? ''),
    other,
  };
}

const clusterFiles = ['certificate-authority'];
const userFiles = ['client-certificate', 'client-key', 'tokenFile'];

/** YAML text. Its readers must be the owner alone: it holds keys. */
export function formatKubeconfig(config: Kubeconfig): string {
  const list = (entries: object, field: string) =>
    Object.entries(entries).map(([name, value]) => ({ [field]: value, name }));
  return yamlLibrary().stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: list(config.clusters, 'cluster'),
    contexts: list(config.contexts, 'context'),
    'current-context': config.currentContext,
    users: list(config.users, 'user'),
    ...config.other,
  });
}

/** `into` with the entries of `from`, which win where names are equal; the current context is `from`'s if it has one. */
export function mergeKubeconfig(into: Kubeconfig, from: Kubeconfig): Kubeconfig {
  return {
    clusters: { ...into.clusters, ...from.clusters },
    users: { ...into.users, ...from.users },
    contexts: { ...into.contexts, ...from.contexts },
    currentContext: from.currentContext || into.currentContext,
    other: { ...into.other, ...from.other },
  };
}

/** `config` without the context of that name, and without its cluster and user where no other context names them. */
export function withoutContext(config: Kubeconfig, name: string): Kubeconfig {
  const gone = own(config.contexts, name);
  if (!gone) return config;
  const contexts = without(config.contexts, name);
  const rest = Object.values(contexts);
  return {
    ...config,
    contexts,
    clusters: rest.some(({ cluster }) => cluster === gone.cluster)
      ? config.clusters
      : without(config.clusters, gone.cluster),
    users: rest.some(({ user }) => user === gone.user) ? config.users : without(config.users, gone.user),
    currentContext: config.currentContext === name ? '' : config.currentContext,
  };
}

/** The kubeconfig of one cluster and one user. */
export function kubeconfigOf(entry: {
  readonly name: string;
  readonly server: string;
  readonly caPem?: string;
  readonly user: KubeconfigUser;
  readonly userName?: string;
  readonly namespace?: string;
}): Kubeconfig {
  const userName = entry.userName ?? entry.name;
  const ca = entry.caPem === undefined ? {} : { 'certificate-authority-data': base64(entry.caPem) };
  return {
    clusters: { [entry.name]: { server: entry.server, ...ca } },
    users: { [userName]: entry.user },
    contexts: {
      [entry.name]: {
        cluster: entry.name,
        user: userName,
        ...(entry.namespace === undefined ? {} : { namespace: entry.namespace }),
      },
    },
    currentContext: entry.name,
    other: {},
  };
}

/** A user who shows a certificate. */
export function certificateUser(certificatePem: string, keyPem: string): KubeconfigUser {
  return { 'client-certificate-data': base64(certificatePem), 'client-key-data': base64(keyPem) };
}

/** The named context, or the current one. Throws where something is missing. */
export function selectContext(config: Kubeconfig, name = config.currentContext): SelectedContext {
  if (name === '') throw new Error('the kubeconfig names no current context');
  const context = own(config.contexts, name);
  if (!context) throw new Error(`context ${JSON.stringify(name)} does not exist`);
  const cluster = own(config.clusters, context.cluster);
  if (!cluster?.server) throw new Error(`cluster ${JSON.stringify(context.cluster)} does not exist`);
  const user = context.user ? own(config.users, context.user) : {};
  if (!user) throw new Error(`user ${JSON.stringify(context.user)} does not exist`);
  return { name, cluster, user, namespace: context.namespace || 'default' };
}

export interface KubeconfigReading {
  readonly clock: Clock;
  /** Reads a whole file; called for certificates now and for a token file again and again. */
  readonly readFile: (path: string) => Promise<string>;
  /** Context to use instead of the current one. */
  readonly context?: string | undefined;
}

/** What `createHttpTransport` needs to reach the chosen context's cluster as its user. */
export async function transportOptions(config: Kubeconfig, reading: KubeconfigReading): Promise<HttpTransportOptions> {
  const { cluster, user } = selectContext(config, reading.context);
  if (user.exec !== undefined) throw new Error('kubeconfig users with exec plugins are not supported');
  const { readFile, clock } = reading;
  const pem = async (data: string | undefined, path: string | undefined) => {
    if (data) return Buffer.from(data, 'base64').toString();
    return path ? await readFile(path) : undefined;
  };
  const tls: TlsOptions = {
    ca: await pem(cluster['certificate-authority-data'], cluster['certificate-authority']),
    cert: await pem(user['client-certificate-data'], user['client-certificate']),
    key: await pem(user['client-key-data'], user['client-key']),
    serverName: cluster['tls-server-name'],
    insecureSkipVerify: cluster['insecure-skip-tls-verify'],
  };
  return { server: cluster.server, clock, tls, ...credentials(user, reading) };
}

function credentials(user: KubeconfigUser, reading: KubeconfigReading): Partial<HttpTransportOptions> {
  const { username, password = '', tokenFile, token } = user;
  return {
    ...(tokenFile ? { token: fileToken(tokenFile, reading) } : token ? { token } : {}),
    ...(username ? { basicAuth: { username, password } } : {}),
    ...(user.as
      ? {
          impersonate: {
            user: user.as,
            uid: user['as-uid'],
            groups: user['as-groups'],
            extra: user['as-user-extra'],
          },
        }
      : {}),
  };
}

const tokenFreshMs = 60_000;

/** The token in a file, read again when a minute has passed: mounted tokens are replaced before they expire. */
export function fileToken(
  path: string,
  reading: { readonly clock: Clock; readonly readFile: (path: string) => Promise<string> },
): () => Promise<string> {
  const { clock, readFile } = reading;
  let known: { readonly token: string; readonly readAtMs: number } | undefined;
  return async () => {
    if (known && clock.monotonic() - known.readAtMs < tokenFreshMs) return known.token;
    try {
      const token = (await readFile(path)).trim();
      if (token === '') throw new Error(`token file ${path} is empty`);
      known = { token, readAtMs: clock.monotonic() };
    } catch (error) {
      // A file that is just being replaced: the old token is good for a while.
      if (!known) throw error;
    }
    return known.token;
  };
}

function named<T>(value: unknown, field: string, map: (entry: T) => T): Record<string, T> {
  if (value === undefined || value === null) return {};
  if (!Array.isArray(value)) throw new Error(`kubeconfig: ${field}s must be a list`);
  const entries: Record<string, T> = {};
  for (const item of value) {
    const entry = item as { readonly name?: unknown } & Readonly<Record<string, unknown>>;
    const name = String(entry?.name ?? '');
    // Of equal names the first counts, as in kubectl.
    if (!Object.hasOwn(entries, name)) entries[name] = map((entry?.[field] ?? {}) as T);
  }
  return entries;
}

function absolute<T extends object>(entry: T, fields: readonly string[], folder: string | undefined): T {
  if (folder === undefined) return entry;
  const resolved = { ...entry } as Record<string, unknown>;
  for (const field of fields) {
    const path = resolved[field];
    if (typeof path === 'string' && path !== '' && !isAbsolute(path)) resolved[field] = join(folder, path);
  }
  return resolved as T;
}

function own<T>(entries: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}

function without<T>(entries: Readonly<Record<string, T>>, name: string): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([other]) => other !== name));
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
