/**
 * Files of one volume that stand in each other's way: two keys at one path, or a file where another wants a directory. The volume is made,
 * but the last one wins, or the Pod does not start.
 */
import { quote } from '../../../apimachinery/go-text.ts';
import type { Volume, VolumeProjection } from '../../gen/core-v1.ts';

interface PathOfSource {
  readonly path: string;
  /** Empty where the volume has but one source. */
  readonly source: string;
}

interface Item {
  readonly path: string;
}

export function overlapWarnings({ name, configMap, secret, downwardAPI, projected }: Volume): string[] {
  const told = (what: () => string, paths: readonly PathOfSource[]) =>
    overlapsOf(paths).map((overlap) => `volume ${quote(name)} (${what()}): overlapping paths: ${overlap}`);
  const warnings = [
    ...told(() => `ConfigMap ${quote(configMap?.name ?? '')}`, pathsOf(configMap?.items)),
    ...told(() => `Secret ${quote(secret?.secretName ?? '')}`, pathsOf(secret?.items)),
    ...told(() => 'DownwardAPI', pathsOf(downwardAPI?.items)),
  ];
  if (!projected) return warnings;
  const sources = projected.sources ?? [];
  const empty = sources.filter((source) => Object.values(source).every((part) => part == null));
  return [
    ...warnings,
    ...empty.map(() => `volume ${quote(name)} (Projected) has no sources provided`),
    ...told(() => 'Projected', sources.flatMap(projectedPaths)),
  ];
}

function pathsOf(items: readonly Item[] | undefined, source = ''): PathOfSource[] {
  return (items ?? []).map(({ path }) => ({ path, source }));
}

function projectedPaths(projection: VolumeProjection): PathOfSource[] {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = projection;
  if (configMap?.items) return pathsOf(configMap.items, `ConfigMap ${quote(configMap.name ?? '')}`);
  if (secret?.items) return pathsOf(secret.items, `Secret ${quote(secret.name ?? '')}`);
  if (downwardAPI?.items) return pathsOf(downwardAPI.items, 'DownwardAPI');
  if (serviceAccountToken) return [{ path: serviceAccountToken.path, source: 'ServiceAccountToken' }];
  if (clusterTrustBundle) {
    const name = clusterTrustBundle.name ?? clusterTrustBundle.signerName ?? '';
    return [{ path: clusterTrustBundle.path, source: `ClusterTrustBundle ${quote(name)}` }];
  }
  const certificate = [
    { path: podCertificate?.certificateChainPath ?? '', source: 'PodCertificate chain' },
    { path: podCertificate?.keyPath ?? '', source: 'PodCertificate key' },
    { path: podCertificate?.credentialBundlePath ?? '', source: 'PodCertificate credential bundle' },
  ];
  return certificate.filter(({ path }) => path !== '');
}

/** `"a/b" with "a"`: each path with those before it that it meets. */
function overlapsOf(paths: readonly PathOfSource[]): string[] {
  if (paths.length < 2) return [];
  const trimmed = paths.map(({ path, source }) => ({ path: path.replace(/\/+$/, ''), source }));
  return trimmed.flatMap((path, index) =>
    trimmed
      .slice(0, index)
      .filter((other) => meet(path.path, other.path))
      .map((other) => `${pathText(path)} with ${pathText(other)}`),
  );
}

function meet(a: string, b: string): boolean {
  return a !== '' && b !== '' && (`${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`));
}

function pathText({ path, source }: PathOfSource): string {
  return source === '' ? quote(path) : `${quote(path)} (${source})`;
}
