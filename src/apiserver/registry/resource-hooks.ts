/**
 * What a resource does to the rest of the world when its objects come and go: addresses and ports of Services are allocated
 * before a write and given back when it fails or the object goes. Unlike admission, hooks see the object the strategies see.
 */
import type { Draft, KubeObject } from '../../apimachinery/meta.ts';

/** Ends what `begin...` began: `kept` tells whether the write succeeded. */
export type FinishHook = (kept: boolean) => Promise<void> | void;

export interface HookContext {
  readonly dryRun: boolean;
}

export interface ResourceHooks {
  /** Before the strategies of a creation; may change the object, and refuse by throwing. */
  beginCreate?(object: Draft<KubeObject>, context: HookContext): Promise<FinishHook | undefined>;
  beginUpdate?(object: Draft<KubeObject>, previous: KubeObject, context: HookContext): Promise<FinishHook | undefined>;
  /** After the object has gone from the store. */
  afterDelete?(object: KubeObject): Promise<void> | void;
}

export const noHooks: ResourceHooks = {};
