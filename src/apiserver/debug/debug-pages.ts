/** Pages for operators who want to know what a server is doing. Whether somebody may see them is authorization's to say, as for any path. */
import type { Clock } from '../../base/clock.ts';
import type { Handler } from '../request.ts';
import { profilePages } from './profiles.ts';
import { zpages } from './zpages.ts';

export interface DebugPagesOptions {
  readonly clock: Clock;
  /** `--profiling`. */
  readonly profiling: boolean;
  /** As `/flagz` shows them. */
  readonly flags?: ReadonlyMap<string, unknown> | undefined;
  /** When the server began, on both of the clock's scales. */
  readonly startedMs: number;
  readonly startedMonotonicMs: number;
}

export function registerDebugPages(
  server: { registerPath(path: string, handler: Handler): void },
  { profiling, ...options }: DebugPagesOptions,
): void {
  const paths = ['/flagz', '/healthz', '/livez', '/metrics', '/readyz', '/statusz', '/version'];
  const pages = zpages({ ...options, paths });
  for (const [path, handler] of pages) server.registerPath(path, handler);
  if (profiling) for (const [path, handler] of profilePages(options.clock)) server.registerPath(path, handler);
}
