/** One way between two versions of a resource; which there are, `conversions.ts` knows. */
import type { Draft, KubeObject } from '../apimachinery/meta.ts';

export interface Conversion {
  /** True where the versions differ in apiVersion alone, so that encoded bytes can be shared. */
  readonly identity: boolean;
  /** Takes a draft over: the result may be the same value, changed in place. */
  toHub(object: Draft<KubeObject>): Draft<KubeObject>;
  /** A new object; shares parts with the given one and leaves it as it is. */
  fromHub(object: KubeObject): KubeObject;
}
