/**
 * `coracle/reconcile`: write controllers. A controller names what it watches, and a function that brings one key's world to what
 * was asked; see `examples/02-controller`.
 *
 *     const context = componentContext({ client, clock: systemClock, random: systemRandom, log, signal });
 *     const controller = createController(context, { name: 'my-controller', reconcile });
 *     controller.watch(context.informers.of(configMaps));
 *     await controller.run();
 */
export { type Clock, systemClock } from '../base/clock.ts';
export { type Log, silentLog } from '../base/log.ts';
export { type Random, systemRandom } from '../base/random.ts';
export { Backoff, type BackoffOptions } from './backoff.ts';
export { type Cause, CauseLedger, type CauseNote, type CauseSubject, subjectOf } from './causes.ts';
export { type ComponentContext, componentContext, type RunComponent } from './component.ts';
export { type Controller, type ControllerOptions, createController, type ReconcileResult } from './controller.ts';
export { type EventRecorderOptions, eventRecorder } from './event-recorder.ts';
export type { EventDetails, EventRecorder } from './events.ts';
export { Expectations } from './expectations.ts';
export type { ChangeHandler, Informer, InformerSelection, InformerSet, Registration } from './informer.ts';
export { type InformerSetOptions, informerSet } from './informer-set.ts';
export { type LeaderElectionOptions, leaderElection } from './leader-election.ts';
export { LeadershipLostError, type LeadershipTerm } from './leadership-term.ts';
export { TokenBucket } from './token-bucket.ts';
export { type WorkQueue, type WorkQueueOptions, workQueue } from './work-queue.ts';
