/**
 * All controllers of kube-controller-manager by upstream's names, and the manager that starts those that are asked for. A
 * controller that needs something it was not given (keys, address ranges) does not start and says so; one that fails ends the
 * manager, since a cluster that silently lacks a loop is worse than one that restarts it.
 */
import { sleep } from '../base/clock.ts';
import type { ComponentContext } from '../reconcile/component.ts';
import { controllerRows } from './gen/controllers.ts';
import { implementations } from './implementations.ts';
import type { ControllerManagerOptions } from './options.ts';

export interface ControllerEntry {
  readonly name: string;
  readonly aliases: readonly string[];
  /** Whether `--controllers=*` includes it. */
  readonly enabledByDefault: boolean;
  readonly gates: readonly { readonly name: string; readonly default: boolean }[];
  /** The ServiceAccount in `kube-system` as which it acts with `--use-service-account-credentials`. */
  readonly serviceAccount: string | undefined;
  /** Absent: known by name and not built. */
  readonly run: ((context: ComponentContext, options: ControllerManagerOptions) => Promise<void>) | undefined;
}

/** In upstream's order. */
export const controllers: readonly ControllerEntry[] = controllerRows
  .filter(({ cloud }) => !cloud)
  .map((row) => ({
    ...row,
    serviceAccount: implementations[row.name]?.serviceAccount,
    run: implementations[row.name]?.run,
  }));

/** Names of `--controllers` that no controller has. */
export function unknownControllers(selection: readonly string[]): readonly string[] {
  const known = new Set(controllerRows.flatMap(({ name, aliases }) => [name, ...aliases]));
  return selection.map((word) => word.replace(/^-/, '')).filter((name) => name !== '*' && !known.has(name));
}

/** Throws when a name is not known. */
export function checkControllers(selection: readonly string[]): void {
  const unknown = unknownControllers(selection);
  if (unknown.length === 0) return;
  throw new Error(`${unknown.map((name) => JSON.stringify(name)).join(', ')} is not in the list of known controllers`);
}

/** Upstream's rule: the last word about a name counts, a name of its own over `*`, and without `*` only what is named runs. */
export function isEnabled(
  entry: Pick<ControllerEntry, 'name' | 'aliases' | 'enabledByDefault'>,
  selection: readonly string[],
): boolean {
  const names = [entry.name, ...entry.aliases];
  for (const word of selection) {
    if (names.includes(word)) return true;
    if (names.some((name) => word === `-${name}`)) return false;
  }
  return selection.includes('*') && entry.enabledByDefault;
}

/** What the Pods of a Deployment wait for: in a cluster that just came up, somebody does. */
const firstControllers: readonly string[] = [
  'serviceaccount-controller',
  'deployment-controller',
  'replicaset-controller',
];

/**
 * Runs the enabled controllers until the context's signal is aborted. After the first ones' head start the others are loaded and started
 * one after the other, with room for requests in between.
 */
export async function runControllerManager(
  context: ComponentContext,
  options: ControllerManagerOptions = {},
): Promise<void> {
  const selection = options.controllers ?? ['*'];
  checkControllers(selection);
  const enabled = controllers.filter(
    (entry) =>
      isEnabled(entry, selection) && entry.gates.every(({ name, default: on }) => options.featureGates?.[name] ?? on),
  );
  const isFirst = ({ name }: ControllerEntry) => firstControllers.includes(name);
  const running: Promise<void>[] = [];
  const run = (entry: ControllerEntry) => {
    const ended = start(entry, context, options);
    // A failure is not lost: it is found when all are waited for.
    ended.catch(() => {});
    running.push(ended);
  };
  enabled.filter(isFirst).forEach(run);
  await sleep(context.clock, options.headStartMs ?? 0, context.signal).catch(() => {});
  for (const entry of enabled) {
    if (isFirst(entry)) continue;
    await new Promise<void>((resolve) => context.clock.soon(resolve));
    if (context.signal.aborted) break;
    run(entry);
  }
  await Promise.all(running);
}

async function start(
  entry: ControllerEntry,
  context: ComponentContext,
  options: ControllerManagerOptions,
): Promise<void> {
  if (!entry.run) {
    context.log.debug('controller is not built', { controller: entry.name });
    return;
  }
  const own = entry.serviceAccount === undefined ? context : (options.contextFor?.(entry.serviceAccount) ?? context);
  await entry.run(own, options);
}
