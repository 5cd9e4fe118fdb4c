/**
 * `coracle/testing`: a whole control plane in a test.
 *
 *     await using cluster = await startControlPlane();
 *     await cluster.client.create(deployments, myDeployment);
 *
 * Importing this loads next to nothing; the control plane's code is loaded on first use, through Node.js' compile cache, so that the
 * second process on a machine has it in a fraction of the time.
 */
import { enableCompileCache } from 'node:module';
import { withOwnImports } from '../base/own-imports.ts';
import type { EmbeddedControlPlane, EmbeddedOptions } from './embedded.ts';

export type { EmbeddedControlPlane, EmbeddedOptions } from './embedded.ts';
export { type EventuallyOptions, eventually } from './eventually.ts';
export { FakeClock, settle } from './fake-clock.ts';

/**
 * Real HTTPS on a free port of 127.0.0.1, objects in memory, all controllers and the scheduler; ready when it resolves: a Deployment
 * yields Pods. Many live side by side in one process; `stop()` leaves no timer, socket or file behind.
 */
export async function startControlPlane(options: EmbeddedOptions = {}): Promise<EmbeddedControlPlane> {
  enableCompileCache();
  const { startEmbedded } = await withOwnImports(() => import('./embedded.ts'));
  return startEmbedded(options);
}
