/**
 * From a Pod's volumes to what has to lie on the node: sources are read through the API, and become files with names, contents and
 * modes. What may be missing (`optional`) is left out; what may not throws, in upstream's words.
 */

import { amountOf } from '../../api/core/v1/pod-resources.ts';
import type {
  ConfigMap,
  DownwardAPIVolumeFile,
  KeyToPath,
  PersistentVolume,
  Pod,
  Secret,
  Volume,
  VolumeProjection,
} from '../../api/gen/core-v1.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../api/gen/core-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import type { Client } from '../../client/client.ts';
import { fieldValue, type PodSituation, resourceValue } from '../pods/downward.ts';
import type { PayloadFile, VolumePayload } from './payload.ts';
import type { ReferencedObjects } from './referenced-objects.ts';
import type { ServiceAccountTokens } from './service-account-tokens.ts';

export interface VolumeSources {
  readonly client: Client;
  readonly objects: ReferencedObjects;
  readonly tokens: ServiceAccountTokens;
}

export interface ResolvedVolume {
  readonly payload: VolumePayload;
  /** When its content is stale by itself: a token that must be renewed. */
  readonly renewAtMs?: number | undefined;
}

/** A volume that cannot be had now; `volume` names it. */
export class VolumeError extends Error {
  constructor(volume: string, message: string, options?: ErrorOptions) {
    super(`MountVolume.SetUp failed for volume ${quote(volume)} : ${message}`, options);
    this.name = 'VolumeError';
  }
}

const defaultMode = 0o644;

export async function resolveVolume(
  pod: Pod,
  volume: Volume,
  situation: PodSituation,
  sources: VolumeSources,
): Promise<ResolvedVolume> {
  try {
    return await new VolumeResolver(pod, situation, sources).resolve(volume);
  } catch (error) {
    throw error instanceof VolumeError
      ? error
      : new VolumeError(volume.name, error instanceof Error ? error.message : String(error), { cause: error });
  }
}

class VolumeResolver {
  readonly #pod: Pod;
  readonly #situation: PodSituation;
  readonly #sources: VolumeSources;
  #renewAtMs: number | undefined;

  constructor(pod: Pod, situation: PodSituation, sources: VolumeSources) {
    this.#pod = pod;
    this.#situation = situation;
    this.#sources = sources;
  }

