/**
 * Priority levels and flow schemas that exist from the start. Mandatory ones are always as they should be; suggested ones are kept so
 * while nobody took them over: the annotation `autoupdate-spec` says so, and where it does not, a spec that was never changed. What
 * bears the annotation and is not (any more) among them is removed.
 */

import { semanticallyEqual } from '../../api/equality.ts';
import { mandatoryLevelSpec } from '../../api/flowcontrol/v1/mandatory.ts';
import {
  type FlowSchema,
  flowSchemas,
  type PriorityLevelConfiguration,
  priorityLevelConfigurations,
} from '../../api/gen/flowcontrol-v1.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import type { FlowControlObjects } from './bootstrap-data.ts';
import { ensureObjects } from './ensure.ts';

type FlowControlObject = FlowSchema | PriorityLevelConfiguration;

const autoupdate = 'apf.kubernetes.io/autoupdate-spec';
const fieldManager = 'api-priority-and-fairness-config-producer-v1';

export async function ensureFlowControl(client: Client, objects: FlowControlObjects): Promise<void> {
  // Schemas name levels, but nothing checks that they are there.
  await Promise.all([
    ensureKind<PriorityLevelConfiguration>(client, priorityLevelConfigurations, objects.priorityLevels),
    ensureKind<FlowSchema>(client, flowSchemas, objects.flowSchemas),
  ]);
}

async function ensureKind<T extends FlowControlObject>(
  client: Client,
  type: ResourceType<T>,
  wanted: readonly T[],
): Promise<void> {
  await ensureObjects<T>(client, type, wanted, { update: revised, fieldManager });
  const names = new Set(wanted.map(({ metadata }) => metadata.name));
  const { items } = await client.list(type);
  const unwanted = items.filter(({ metadata }) => !names.has(metadata.name) && updatesItself(metadata) === true);
  await Promise.all(
    unwanted.map(({ metadata: { name = '' } }) =>
      client.delete(type, { name }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      }),
    ),
  );
}

function revised<T extends FlowControlObject>(present: T, wanted: T): T | undefined {
  const { name = '', annotations, generation } = present.metadata;
  const mandatory = mandatoryLevelSpec(name) !== undefined;
  const marked = updatesItself(present.metadata);
  const ours = mandatory || (marked ?? generation === 1);
  const changed = ours && !semanticallyEqual(present.spec, wanted.spec);
  if (!changed && marked === ours) return undefined;
  const metadata = { ...present.metadata, annotations: { ...annotations, [autoupdate]: String(ours) } };
  return { ...present, metadata, spec: changed ? wanted.spec : present.spec };
}

/** Undefined: the annotation is missing or says nothing that Go would take for a yes or no. */
function updatesItself({ annotations }: FlowControlObject['metadata']): boolean | undefined {
  const value = annotations?.[autoupdate] ?? '';
  if (/^(?:1|t|T|true|TRUE|True)$/.test(value)) return true;
  return /^(?:0|f|F|false|FALSE|False)$/.test(value) ? false : undefined;
}
