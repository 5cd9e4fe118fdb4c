/**
 * Keeps the priority levels as the cluster's objects say, and tells in each FlowSchema's status whether its level exists (`Dangling`).
 * Several servers may do so at once: a status is written when it is not what this server finds, at most six times a minute for one
 * schema, so that servers that disagree do not fight.
 */
import {
  type FlowSchema,
  type FlowSchemaCondition,
  flowSchemas,
  priorityLevelConfigurations,
} from '../../api/gen/flowcontrol-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Client } from '../../client/client.ts';
import type { InformerSet } from '../../reconcile/informer.ts';
import type { PriorityLevels } from './priority-levels.ts';

export interface FollowerOptions {
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly levels: PriorityLevels;
}

const fieldManager = 'api-priority-and-fairness-config-consumer-v1';
const adjustEveryMs = 10_000;
const mostUpdatesAMinute = 6;
const minuteMs = 60_000;

/** Resolves when the levels are those of the cluster; goes on until the signal is aborted. */
export async function followConfiguration(options: FollowerOptions): Promise<void> {
  const { informers, signal, clock, levels } = options;
  const schemas = informers.of(flowSchemas);
  const configurations = informers.of(priorityLevelConfigurations);
  await Promise.all([schemas.whenSynced(signal), configurations.whenSynced(signal)]);
  const statuses = new DanglingStatuses(options);
  let pending = false;
  const digest = () => {
    pending = false;
    if (signal.aborted) return;
    levels.configure(configurations.list(), schemas.list());
    statuses.tell(schemas.list());
  };
  const changed = () => {
    if (pending) return;
    pending = true;
    clock.soon(digest);
  };
  const handler = { added: changed, updated: changed, deleted: changed };
  const registrations = [schemas.onChange(handler), configurations.onChange(handler)];
  const adjust = () => {
    levels.adjust();
    timer = clock.after(adjustEveryMs, adjust);
  };
  let timer = clock.after(adjustEveryMs, adjust);
  signal.addEventListener(
    'abort',
    () => {
      timer.cancel();
      for (const registration of registrations) registration.remove();
    },
    { once: true },
  );
  digest();
}

class DanglingStatuses {
  readonly #options: FollowerOptions;
  /** When each schema's status was written. */
  readonly #written = new Map<string, readonly number[]>();
  /** One write at a time; more would be in the way of what the server is there for. */
  #writing: Promise<void> = Promise.resolve();

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  tell(schemas: readonly FlowSchema[]): void {
    for (const schema of schemas) {
      const wanted = this.#wanted(schema);
      if (wanted) this.#writing = this.#writing.then(() => this.#write(schema, wanted));
    }
  }

  #wanted({ spec, status }: FlowSchema): FlowSchemaCondition | undefined {
    const { levels, clock } = this.#options;
    const { name } = spec.priorityLevelConfiguration;
    const found = levels.has(name);
    const condition = {
      type: 'Dangling',
      status: found ? 'False' : 'True',
      reason: found ? 'Found' : 'NotFound',
      message: `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(name)} ${
        found ? 'and it exists' : 'but there is no such object'
      }`,
    };
    const present = status?.conditions?.find(({ type }) => type === condition.type);
    const same =
      present?.status === condition.status &&
      present.reason === condition.reason &&
      present.message === condition.message;
    return same ? undefined : { ...condition, lastTransitionTime: formatTime(clock.now()) };
  }

  async #write({ metadata }: FlowSchema, condition: FlowSchemaCondition): Promise<void> {
    const { client, clock, log, signal } = this.#options;
    const { name = '' } = metadata;
    const now = clock.monotonic();
    const recent = (this.#written.get(name) ?? []).filter((at) => now - at < minuteMs);
    if (signal.aborted || recent.length >= mostUpdatesAMinute) return;
    this.#written.set(name, [...recent, now]);
    const body = { metadata: { name }, status: { conditions: [condition] } };
    try {
      const options = { subresource: 'status', fieldManager, force: true, signal };
      await client.patch(flowSchemas, { name }, { type: 'apply', body }, options);
    } catch (error) {
      if (signal.aborted) return;
      log.debug('the status of a flow schema could not be written', { name, error: String(error) });
    }
  }
}
