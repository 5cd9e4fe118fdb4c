/** Update strategies of all three kinds, as messages show them. */
import { shown } from '../../validation.ts';

interface RollingUpdate {
  readonly partition?: number | undefined;
  readonly maxUnavailable?: number | string | undefined;
  readonly maxSurge?: number | string | undefined;
}

export function rollingUpdateShown({ partition, maxUnavailable, maxSurge }: RollingUpdate): Record<string, unknown> {
  if (partition != null) return shown({ Partition: partition, MaxUnavailable: maxUnavailable });
  return shown({ MaxUnavailable: maxUnavailable, MaxSurge: maxSurge });
}

export function strategyShown(
  strategy: { readonly type?: string | undefined; readonly rollingUpdate?: RollingUpdate | undefined } | undefined,
): Record<string, unknown> {
  const { type, rollingUpdate } = strategy ?? {};
  return shown({ Type: type ?? '', RollingUpdate: rollingUpdate ? rollingUpdateShown(rollingUpdate) : undefined });
}
