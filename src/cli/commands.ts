/** Coracle's own verbs: their options, and what each prints. The work is done in `cluster/`, loaded when its verb is used. */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { StatusError } from '../apimachinery/status.ts';
import { systemClock } from '../base/clock.ts';
import { CommandError } from '../cluster/command-error.ts';
import { defaultDataDirectory, layOut } from '../cluster/data/data-directory.ts';
import type { UpOptions } from '../cluster/data/up-settings.ts';
import type { JoinOptions } from '../cluster/joining/join.ts';
import type { TokenOptions } from '../cluster/joining/token-commands.ts';
import type { LocalNodes } from '../cluster/local-nodes/local-nodes.ts';
import { thisMachine } from '../cluster/machine/machine.ts';
import { versions } from '../cluster/versions.ts';
import { addMigrate, addSnapshot } from './store-commands.ts';
import { clusterTable, imageTable, localNodeTable, tokenTable } from './tables.ts';
import { addTimeTravel } from './time-travel/commands.ts';

interface DataDirOption {
  readonly dataDir?: string;
}

/** Of commands that stay. */
interface Staying {
  readonly detach?: boolean;
  readonly inBackground?: boolean;
}

/** Resolves to the exit status. */
export async function runCommand(words: readonly string[]): Promise<number> {
  let status = 0;
  const program = commands((code) => {
    status = code;
  });
  try {
    await program.parseAsync([...words], { from: 'user' });
  } catch (error) {
    // Commander has said what was wrong, or printed the help.
    if (error instanceof CommanderError) return error.exitCode;
    throw error;
  }
  return status;
}

const versionText = `coracle ${versions.coracle}\nkubernetes ${versions.kubernetes}`;

type Exit = (status: number) => void;

const clock = systemClock;
const print = (text: string) => void process.stdout.write(`${text}\n`);
const folder = (options: DataDirOption) => options.dataDir ?? defaultDataDirectory(thisMachine());

function commands(exit: Exit): Command {
  const program = new Command('coracle')
    .description('Kubernetes in TypeScript: a cluster that starts with one command.')
    .exitOverride()
    .version(versionText, '-v, --version', 'print the version')
    .showHelpAfterError('Try coracle --help.')
    .addHelpText('after', componentHelp);
  addUp(program, exit);
  addJoin(program, exit);
  addToken(program);
  addNode(program);
  addDown(program);
  addStatus(program, exit);
  addImage(program);
  addSim(program, exit);
  addWhy(program);
  addSnapshot(program, { addDataDir, folder, print });
  addMigrate(program, { print });
  addTimeTravel(program, { addDataDir, folder, print, exit });
  program
    .command('version')
    .description('the version, and that of the Kubernetes API')
    .action(() => print(versionText));
  addDataDir(program.command('node-process', { hidden: true })).action(async (options: DataDirOption) => {
    const { runNodeProcess } = await import('../cluster/up/long-running.ts');
    exit(await runNodeProcess(folder(options)));
  });
  return program;
}

function addUp(program: Command, exit: Exit): void {
  addDataDir(program.command('up'))
    .description('start a cluster and stay in the foreground until Ctrl-C')
    .option('--listen <host:port>', 'where the API server listens (default: 127.0.0.1:6443)')
    .addOption(runtimeOption())
    .option('--container-runtime-endpoint <socket>', 'a runtime of your own instead of a private containerd')
    .option('--kubeconfig <path>', 'where to write the kubeconfig (default: in the data directory)')
    .option('--merge-kubeconfig', 'also add the cluster to your own kubeconfig')
    .option('--node-name <name>', 'name of the Node (default: the machine´s)')
    .addOption(
      new Option('--nodes <count>', 'how many nodes this machine is to have (default: 1)').argParser(positiveNumber),
    )
    .addOption(passedFlag('kube-apiserver', 'a flag of the API server'))
    .addOption(passedFlag('kube-controller-manager', 'one of the controllers'))
    .addOption(passedFlag('kube-scheduler', 'one of the scheduler'))
    .option('--no-install', 'fail when packages are missing instead of installing them')
    .option('--detach', 'return once the cluster is ready')
    .addOption(new Option('--in-background').hideHelp())
    .action(async (options: UpOptions & Staying) => {
      const { runUp } = await import('../cluster/up/long-running.ts');
      const { detach, inBackground } = options;
      exit(await runUp(options, { machine: thisMachine(), detach, inBackground }));
    });
}

