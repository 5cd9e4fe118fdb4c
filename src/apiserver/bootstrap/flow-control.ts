/** Priority levels and flow schemas that exist from the start, updated while nobody took them over (`autoupdate-spec`). */

import { semanticallyEqual } from '../../api/equality.ts';
import {
  type FlowSchema,
  flowSchemas,
  type PriorityLevelConfiguration,
  priorityLevelConfigurations,
} from '../../api/gen/flowcontrol-v1.ts';
import type { Client } from '../../client/client.ts';
import type { FlowControlObjects } from './bootstrap-data.ts';
import { ensureObjects } from './ensure.ts';

const autoupdate = 'apf.kubernetes.io/autoupdate-spec';
/** What the server cannot do without is always as it should be. */
const mandatory: ReadonlySet<string> = new Set(['exempt', 'catch-all']);

export async function ensureFlowControl(client: Client, objects: FlowControlObjects): Promise<void> {
  // Schemas name levels, but nothing checks that they are there.
  await Promise.all([
    ensureObjects<PriorityLevelConfiguration>(client, priorityLevelConfigurations, objects.priorityLevels, {
      update: updated,
    }),
    ensureObjects<FlowSchema>(client, flowSchemas, objects.flowSchemas, { update: updated }),
  ]);
}

function updated<T extends FlowSchema | PriorityLevelConfiguration>(present: T, wanted: T): T | undefined {
  const { name = '', annotations } = present.metadata;
  const ours = mandatory.has(name) || annotations?.[autoupdate] === 'true';
  return ours && !semanticallyEqual(present.spec, wanted.spec) ? { ...present, spec: wanted.spec } : undefined;
}
