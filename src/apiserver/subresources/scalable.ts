/** What the objects of a kind have to tell for a Scale to be made of them. */
import type { Draft, KubeObject } from '../../apimachinery/meta.ts';

/** Where the objects of a kind keep what a Scale shows. */
export interface Scalable {
  /** `replicas` undefined: the object does not say. Throws `StatusError` for what cannot be read. */
  read(object: KubeObject): {
    readonly replicas: number | undefined;
    readonly statusReplicas: number;
    readonly selector: string;
  };
  write(object: Draft<KubeObject>, replicas: number): void;
  /** When an object does not say its replicas: what a read answers, and what an update that leaves them open does. */
  readonly unset?: { read(): Error; update(): Error } | undefined;
}
