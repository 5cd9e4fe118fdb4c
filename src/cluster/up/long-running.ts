/**
 * The processes that stay: the control plane in the foreground or the background, and the node. Here signals become orders: Ctrl-C
 * (SIGINT) ends the cluster with its Pods, SIGTERM ends the processes and leaves the Pods running.
 */
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { CommandError } from '../command-error.ts';
import { layOut } from '../data/data-directory.ts';
import type { UpOptions } from '../data/up-settings.ts';
import type { JoinOptions } from '../joining/join.ts';
import { type ThisMachine, thisMachine } from '../machine/machine.ts';
import { guard, processLog } from '../processes/process-log.ts';
import { type ProgressEvent, printProgress, type Report } from '../processes/progress.ts';
import { returnStartupMemory } from '../processes/startup-memory.ts';
import type { Ending, StartedCluster, Surroundings } from '../processes/step.ts';
import { type BackgroundCommand, joinWords, upWords } from './background-command.ts';

export interface StayingMode {
  readonly machine: ThisMachine;
  readonly detach?: boolean | undefined;
  readonly inBackground?: boolean | undefined;
}

/** A command that starts something and stays with it. */
interface Staying {
  start(surroundings: Surroundings, signal: AbortSignal): Promise<StartedCluster>;
  /** The same command, to be run in the background. */
  readonly background: BackgroundCommand;
  /** Said once it runs in the foreground. */
  readonly hint: string;
}

/** Resolves to the exit status once the cluster has been stopped, or, detached, once it is ready. */
export function runUp(options: UpOptions, mode: StayingMode): Promise<number> {
  return stay(
    {
      start: async (...given) => (await import('./up.ts')).startCluster(options, ...given),
      background: { dataDir: options.dataDir, logName: 'control-plane', words: upWords(options) },
      hint: endingHint,
    },
    mode,
  );
}

/** The same for this machine as a node of another's cluster. */
export function runJoin(options: JoinOptions, mode: StayingMode): Promise<number> {
  return stay(
    {
      start: async (...given) => (await import('../joining/join.ts')).joinCluster(options, ...given),
      background: { dataDir: options.dataDir, logName: 'join', words: joinWords(options) },
      hint: joinedHint,
    },
    mode,
  );
}

async function stay({ start, background, hint }: Staying, mode: StayingMode): Promise<number> {
  const { machine } = mode;
  const orders = signalsAsOrders();
  if (mode.detach) {
    const { startInBackground } = await import('./detached.ts');
    try {
      await startInBackground(background, { machine, report: printProgress(process.stdout), signal: orders.signal });
      return 0;
    } catch (error) {
      if (orders.signal.aborted) return interruptedStatus;
      throw error;
    }
  }
  const report = mode.inBackground ? reportToParent : printProgress(process.stdout);
  const surroundings = { clock: systemClock, random: systemRandom, machine, report };
  try {
    const cluster = await start(surroundings, orders.signal);
    returnStartupMemory(systemClock);
    if (mode.inBackground) releaseParent();
    else report({ kind: 'say', text: hint });
    const ending = await orders.given;
    report({ kind: 'say', text: ending === 'everything' ? '\nstopping, with all Pods' : 'stopping' });
    await cluster.stop(ending);
    return 0;
  } catch (error) {
    if (orders.signal.aborted) return interruptedStatus;
    report(failedEvent(error));
    throw error;
  }
}

/** Whatever else ends this process, a closed terminal or a signal, ends no container. */
const endingHint = `Ctrl-C stops the cluster and its Pods; its data stays. If this process ends in another way, containerd and
the Pods go on: coracle up takes them over, coracle down ends them.`;

const joinedHint = `Ctrl-C stops this node and its Pods. If this process ends in another way, containerd and the Pods go on:
coracle join takes them over, coracle down ends them.`;

/** What a shell gives for a command that Ctrl-C ended. */
const interruptedStatus = 130;

function failedEvent(error: unknown): ProgressEvent {
  if (error instanceof CommandError) return { kind: 'failed', problem: error.message, advice: error.advice };
  const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { kind: 'failed', problem: `unexpected: ${problem}`, advice: 'This is a bug in Coracle.' };
}

const reportToParent: Report = (event) => {
  if (process.connected) process.send?.(event);
};

function releaseParent(): void {
  if (process.connected) process.disconnect?.();
}

interface Orders {
  readonly given: Promise<Ending>;
  /** Aborted with the `Ending` as its reason. */
  readonly signal: AbortSignal;
}

/** The first signal counts; another SIGINT while things are being stopped ends the process at once. */
function signalsAsOrders(): Orders {
  const { promise, resolve } = Promise.withResolvers<Ending>();
  const abort = new AbortController();
  const onSignal = (ending: Ending, isImpatient: boolean) => () => {
    if (abort.signal.aborted && isImpatient) process.exit(interruptedStatus);
    abort.abort(ending);
    resolve(ending);
  };
  process.on('SIGINT', onSignal('everything', true));
  process.on('SIGTERM', onSignal('processes', false));
  process.on('SIGHUP', onSignal('processes', false));
  return { given: promise, signal: abort.signal };
}

/** The node's process, as `NodeSupervisor` starts it. */
export async function runNodeProcess(root: string): Promise<number> {
  const directory = layOut(root);
  const orders = signalsAsOrders();
  const log = processLog();
  guard(log);
  const { readNodeConfig } = await import('../node/node-config.ts');
  const { startNode } = await import('../node/node-process.ts');
  const options = { directory, config: readNodeConfig(directory), machine: thisMachine() };
  try {
    const node = await startNode({ ...options, clock: systemClock, random: systemRandom, log });
    returnStartupMemory(systemClock);
    await orders.given;
    await node.close();
    return 0;
  } catch (error) {
    if (error instanceof CommandError) {
      const { leaveNodeFailure } = await import('../node/node-supervisor.ts');
      leaveNodeFailure(directory, error);
    }
    log.error('the node cannot run', { error });
    return 1;
  }
}
