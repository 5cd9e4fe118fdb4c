/** `coracle snapshot` and `coracle migrate`: their options, and what they print. */
import { type Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../base/clock.ts';
import type { RestoreCommand, SaveCommand } from '../cluster/data/snapshots.ts';
import { printProgress } from '../cluster/processes/progress.ts';
import { size } from './tables.ts';

/** What `commands.ts` knows of all its verbs. */
export interface CommandParts {
  addDataDir(command: Command): Command;
  folder(options: { readonly dataDir?: string }): string;
  print(text: string): void;
}

type Given<T> = Omit<T, 'dataDir'> & { readonly dataDir?: string };

const surroundings = () => ({ clock: systemClock, report: printProgress(process.stdout) });
const overrides = "of an etcd: what lies in others, as its API server's --etcd-servers-overrides";
const count = (value: number) => value.toLocaleString('en-US');

export function addSnapshot(program: Command, { addDataDir, folder, print }: CommandParts): void {
  const snapshot = program.command('snapshot').description('all objects of a cluster in one file');
  const save = snapshot
    .command('save')
    .argument('<file>', 'where to write it')
    .description('take a snapshot, while the cluster runs or not')
    .option('--from <store>', 'a store of its own: lmdb:DIRECTORY or etcd:URL[,URL] (default: that of --data-dir)')
    .option('--from-overrides <list>', overrides)
    .option('--replace', 'take the place of a file that is there')
    .option('--salvage', 'of a damaged store: keep what can still be read');
  addEtcdAccess(addDataDir(save)).action(async (file: string, options: Given<SaveCommand>) => {
    const { saveSnapshotOf } = await import('../cluster/data/snapshots.ts');
    const { head, bytes, lost } = await saveSnapshotOf(file, { ...options, dataDir: folder(options) }, surroundings());
    print(`${count(head.objects)} objects at revision ${head.revision}, ${size(bytes)}.`);
    if (lost > 0)
      print(`${count(lost)} pages or records were lost: what was on them is missing, or is as it was before.`);
  });
  const restore = snapshot
    .command('restore')
    .argument('<file>', 'a snapshot')
    .description('make a new cluster of a snapshot, or a new store')
    .option('--to <store>', 'a folder that becomes a store: lmdb:DIRECTORY (default: that of --data-dir)')
    .option('--replace', 'move a store that is there aside')
    .option('--bump-revision <number>', 'by how much revisions are raised (default: 1000000000)', natural);
  addDataDir(restore).action(async (file: string, options: Given<RestoreCommand>) => {
    const { restoreSnapshot } = await import('../cluster/data/snapshots.ts');
    const command = { ...options, dataDir: folder(options) };
    const { head, path, revision, setAside, lacksKeys } = await restoreSnapshot(file, command, surroundings());
    print(`${count(head.objects)} objects of ${head.takenAt}; the store goes on at revision ${revision}.`);
    if (setAside !== undefined) print(`What was there is in ${setAside}, beside ${path}.`);
    if (lacksKeys)
      print(
        'Keys and certificates are not in a snapshot: copy pki/ of the old data directory into this one, or new ones are made.',
      );
  });
  snapshot
    .command('verify')
    .argument('<file>', 'a snapshot')
    .description('whether a snapshot is whole')
    .action(async (file: string) => {
      const { checkSnapshot } = await import('../cluster/data/snapshots.ts');
      const head = await checkSnapshot(file, surroundings());
      print(`${file} is whole: ${count(head.objects)} objects at revision ${head.revision},`);
      print(`taken ${head.takenAt} by ${head.program} from ${head.from}.`);
    });
}

interface MigrateOptions {
  readonly from: string;
  readonly to: string;
  readonly fromOverrides?: string;
  readonly toOverrides?: string;
  readonly replace?: boolean;
  readonly lowerRevisions?: boolean;
}

export function addMigrate(program: Command, { print }: Pick<CommandParts, 'print'>): void {
  const migrate = program
    .command('migrate')
    .description(
      'copy all objects of a store into another that is empty, and compare them; nobody may be at work on either',
    )
    .requiredOption('--from <store>', 'lmdb:DIRECTORY or etcd:URL[,URL]')
    .requiredOption('--to <store>', 'likewise')
    .option('--from-overrides <list>', overrides)
    .option('--to-overrides <list>', 'likewise')
    .option('--replace', 'a folder: move a store that is there aside; etcd: make it equal, whatever it holds')
    .option('--lower-revisions', 'leave etcd at its own revision; every client has to be started anew then');
  addEtcdAccess(migrate).action(async (options: MigrateOptions) => {
    const { migrate } = await import('../cluster/data/migration.ts');
    const { objects, setAside } = await migrate(options, surroundings());
    print(`${count(objects)} objects are in ${options.to} as they are in ${options.from}.`);
    if (setAside !== undefined) print(`What was there is beside it, in ${setAside}.`);
  });
}

function addEtcdAccess(command: Command): Command {
  return command
    .option('--etcd-prefix <path>', 'what the keys of the cluster begin with in etcd (default: /registry)')
    .option('--etcd-cafile <file>', "the authority of etcd's certificates")
    .option('--etcd-certfile <file>', 'the certificate to show to etcd')
    .option('--etcd-keyfile <file>', 'its key');
}

function natural(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('It must be a positive number.');
  return value;
}
