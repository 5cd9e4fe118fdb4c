/** `coracle history`, `coracle get --at` and `coracle diff`: their options, and what they print. */
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import { StatusError } from '../../apimachinery/status.ts';
import { systemClock } from '../../base/clock.ts';
import { withClusterClient } from '../../cluster/kubeconfigs/cluster-client.ts';
import type { CommandParts } from '../store-commands.ts';
import { type ObjectHistory, Past, type Target } from './past.ts';
import { diffText, historyText, keptText, tableText } from './views.ts';

interface ClusterOptions {
  readonly dataDir?: string;
  readonly kubeconfig?: string;
  readonly namespace: string;
}

type Parts = CommandParts & { readonly exit: (status: number) => void };

const mostChanges = 1000;

export function addTimeTravel(program: Command, parts: Parts): void {
  addHistory(program, parts);
  addGet(program, parts);
  addDiff(program, parts);
}

function addHistory(program: Command, parts: Parts): void {
  interface HistoryOptions extends ClusterOptions {
    readonly limit: number;
    readonly allFields?: boolean;
    readonly auditLog: readonly string[];
    readonly output?: 'json';
  }
  withCluster(program.command('history'), parts)
    .argument(
      '[kind/name]',
      'an object, such as deployment/web; left out: how far back is remembered and what it costs',
    )
    .description('what was changed in an object, when and by whom')
    .option('--limit <number>', `how many changes are shown at most, up to ${mostChanges}`, natural, 50)
    .option('--all-fields', 'show every field of every change')
    .option('--audit-log <file>', 'a log of the API server, for the users who asked; may be given again', collect, [])
    .addOption(new Option('-o, --output <form>', 'json: with the objects as they were').choices(['json']))
    .action((text: string | undefined, options: HistoryOptions) =>
      inPast(options, parts, async (past) => {
        if (text === undefined) return keptText(await past.kept());
        const target = await past.target(text, options.namespace);
        const told = await past.history(target, options.limit);
        const found = options.auditLog.length > 0 ? await withUsers(told, options.auditLog, target) : told;
        return options.output ? JSON.stringify(found, undefined, 2) : historyText(found, options);
      }),
    );
}

function addGet(program: Command, parts: Parts): void {
  interface GetOptions extends ClusterOptions {
    readonly at: string;
    readonly allNamespaces?: boolean;
    readonly output?: 'json' | 'yaml' | 'name';
  }
  withCluster(program.command('get'), parts)
    .arguments('<kind> [name]')
    .description('objects as they were')
    .requiredOption('--at <when>', 'a revision (1234), a time (2026-01-31T12:00:00Z), or how long ago (10m)')
    .option('-A, --all-namespaces', 'of all namespaces')
    .addOption(new Option('-o, --output <form>', 'how to print them').choices(['json', 'yaml', 'name']))
    .action((kind: string, name: string | undefined, options: GetOptions) =>
      inPast(options, parts, async (past) => {
        const revision = await past.revisionAt(options.at);
        const namespace = options.allNamespaces ? undefined : options.namespace;
        const target = await past.named(kind, { name: name ?? '', namespace });
        if (name !== undefined && !(await past.object(target, revision))) throw past.missing(target);
        const withNamespace = options.allNamespaces === true && target.resource.namespaced;
        if (!options.output) return tableText(await past.table(target, revision), { withNamespace });
        const found = name === undefined ? await past.list(target, revision) : await past.object(target, revision);
        if (options.output === 'json') return JSON.stringify(found, undefined, 4);
        if (options.output === 'yaml') return (await import('yaml')).stringify(found).trimEnd();
        const items = name === undefined ? (found as { items: Named[] }).items : [found as Named];
        return items.map((item) => `${target.resource.name}/${item.metadata.name}`).join('\n');
      }),
    );
}

interface Named {
  readonly metadata: { readonly name: string };
}

function addDiff(program: Command, parts: Parts): void {
  interface DiffOptions extends ClusterOptions {
    readonly from: string;
    readonly to?: string;
  }
  withCluster(program.command('diff'), parts)
    .argument('<kind/name>', 'an object, such as deployment/web')
    .description('what differs between two states of an object, and who did it')
    .requiredOption('--from <when>', 'a revision (1234), a time (2026-01-31T12:00:00Z), or how long ago (10m)')
    .option('--to <when>', 'likewise (default: now)')
    .action((text: string, { from, to, ...options }: DiffOptions) =>
      inPast(options, parts, async (past) => {
        const target = await past.target(text, options.namespace);
        const revisions = [await past.revisionAt(from), to === undefined ? undefined : await past.revisionAt(to)];
        const before = await past.object(target, revisions[0]);
        const after = await past.object(target, revisions[1]);
        if (!before && !after) throw past.missing(target);
        const nameOf = (revision: string | undefined) => `${text} ${revision === undefined ? 'now' : `at ${revision}`}`;
        return diffText(before, after, [nameOf(revisions[0]), nameOf(revisions[1])]);
      }),
    );
}

function withCluster(command: Command, { addDataDir }: Parts): Command {
  return addDataDir(command)
    .option('--kubeconfig <file>', 'how to reach the API server (default: $KUBECONFIG, or that of --data-dir)')
    .option('-n, --namespace <name>', 'of the object', 'default');
}

/** Prints what `tell` gives; what the server refuses is told as kubectl tells it. */
async function inPast(options: ClusterOptions, parts: Parts, tell: (past: Past) => Promise<string>): Promise<void> {
  const { kubeconfig, dataDir } = options;
  const note = (text: string) => void process.stderr.write(`${text}\n`);
  const place = { kubeconfig, dataDir, defaultDataDir: parts.folder({}), clock: systemClock };
  try {
    await printAll(await withClusterClient(place, (client) => tell(new Past(client, { clock: systemClock, note }))));
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    process.stderr.write(`Error from server (${error.reason}): ${error.message}\n`);
    parts.exit(1);
  }
}

/** A pipe takes long texts piece by piece, and the process ends when the command does. */
function printAll(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${text}\n`, () => resolve()));
}

async function withUsers(found: ObjectHistory, files: readonly string[], target: Target): Promise<ObjectHistory> {
  const { auditedRequests, usersOf } = await import('./audit-log.ts');
  const requests = await auditedRequests(files, target);
  return { ...found, items: found.items.map((item) => ({ ...item, users: usersOf(item, requests) })) };
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function natural(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > mostChanges)
    throw new InvalidArgumentError(`It must be a number from 1 to ${mostChanges}.`);
  return value;
}