function addJoin(program: Command, exit: Exit): void {
  addDataDir(program.command('join'))
    .argument('[host:port]', 'the API server; without it: go on as the node this machine was')
    .description('make this machine a node of a cluster that runs elsewhere')
    .option('--token <token>', 'of the cluster: coracle token create')
    .option('--discovery-token-ca-cert-hash <hash>', "of the cluster's authority; repeatable", collected)
    .option('--node-name <name>', 'name of the Node (default: the machine´s)')
    .option('--node-ip <address>', 'by which the cluster reaches this machine (default: that of its default route)')
    .addOption(runtimeOption())
    .option('--container-runtime-endpoint <socket>', 'a runtime of your own instead of a private containerd')
    .option('--no-install', 'fail when packages are missing instead of installing them')
    .option('--detach', 'return once the node is Ready')
    .addOption(new Option('--in-background').hideHelp())
    .action(async (server: string | undefined, options: JoinOptions & Staying) => {
      const { runJoin } = await import('../cluster/up/long-running.ts');
      const { detach, inBackground } = options;
      exit(await runJoin({ ...options, server }, { machine: thisMachine(), detach, inBackground }));
    });
}

function addToken(program: Command): void {
  const token = program.command('token').description('tokens by which machines join');
  addDataDir(token.command('create'))
    .description('make a token and print it')
    .option('--ttl <duration>', 'how long it lasts; 0: for ever', '24h0m0s')
    .option('--description <text>', 'what it is for')
    .option('--print-join-command', 'print the whole command to type on the other machine')
    .action(async (options: DataDirOption & TokenOptions & { readonly printJoinCommand?: boolean }) => {
      const { createJoinToken } = await import('../cluster/joining/token-commands.ts');
      const { token: made, joinCommand } = await createJoinToken(folder(options), { ...options, clock });
      print(options.printJoinCommand ? joinCommand() : made);
    });
  addDataDir(token.command('list'))
    .description('list the tokens')
    .action(async (options: DataDirOption) => {
      const { listJoinTokens } = await import('../cluster/joining/token-commands.ts');
      print(tokenTable(await listJoinTokens(folder(options), clock)));
    });
  addDataDir(token.command('delete'))
    .argument('<token>', 'the token, or its first six letters')
    .description('let nobody join with it any more')
    .action(async (text: string, options: DataDirOption) => {
      const { deleteJoinToken } = await import('../cluster/joining/token-commands.ts');
      await deleteJoinToken(folder(options), text, clock);
      print(`deleted ${text.split('.')[0]}`);
    });
}

function addNode(program: Command): void {
  const node = program.command('node').description('the nodes of a cluster on this machine, beyond the first');
  const verb = (name: string, description: string, work: (nodes: LocalNodes, nodeName: string) => Promise<void>) =>
    addDataDir(node.command(name))
      .argument('<name>', 'of the Node')
      .description(description)
      .action(async (nodeName: string, options: DataDirOption) => {
        await work(await localNodes(options), nodeName);
        print(`${name} ${nodeName}: done`);
      });
  verb('stop', 'end its Pods and processes in order', (nodes, name) => nodes.stop(name));
  verb('start', 'start it again', (nodes, name) => nodes.start(name));
  verb('crash', 'kill all of it at once, as a power cut would', (nodes, name) => nodes.crash(name));
  verb('partition', 'cut it off the network; its Pods go on', (nodes, name) => nodes.partition(name));
  verb('heal', 'end a partition', (nodes, name) => nodes.heal(name));
  addDataDir(node.command('list'))
    .description('list them')
    .action(async (options: DataDirOption) => print(localNodeTable(await (await localNodes(options)).list())));
}

async function localNodes(options: DataDirOption): Promise<LocalNodes> {
  const { localNodesOf } = await import('../cluster/local-nodes/local-nodes.ts');
  return localNodesOf(folder(options), { clock, machine: thisMachine() });
}

function addDown(program: Command): void {
  addDataDir(program.command('down'))
    .description('stop the cluster and its Pods; data stays')
    .option('--purge', 'remove the data too, and what was merged into your kubeconfig')
    .action(async (options: DataDirOption & { readonly purge?: boolean }) => {
      const { takeDown } = await import('../cluster/up/down.ts');
      const { contextName } = await import('../cluster/certificates/cluster-pki.ts');
      const root = folder(options);
      const purge = options.purge === true;
      const { outcome, kubeconfigs } = await takeDown(root, { clock, machine: thisMachine(), purge });
      for (const { file, problem } of kubeconfigs)
        if (problem === undefined) print(`Took context ${contextName} out of ${file}.`);
        else process.stderr.write(`Context ${contextName} stays in ${file}: ${problem}\n`);
      if (outcome === 'nothing there') print(`There is no cluster at ${root}.`);
      else if (outcome === 'removed') print(`Stopped; ${root} is removed.`);
      else print('Stopped. The data stays: coracle up starts it again.');
    });
}

