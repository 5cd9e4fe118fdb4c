/**
 * Container images made in memory: files become a layer, the layer an image, the image an OCI layout in one tar archive, which
 * any runtime imports. Deterministic: the same input gives the same digest.
 */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

export interface ImageEntry {
  /** Without leading slash. */
  readonly path: string;
  readonly mode?: number;
  /** A file's content; a `link` is a symbolic link; neither: a directory. */
  readonly content?: Uint8Array | string;
  readonly link?: string;
  readonly uid?: number;
  readonly gid?: number;
}

/** The part of an image's configuration that the runtime reads: `Entrypoint`, `Cmd`, `Env`, `User`, `WorkingDir`, `StopSignal`. */
export interface ImageConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly StopSignal?: string;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
}

export interface OciImage {
  readonly architecture: 'amd64' | 'arm64';
  readonly entries: readonly ImageEntry[];
  readonly config: ImageConfig;
}

export interface OciBlob {
  readonly digest: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
}

export interface BuiltImage {
  readonly manifest: OciBlob;
  readonly config: OciBlob;
  readonly layer: OciBlob;
  readonly architecture: 'amd64' | 'arm64';
}

const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
};

export function buildImage(image: OciImage): BuiltImage {
  const tar = tarArchive(image.entries);
  const layer = blob(mediaTypes.layer, gzipSync(tar));
  const config = blob(
    mediaTypes.config,
    json({
      architecture: image.architecture,
      os: 'linux',
      config: image.config,
      rootfs: { type: 'layers', diff_ids: [digestOf(tar)] },
      history: [{ created: '1970-01-01T00:00:00Z', created_by: 'coracle' }],
    }),
  );
  const manifest = blob(
    mediaTypes.manifest,
    json({ schemaVersion: 2, mediaType: mediaTypes.manifest, config: descriptor(config), layers: [descriptor(layer)] }),
  );
  return { manifest, config, layer, architecture: image.architecture };
}

/** An OCI layout with one image, or one per architecture, named `reference` (`registry/name:tag`). */
export function ociArchive(reference: string, images: readonly BuiltImage[]): Buffer {
  const annotations = {
    'io.containerd.image.name': reference,
    'org.opencontainers.image.ref.name': reference.split(':').at(-1)!,
  };
  const manifests = images.map((image) => ({
    ...descriptor(image.manifest),
    platform: { architecture: image.architecture, os: 'linux' },
  }));
  const blobs = new Map(
    images.flatMap((image) => [image.manifest, image.config, image.layer]).map((one) => [one.digest, one]),
  );
  let root: object = manifests[0]!;
  if (images.length > 1) {
    const index = blob(mediaTypes.index, json({ schemaVersion: 2, mediaType: mediaTypes.index, manifests }));
    blobs.set(index.digest, index);
    root = descriptor(index);
  }
  return tarArchive([
    { path: 'oci-layout', content: '{"imageLayoutVersion":"1.0.0"}' },
    { path: 'index.json', content: json({ schemaVersion: 2, manifests: [{ ...root, annotations }] }) },
    { path: 'blobs' },
    { path: 'blobs/sha256' },
    ...[...blobs.values()].map(({ digest, bytes }) => ({
      path: `blobs/sha256/${digest.slice('sha256:'.length)}`,
      content: bytes,
    })),
  ]);
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const digestOf = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const blob = (mediaType: string, bytes: Buffer): OciBlob => ({ mediaType, bytes, digest: digestOf(bytes) });
const descriptor = ({ mediaType, digest, bytes }: OciBlob) => ({ mediaType, digest, size: bytes.length });

const blockBytes = 512;

/** The ustar format: a header block and the padded content per entry, closed by two empty blocks. */
function tarArchive(entries: readonly ImageEntry[]): Buffer {
  const blocks: Buffer[] = [];
  for (const entry of entries) {
    const content = entry.content === undefined ? Buffer.alloc(0) : Buffer.from(entry.content);
    blocks.push(
      tarHeader(entry, content.length),
      content,
      Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes),
    );
  }
  return Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]);
}

function tarHeader(entry: ImageEntry, size: number): Buffer {
  const header = Buffer.alloc(blockBytes);
  const isDirectory = entry.content === undefined && entry.link === undefined;
  const name = isDirectory ? `${entry.path}/` : entry.path;
  if (Buffer.byteLength(name) > 100) throw new RangeError(`path too long for an image entry: ${name}`);
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  header.write(name, 0);
  octal(entry.mode ?? (isDirectory ? 0o755 : entry.link === undefined ? 0o644 : 0o777), 100, 8);
  octal(entry.uid ?? 0, 108, 8);
  octal(entry.gid ?? 0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  header.write(isDirectory ? '5' : entry.link === undefined ? '0' : '2', 156, 'latin1');
  if (entry.link !== undefined) header.write(entry.link, 157);
  header.write('ustar\x0000', 257, 'latin1');
  // The checksum counts its own field as spaces.
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}
