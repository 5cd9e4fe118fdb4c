/** What every call of webhooks is given, whichever sort they are. */
import type { Log } from '../../../base/log.ts';
import type { AdmissionAttributes, AdmissionRound } from '../admission.ts';
import type { CallContext } from './call.ts';
import type { MatchContext } from './hook-match.ts';
import type { Hook } from './hooks.ts';

export interface DispatchContext extends CallContext, MatchContext {
  readonly log: Log;
}

/** Calls those of the webhooks that a request concerns. Throws the refusal. */
export type Dispatch = (
  context: DispatchContext,
  hooks: readonly Hook[],
  attributes: AdmissionAttributes,
  round?: AdmissionRound,
) => Promise<void>;
