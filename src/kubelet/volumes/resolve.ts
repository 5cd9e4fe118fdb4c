/**
 * From a Pod's volumes to what has to lie on the node: sources are read through the API, and become files with names, contents and
 * modes. What may be missing (`optional`) is left out; what may not throws, in upstream's words.
 */

import { amountOf, podLimits } from '../../api/core/v1/pod-resources.ts';
import type {
  ConfigMap,
  DownwardAPIVolumeFile,
  KeyToPath,
  Pod,
  Secret,
  Volume,
  VolumeProjection,
} from '../../api/gen/core-v1.ts';
import { aggregate, quote } from '../../apimachinery/go-text.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { ephemeralCsiVolume, persistentCsiVolume } from '../csi/csi-volume.ts';
import { fieldValue, type PodSituation, resourceValue } from '../pods/downward.ts';
import { boundVolume, ClaimError } from './claims.ts';
import type { PayloadFile, VolumePayload } from './payload.ts';
import type { CertificateSource } from './pod-certificates.ts';
import type { VolumeSources } from './volume-sources.ts';

type Filled = Extract<VolumePayload, { readonly kind: 'files' }>;

export interface ResolvedVolume {
  readonly payload: VolumePayload;
  /** When its content is stale by itself: a token that must be renewed. */
  readonly renewAtMs?: number | undefined;
}

