/**
 * What the kubelet's tests share: a memory API, a log that can be read, and builders. The
 * clock is the test's own: a fake one with the simulated runtime, the machine's with a real one.
 */

import { defaultPod } from '../api/core/v1/pod-defaults.ts';
import { nodes, type Pod, type PodSpec, pods } from '../api/gen/core-v1.ts';
import { type Draft, draft } from '../apimachinery/meta.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { seededRandom } from '../base/random.ts';
import type { Client } from '../client/client.ts';
import { componentContext } from '../reconcile/component.ts';
import { MemoryApi } from '../testing/memory-api.ts';

export interface LoggedLine {
  readonly level: string;
  readonly message: string;
  readonly fields: unknown;
}

export function kubeletHarness(clock: Clock) {
  const api = new MemoryApi({ clock });
  const { client } = api;
  const lines: LoggedLine[] = [];
  const at = (level: string) => (message: string, fields?: unknown) => void lines.push({ level, message, fields });
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log };
  const random = seededRandom(7);
  const context = () => {
    const stop = new AbortController();
    return { stop, context: componentContext({ client, clock, random, log, signal: stop.signal }) };
  };
  return { api, client, clock, lines, log, random, context };
}

/** A Pod with upstream's defaults, bound to the node. */
export function testPod(
  name: string,
  nodeName: string,
  spec: Partial<PodSpec> & Pick<PodSpec, 'containers'>,
  metadata: Pod['metadata'] = {},
): Pod {
  const pod = draft({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'default', ...metadata, name },
    spec: { nodeName, ...spec },
  }) as Draft<Pod>;
  defaultPod(pod);
  return pod as Pod;
}

export async function getPod(client: Client, name: string, namespace = 'default'): Promise<Pod | undefined> {
  return client.get(pods, { namespace, name }).catch(() => undefined);
}

export async function getNode(client: Client, name: string) {
  return client.get(nodes, { name }).catch(() => undefined);
}
