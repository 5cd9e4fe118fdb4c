/** Leader election as its flags describe it: of several equal processes one works, the others stand by. */
import { hostname } from 'node:os';
import type { Client } from '../../../client/client.ts';
import { leaderElection } from '../../../reconcile/leader-election.ts';
import type { ComponentEnvironment } from './component-definition.ts';

export interface LeaderSettings {
  readonly enabled: boolean;
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  /** What the Lease also tells of this process while it leads. */
  readonly annotations?: ((identity: string) => Readonly<Record<string, string>>) | undefined;
}

/** What a component works through: its client and each further one it makes for itself. Starts nothing when its time is over. */
export type GuardClient = (client: Client) => Client;

/** Runs `work` while this process leads, through clients that it has let `guard`. Losing the lead ends the process, as upstream: whoever starts it starts it afresh. */
export async function whileLeading(
  client: Client,
  settings: LeaderSettings,
  { clock, random, log, signal }: ComponentEnvironment,
  work: (signal: AbortSignal, guard: GuardClient) => Promise<void>,
): Promise<void> {
  if (!settings.enabled) return work(signal, (unguarded) => unguarded);
  const over = new AbortController();
  const identity = `${hostname()}_${random.uuid()}`;
  await leaderElection({
    client,
    clock,
    random,
    log,
    lease: { namespace: settings.namespace, name: settings.name },
    identity,
    annotations: () => settings.annotations?.(identity) ?? {},
    leaseDurationSeconds: settings.leaseDurationMs / 1000,
    renewDeadlineSeconds: settings.renewDeadlineMs / 1000,
    retryPeriodSeconds: settings.retryPeriodMs / 1000,
    signal: AbortSignal.any([signal, over.signal]),
    async lead(leading, term) {
      try {
        await work(leading, term.guard);
      } finally {
        if (!signal.aborted) over.abort(new Error('leaderelection lost'));
      }
    },
  });
  if (!signal.aborted) throw new Error('leaderelection lost');
}
