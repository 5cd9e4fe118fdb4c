/**
 * Coracle's own pause image: the program that holds a Pod's namespaces open, as an OCI archive for x86-64 and arm64. The
 * composition root imports it into the runtime and names it as the sandbox image, so that nothing is pulled to start a node.
 */
import { pauseBinaries } from './gen/pause-binary.ts';
import { buildImage, ociArchive } from './oci-archive.ts';

/** Changes whenever the program does. */
export const pauseImageReference = 'coracle.local/pause:1';

export function pauseImageArchive(reference: string = pauseImageReference): Buffer {
  const architectures = ['amd64', 'arm64'] as const;
  return ociArchive(
    reference,
    architectures.map((architecture) =>
      buildImage({
        architecture,
        entries: [{ path: 'pause', mode: 0o755, content: Buffer.from(pauseBinaries[architecture], 'base64') }],
        config: { Entrypoint: ['/pause'] },
      }),
    ),
  );
}