  async resolve(volume: Volume): Promise<ResolvedVolume> {
    const payload = await this.#payload(volume);
    return { payload, renewAtMs: this.#renewAtMs };
  }

  async #payload(volume: Volume): Promise<VolumePayload> {
    const security = this.#pod.spec.securityContext;
    const common = {
      name: volume.name,
      fsGroup: security?.fsGroup,
      fsGroupOnRootMismatch: security?.fsGroupChangePolicy === 'OnRootMismatch',
    };
    if (volume.hostPath)
      return { name: volume.name, kind: 'hostPath', path: volume.hostPath.path, type: volume.hostPath.type ?? '' };
    if (volume.persistentVolumeClaim) return this.#claim(volume.name, volume.persistentVolumeClaim.claimName);
    if (volume.configMap) {
      const { name = '', items, optional, defaultMode: mode = defaultMode } = volume.configMap;
      return {
        ...common,
        kind: 'files',
        plugin: 'configmap',
        files: await this.#configMapFiles(name, items, optional, mode),
      };
    }
    if (volume.secret) {
      const { secretName = '', items, optional, defaultMode: mode = defaultMode } = volume.secret;
      return {
        ...common,
        kind: 'files',
        plugin: 'secret',
        files: await this.#secretFiles(secretName, items, optional, mode),
      };
    }
    if (volume.downwardAPI) {
      const { items, defaultMode: mode = defaultMode } = volume.downwardAPI;
      return { ...common, kind: 'files', plugin: 'downward-api', files: this.#downwardFiles(items, mode) };
    }
    if (volume.projected) {
      const { sources = [], defaultMode: mode = defaultMode } = volume.projected;
      const parts: (readonly PayloadFile[])[] = [];
      for (const source of sources) parts.push(await this.#projection(source, mode));
      return { ...common, kind: 'files', plugin: 'projected', files: lastOfEachPath(parts.flat()) };
    }
    if (
      volume.emptyDir ||
      !Object.keys(volume).some((key) => key !== 'name' && volume[key as keyof Volume] !== undefined)
    ) {
      const limit = volume.emptyDir?.sizeLimit;
      return {
        ...common,
        kind: 'emptyDir',
        medium: volume.emptyDir?.medium ?? '',
        sizeLimitBytes: limit ? amountOf('memory', limit) : undefined,
      };
    }
    throw new VolumeError(volume.name, 'no volume plugin matched');
  }

  /** A bound claim on a directory of this node. */
  async #claim(name: string, claimName: string): Promise<VolumePayload> {
    const { client } = this.#sources;
    const namespace = this.#pod.metadata.namespace;
    const claim = await client.get(persistentVolumeClaims, { namespace, name: claimName });
    const volumeName = claim.spec.volumeName;
    if (!volumeName || claim.status?.phase !== 'Bound')
      throw new VolumeError(name, `PVC ${namespace}/${claimName} is not bound`);
    const volume: PersistentVolume = await client.get(persistentVolumes, { name: volumeName });
    const path = volume.spec.local?.path ?? volume.spec.hostPath?.path;
    if (!path) throw new VolumeError(name, `no volume plugin matched for persistent volume ${volumeName}`);
    return { name, kind: 'hostPath', path, type: volume.spec.hostPath?.type ?? 'Directory' };
  }

  async #projection(source: VolumeProjection, mode: number): Promise<readonly PayloadFile[]> {
    if (source.configMap)
      return this.#configMapFiles(source.configMap.name ?? '', source.configMap.items, source.configMap.optional, mode);
    if (source.secret)
      return this.#secretFiles(source.secret.name ?? '', source.secret.items, source.secret.optional, mode);
    if (source.downwardAPI) return this.#downwardFiles(source.downwardAPI.items, mode);
    if (source.serviceAccountToken) return [await this.#tokenFile(source.serviceAccountToken, mode)];
    if (source.clusterTrustBundle?.optional) return [];
    throw new Error('projected volume source is not supported by this kubelet');
  }

  async #tokenFile(wish: NonNullable<VolumeProjection['serviceAccountToken']>, mode: number): Promise<PayloadFile> {
    const { token, renewAtMs } = await this.#sources.tokens.token(this.#pod, {
      audience: wish.audience ?? '',
      expirationSeconds: wish.expirationSeconds ?? 3600,
    });
    this.#renewAtMs = Math.min(this.#renewAtMs ?? renewAtMs, renewAtMs);
    const { fsGroup } = this.#pod.spec.securityContext ?? {};
    const uid = fsGroup === undefined ? commonUser(this.#pod) : undefined;
    // A token is nobody else's business: readable by its user alone where that user is known, else by everyone in the Pod.
    const tokenMode = fsGroup !== undefined || uid !== undefined ? 0o600 : mode;
    return { path: wish.path, content: Buffer.from(token), mode: tokenMode, uid };
  }

  async #configMapFiles(
    name: string,
    items: readonly KeyToPath[] | undefined,
    optional: boolean | undefined,
    mode: number,
  ) {
    const { namespace = '', uid = '' } = this.#pod.metadata;
    const found: ConfigMap | undefined = await this.#sources.objects.configMap(namespace, name, uid);
    if (!found && !optional) throw new Error(`configmap ${quote(name)} not found`);
    const entries = new Map<string, Buffer>();
    for (const [key, text] of Object.entries(found?.data ?? {})) entries.set(key, Buffer.from(text));
    for (const [key, base64] of Object.entries(found?.binaryData ?? {}))
      entries.set(key, Buffer.from(base64, 'base64'));
    return project(entries, items, { mode, optional, missing: 'config' });
  }

  async #secretFiles(
    name: string,
    items: readonly KeyToPath[] | undefined,
    optional: boolean | undefined,
    mode: number,
  ) {
    const { namespace = '', uid = '' } = this.#pod.metadata;
    const found: Secret | undefined = await this.#sources.objects.secret(namespace, name, uid);
    if (!found && !optional) throw new Error(`secret ${quote(name)} not found`);
    const entries = new Map(
      Object.entries(found?.data ?? {}).map(([key, base64]) => [key, Buffer.from(base64, 'base64')]),
    );
    return project(entries, items, { mode, optional, missing: 'secret' });
  }

  #downwardFiles(items: readonly DownwardAPIVolumeFile[] | undefined, mode: number): readonly PayloadFile[] {
    return (items ?? []).map((item) => ({
      path: item.path,
      mode: item.mode ?? mode,
      content: Buffer.from(this.#downwardValue(item)),
    }));
  }

  #downwardValue(item: DownwardAPIVolumeFile): string {
    if (item.fieldRef) return fieldValue(this.#pod, item.fieldRef.fieldPath, this.#situation);
    if (!item.resourceFieldRef) return '';
    const { containerName } = item.resourceFieldRef;
    const { containers, initContainers = [] } = this.#pod.spec;
    const container = [...containers, ...initContainers].find(({ name }) => name === containerName);
    if (!container) throw new Error(`container ${containerName} not found`);
    return resourceValue(container, item.resourceFieldRef, this.#situation);
  }
}

function project(
  entries: ReadonlyMap<string, Buffer>,
  items: readonly KeyToPath[] | undefined,
  options: { readonly mode: number; readonly optional: boolean | undefined; readonly missing: 'config' | 'secret' },
): readonly PayloadFile[] {
  if (!items || items.length === 0)
    return [...entries].map(([path, content]) => ({ path, content, mode: options.mode }));
  return items.flatMap(({ key, path, mode }) => {
    const content = entries.get(key);
    if (content) return [{ path, content, mode: mode ?? options.mode }];
    if (options.optional) return [];
    throw new Error(`references non-existent ${options.missing} key: ${key}`);
  });
}

function lastOfEachPath(files: readonly PayloadFile[]): readonly PayloadFile[] {
  return [...new Map(files.map((file) => [file.path, file])).values()];
}

/** The user that all containers run as, when they agree on one. */
function commonUser(pod: Pod): number | undefined {
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const users = new Set(
    all.map((container) => container.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser),
  );
  return users.size === 1 ? [...users][0] : undefined;
}
