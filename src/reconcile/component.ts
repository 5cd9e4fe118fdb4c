/**
 * What a component is: something that runs with a client, a clock, chance and a log, until its signal is aborted. Controllers,
 * the scheduler, the kubelet and the proxy all have this form, so that the composition root can join them into one process or
 * many and a simulator can run them on virtual time.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Client } from '../client/client.ts';
import { CauseLedger } from './causes.ts';
import { eventRecorder } from './event-recorder.ts';
import type { EventRecorder } from './events.ts';
import type { InformerSet } from './informer.ts';
import { informerSet } from './informer-set.ts';
import { QueueStatistics } from './queue-statistics.ts';

export interface ComponentContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Informers shared by all components of one process and identity. */
  readonly informers: InformerSet;
  /** Aborted when the component must stop. */
  readonly signal: AbortSignal;
  /** Where it is said what holds objects up. */
  readonly causes: CauseLedger;
  /** Where the work queues of the process are counted. */
  readonly queues: QueueStatistics;
  /** Records Events under the component's own name; `host` is the node that reports, where it is one. */
  eventRecorder(component: string, host?: string): EventRecorder;
}

/** Runs until `context.signal` is aborted; rejects only on a failure that the component cannot live with. */
export type RunComponent = (context: ComponentContext) => Promise<void>;

/** A context with informers and recorders of its own, or with informers shared with others. */
export function componentContext(parts: {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly informers?: InformerSet | undefined;
  readonly causes?: CauseLedger | undefined;
  readonly queues?: QueueStatistics | undefined;
}): ComponentContext {
  return {
    ...parts,
    informers: parts.informers ?? informerSet(parts),
    causes: parts.causes ?? new CauseLedger(parts.clock),
    queues: parts.queues ?? new QueueStatistics(),
    eventRecorder: (component, host) => eventRecorder({ ...parts, component, host }),
  };
}
