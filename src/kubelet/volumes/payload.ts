/** What a volume consists of once its sources are resolved: the form in which volumes reach the host. */
import type { CsiVolume } from '../csi/csi-volume.ts';

export interface PayloadFile {
  /** Relative to the volume, without `..`. */
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number;
  /** Owner other than root's: the token of a Pod that runs as one user. */
  readonly uid?: number | undefined;
}

export type VolumePayload = LocalPayload | { readonly kind: 'csi'; readonly name: string; readonly volume: CsiVolume };

/** What the host itself makes. */
export type LocalPayload = {
  readonly name: string;
  /** Group that shall own it. */
  readonly fsGroup?: number | undefined;
  readonly fsGroupOnRootMismatch?: boolean | undefined;
} & (
  | {
      readonly kind: 'emptyDir';
      /** `hugepages` are a file system of their own, with pages of `pageBytes`. */
      readonly medium: 'disk' | 'memory' | 'hugepages';
      readonly sizeLimitBytes?: number | undefined;
      readonly pageBytes?: number | undefined;
    }
  | { readonly kind: 'hostPath'; readonly path: string; readonly type: string }
  /** A folder of this node that outlives the Pod. */
  | { readonly kind: 'local'; readonly path: string }
  /** A disk that containers get whole, as a device. */
  /** `volume`: name of the PersistentVolume. */
  | { readonly kind: 'block'; readonly path: string; readonly volume: string }
  | {
      readonly kind: 'files';
      readonly plugin: 'configmap' | 'secret' | 'downward-api' | 'projected';
      readonly files: readonly PayloadFile[];
    }
);