/** A volume that cannot be had now; `volume` names it. `operation` is what failed, default: its mount for the Pod. */
export class VolumeError extends Error {
  constructor(
    volume: string,
    message: string,
    { operation = 'MountVolume.SetUp', cause }: ErrorOptions & { readonly operation?: string } = {},
  ) {
    super(`${operation} failed for volume ${quote(volume)} : ${message}`, { cause });
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
    throw error instanceof VolumeError || error instanceof ClaimError
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
    const filled = (plugin: Filled['plugin'], files: readonly PayloadFile[]): Filled => ({
      ...this.#ownership(volume.name),
      kind: 'files',
      plugin,
      files,
    });
    if (volume.hostPath)
      return { name: volume.name, kind: 'hostPath', path: volume.hostPath.path, type: volume.hostPath.type ?? '' };
    if (volume.persistentVolumeClaim || volume.ephemeral) return this.#claim(volume);
    if (volume.csi)
      return { name: volume.name, kind: 'csi', volume: ephemeralCsiVolume(this.#pod, volume.name, volume.csi) };
    if (volume.configMap) {
      const { name = '', items, optional, defaultMode: mode = defaultMode } = volume.configMap;
      return filled('configmap', await this.#configMapFiles(name, items, optional, mode));
    }
    if (volume.secret) {
      const { secretName = '', items, optional, defaultMode: mode = defaultMode } = volume.secret;
      return filled('secret', await this.#secretFiles(secretName, items, optional, mode));
    }
    if (volume.downwardAPI) {
      const { items, defaultMode: mode = defaultMode } = volume.downwardAPI;
      return filled('downward-api', this.#downwardFiles(items, mode));
    }
    if (volume.projected) {
      const { sources = [], defaultMode: mode = defaultMode } = volume.projected;
      return filled('projected', lastOfEachPath(await this.#projections(volume.name, sources, mode)));
    }
    if (
      volume.emptyDir ||
      !Object.keys(volume).some((key) => key !== 'name' && volume[key as keyof Volume] !== undefined)
    )
      return this.#emptyDir(volume);
    throw new VolumeError(volume.name, 'no volume plugin matched');
  }

  /** What is bound to a claim. */
  async #claim(volume: Volume): Promise<VolumePayload> {
    const bound = await boundVolume(this.#sources.client, this.#pod, volume);
    const { metadata, spec } = bound.volume;
    const { name } = volume;
    const isReadOnly = volume.persistentVolumeClaim?.readOnly === true;
    if (spec.csi)
      return { name, kind: 'csi', volume: persistentCsiVolume(name, bound.volume, bound.claim, isReadOnly) };
    if (spec.hostPath) return { name, kind: 'hostPath', path: spec.hostPath.path, type: spec.hostPath.type ?? '' };
    if (!spec.local) throw new VolumeError(name, `no volume plugin matched for persistent volume ${metadata.name}`);
    const { path } = spec.local;
    if (spec.volumeMode === 'Block') return { name, kind: 'block', path, volume: metadata.name ?? '' };
    return isReadOnly ? { name, kind: 'local', path } : { ...this.#ownership(name), kind: 'local', path };
  }

  #ownership(name: string) {
    const { fsGroup, fsGroupChangePolicy } = this.#pod.spec.securityContext ?? {};
    return { name, fsGroup, fsGroupOnRootMismatch: fsGroupChangePolicy === 'OnRootMismatch' };
  }

  #emptyDir(volume: Volume): VolumePayload {
    const common = this.#ownership(volume.name);
    const { medium = '', sizeLimit } = volume.emptyDir ?? {};
    const sizeLimitBytes = sizeLimit ? amountOf('memory', sizeLimit) : undefined;
    if (medium === 'Memory')
      return { ...common, kind: 'emptyDir', medium: 'memory', sizeLimitBytes: this.#memorySize(sizeLimitBytes) };
    if (medium.startsWith('HugePages'))
      return { ...common, kind: 'emptyDir', medium: 'hugepages', pageBytes: hugepageBytes(this.#pod, medium) };
    return { ...common, kind: 'emptyDir', medium: 'disk', sizeLimitBytes };
  }

  /** Memory that a volume may take: what it asks for, but no more than its Pod may have, nor the node. */
  #memorySize(wanted: number | undefined): number | undefined {
    const { memory } = this.#situation.allocatable;
    const limits = memoryLimit(this.#pod);
    const ceilings = [memory === undefined ? 0 : amountOf('memory', memory), limits ?? 0, wanted ?? 0];
    const given = ceilings.filter((bytes) => bytes > 0);
    return given.length === 0 ? undefined : Math.min(...given);
  }

  /** All at a time, and all that is wrong with any of them is told at once. */
  async #projections(volume: string, sources: readonly VolumeProjection[], mode: number): Promise<PayloadFile[]> {
    const results = await Promise.allSettled(
      sources.map((source, index) => this.#projection(source, { volume, index, mode })),
    );
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [messageOf(result.reason)] : []));
    if (errors.length > 0) throw new Error(aggregate(errors));
    return results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  }

  async #projection(
    source: VolumeProjection,
    { volume, index, mode }: { readonly volume: string; readonly index: number; readonly mode: number },
  ): Promise<readonly PayloadFile[]> {
    if (source.configMap)
      return this.#configMapFiles(source.configMap.name ?? '', source.configMap.items, source.configMap.optional, mode);
    if (source.secret)
      return this.#secretFiles(source.secret.name ?? '', source.secret.items, source.secret.optional, mode);
    if (source.downwardAPI) return this.#downwardFiles(source.downwardAPI.items, mode);
    if (source.serviceAccountToken) return [await this.#tokenFile(source.serviceAccountToken, mode)];
    if (source.clusterTrustBundle) {
      const { path } = source.clusterTrustBundle;
      const anchors = await this.#sources.trust.anchors(source.clusterTrustBundle, this.#pod.metadata.uid ?? '');
      return [this.#private(path, anchors, mode)];
    }
    if (source.podCertificate)
      return this.#certificateFiles({ volume, index, projection: source.podCertificate }, mode);
    return [];
  }

  async #certificateFiles(source: CertificateSource, mode: number): Promise<readonly PayloadFile[]> {
    const { key, chain, renewAtMs } = await this.#sources.certificates.certificate(this.#pod, source);
    this.#renewAtMs = Math.min(this.#renewAtMs ?? renewAtMs, renewAtMs);
    const { credentialBundlePath, keyPath, certificateChainPath } = source.projection;
    return [
      [credentialBundlePath, key + chain],
      [keyPath, key],
      [certificateChainPath, chain],
    ].flatMap(([path, text = '']) => (path ? [this.#private(path, text, mode)] : []));
  }

  async #tokenFile(wish: NonNullable<VolumeProjection['serviceAccountToken']>, mode: number): Promise<PayloadFile> {
    const { token, renewAtMs } = await this.#sources.tokens.token(this.#pod, {
      audience: wish.audience ?? '',
      expirationSeconds: wish.expirationSeconds ?? 3600,
    });
    this.#renewAtMs = Math.min(this.#renewAtMs ?? renewAtMs, renewAtMs);
    return this.#private(wish.path, token, mode);
  }

  /** Nobody else's business: readable by its user, and the group of the volumes, where these are known, else by everyone in the Pod. */
  #private(path: string, text: string, mode: number): PayloadFile {
    const { fsGroup } = this.#pod.spec.securityContext ?? {};
    const uid = commonUser(this.#pod);
    const isOwned = fsGroup !== undefined || uid !== undefined;
    return { path, content: Buffer.from(text), mode: isOwned ? 0o600 : mode, uid };
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

/** Of the Pod as a whole; undefined where a container of it has none. */
function memoryLimit(pod: Pod): number | undefined {
  const isBounded =
    pod.spec.resources?.limits?.memory !== undefined ||
    pod.spec.containers.every(({ resources }) => resources?.limits?.memory !== undefined);
  return isBounded ? podLimits(pod).memory : undefined;
}

/** As the medium says, `HugePages-2Mi`; without a size the one that the Pod's containers ask for. */
function hugepageBytes(pod: Pod, medium: string): number {
  const prefix = 'hugepages-';
  const sized = /^HugePages-(.+)$/.exec(medium)?.[1];
  if (sized) return amountOf('memory', sized);
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const asked = all.flatMap(({ resources }) => Object.keys({ ...resources?.requests, ...resources?.limits }));
  const sizes = new Set(asked.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length)));
  if (sizes.size > 1) throw new Error(`medium: ${medium} can't be used if container requests multiple huge page sizes`);
  const [only] = sizes;
  if (only === undefined)
    throw new Error(`medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`);
  return amountOf('memory', only);
}