function addStatus(program: Command, exit: Exit): void {
  addDataDir(program.command('status'))
    .description('what runs; the exit status is 1 when the cluster does not')
    .action(async (options: DataDirOption) => {
      const { clusterStatus } = await import('../cluster/up/status.ts');
      const cluster = await clusterStatus(folder(options), { clock });
      print(clusterTable(cluster));
      if (!cluster.isRunning) exit(1);
    });
}

interface WhyCommandOptions extends DataDirOption {
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly output?: string;
}

function addWhy(program: Command): void {
  addDataDir(program.command('why'))
    .argument('<object...>', 'what it is about: KIND/NAME, or KIND NAME')
    .description('why something does not happen: what is pending, terminating, not ready or stuck, and for what')
    .option('-n, --namespace <namespace>', 'of the object (default: default)')
    .option('--kubeconfig <path>', 'how to reach the API server (default: $KUBECONFIG, or that of --data-dir)')
    .addOption(new Option('-o, --output <form>', 'for programs').choices(['json']))
    .action(async (words: readonly string[], options: WhyCommandOptions) => {
      const { explain, subjectFrom } = await import('./why/why.ts');
      const { explanationText } = await import('./why/explanation.ts');
      const { withClusterClient } = await import('../cluster/kubeconfigs/cluster-client.ts');
      const { componentCauses } = await import('../cluster/components/secure-port/causes-client.ts');
      const { kubeconfig, dataDir, namespace, output } = options;
      const place = { kubeconfig, dataDir, defaultDataDir: folder({}), clock };
      const explanation = await withClusterClient(place, async (client, connection) => {
        const subject = await subjectFrom(client, words, { namespace });
        const { causes, problems } = await componentCauses(client, connection);
        for (const problem of problems) process.stderr.write(`${problem}\n`);
        return explain(client, subject, { nowMs: clock.now(), causes });
      }).catch(tellRefusal);
      print(output === 'json' ? JSON.stringify(explanation, null, 2) : explanationText(explanation, clock.now()));
    });
}

/** What the server refuses is no fault of this program. */
function tellRefusal(error: unknown): never {
  throw error instanceof StatusError ? new CommandError(`${error.message}.`, 'kubectl may tell more.') : error;
}

function addImage(program: Command): void {
  const image = program.command('image').description("the node's images");
  addDataDir(image.command('load'))
    .argument('<file>', 'an OCI or docker archive; - for standard input')
    .description('bring in images from an archive')
    .action(async (file: string, options: DataDirOption) => {
      const { loadImages } = await import('../cluster/node/images.ts');
      const names = await loadImages(folder(options), file, { machine: thisMachine(), clock });
      for (const name of names) print(`loaded ${name}`);
    });
  addDataDir(image.command('ls'))
    .description('list the images')
    .action(async (options: DataDirOption) => {
      const { listImages } = await import('../cluster/node/images.ts');
      print(imageTable(await listImages(layOut(folder(options)), { clock })));
    });
}

function addSim(program: Command, exit: Exit): void {
  program
    .command('sim')
    .description('clusters on virtual time')
    .command('run')
    .argument('<scenario>', 'a file that says what happens: .ts or .yaml')
    .description('play a scenario and print what happened, in virtual seconds')
    .addOption(new Option('-o, --output <format>', 'json: the whole report').choices(['json']))
    .option('--seed <number>', 'of everything that is left to chance (default: the scenario´s, or 1)', Number)
    .action(async (file: string, options: { readonly output?: 'json'; readonly seed?: number }) => {
      const { runSimulation } = await import('./sim.ts');
      exit(await runSimulation(file, { ...options, print }));
    });
}

/** Of an option that may be given again and again. */
function collected(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value];
}

function passedFlag(component: string, description: string): Option {
  return new Option(`--${component}-flag <name=value>`, `${description}, by its name upstream; repeatable`).argParser(
    collected,
  );
}

function positiveNumber(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number of at least 1.');
}

function runtimeOption(): Option {
  const kinds = ['containerd', 'simulated'];
  return new Option('--runtime <kind>', 'what runs containers; simulated only pretends (default: containerd)').choices(
    kinds,
  );
}

function addDataDir(command: Command): Command {
  return command.option(
    '--data-dir <path>',
    'folder of the cluster (default: /var/lib/coracle, for ordinary users ~/.local/share/coracle)',
  );
}

const componentHelp = `
Components alone, with the flags and files of their namesakes:
  kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kube-proxy`;
