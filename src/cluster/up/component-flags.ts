/**
 * Flags of upstream's components that `coracle up` passes on to those it runs: `--kube-apiserver-flag audit-log-path=/var/log/audit.log`.
 * They are upstream's, read as the components alone read them; those about addresses, keys and storage are refused, for these `up`
 * decides, and so are those that nothing would come of. Loaded only where such flags are given.
 */
import type { SchedulerOptions } from '../../scheduler/scheduler.ts';
import { type FlagDefinition, FlagError, parseFlags } from '../../serving/flags.ts';
import { CommandError } from '../command-error.ts';
import type { ComponentEnvironment } from '../components/flags/component-definition.ts';
import { GivenFlags } from '../components/flags/given-flags.ts';
import {
  type ConfiguredApiServer,
  configureApiServer,
  kubeApiServer,
} from '../components/kube-apiserver/kube-apiserver.ts';
import { kubeControllerManager, tunedControllers } from '../components/kube-controller-manager.ts';
import { kubeScheduler, schedulerSettings } from '../components/kube-scheduler.ts';
import { serviceAccountIssuer } from '../control-plane/control-plane.ts';
import type { ControllerTuning } from '../control-plane/controller-manager.ts';
import type { ComponentFlags } from '../data/up-settings.ts';

export interface ConfiguredComponents {
  /** Ends with what it was given, once the server has ended. */
  readonly apiServer: ConfiguredApiServer | undefined;
  readonly controllerManager: ControllerTuning | undefined;
  readonly scheduler: SchedulerOptions | undefined;
}

/** What `up` says itself, unless a flag with one of these names is given. */
interface OwnFlag {
  readonly unless: readonly string[];
  readonly word: string;
}

const ownApiServerFlags: readonly OwnFlag[] = [
  { unless: ['authorization-mode', 'authorization-config'], word: '--authorization-mode=Node,RBAC' },
  { unless: ['enable-bootstrap-token-auth'], word: '--enable-bootstrap-token-auth=true' },
];

const decidedByUp: Readonly<Record<keyof ComponentFlags, RegExp>> = {
  'kube-apiserver':
    /^(advertise-address|bind-address|secure-port|cert-dir|data-dir|client-ca-file|tls-(cert|private-key)-.*|requestheader-.*|proxy-client-.*|kubelet-.*|etcd-.*|service-cluster-ip-range|service-account-(issuer|key-file|signing-.*))$/,
  'kube-controller-manager':
    /^(bind-address|secure-port|cert-dir|kubeconfig|master|tls-.*|client-ca-file|root-ca-file|leader-elect.*|authentication-.*|authorization-.*|requestheader-.*|cluster-signing-.*-file|service-account-private-key-file|use-service-account-credentials|allocate-node-cidrs|cluster-cidr|node-cidr-.*|service-cluster-ip-range)$/,
  'kube-scheduler':
    /^(bind-address|secure-port|cert-dir|kubeconfig|master|tls-.*|client-ca-file|leader-elect.*|authentication-.*|authorization-.*|requestheader-.*)$/,
};

const ownTokens = { issuers: [serviceAccountIssuer], apiAudiences: [serviceAccountIssuer] };

/** Throws a `CommandError` about the first flag that cannot be. */
export async function configureComponents(
  flags: ComponentFlags,
  environment: ComponentEnvironment,
): Promise<ConfiguredComponents> {
  const controllerManager = await read('kube-controller-manager', flags, kubeControllerManager.flags, tunedControllers);
  const scheduler = await read(
    'kube-scheduler',
    flags,
    kubeScheduler.flags,
    (given) => schedulerSettings(given).scheduler,
  );
  // Last, for it alone holds files open.
  const configure = (given: GivenFlags) => configureApiServer(given, environment, ownTokens);
  const apiServer = await read('kube-apiserver', flags, kubeApiServer.flags, configure);
  return { apiServer, controllerManager, scheduler };
}

async function read<T>(
  component: keyof ComponentFlags,
  flags: ComponentFlags,
  table: readonly FlagDefinition[],
  configure: (given: GivenFlags) => T | Promise<T>,
): Promise<T | undefined> {
  const words = flags[component] ?? [];
  if (words.length === 0) return undefined;
  const advice = `See coracle ${component} --help.`;
  try {
    const asked = parseFlags(table, words.map(wordOf));
    const decided = [...asked.given].find((name) => decidedByUp[component].test(name));
    if (decided !== undefined) throw new FlagError(`coracle up decides --${decided} itself`);
    const own = component === 'kube-apiserver' ? ownApiServerFlags : [];
    const ownWords = own.filter(({ unless }) => !unless.some((name) => asked.given.has(name))).map(({ word }) => word);
    const given = new GivenFlags(parseFlags(table, [...ownWords, ...words.map(wordOf)]));
    const configured = await configure(given);
    const [idle] = given.withoutEffect();
    if (idle === undefined) return configured;
    await (configured as Partial<AsyncDisposable>)[Symbol.asyncDispose]?.();
    throw new FlagError(`nothing would come of --${idle} here`);
  } catch (error) {
    if (error instanceof FlagError) throw new CommandError(`--${component}-flag: ${error.message}.`, advice);
    throw error;
  }
}

/** `NAME=VALUE`; dashes before it are as good as none. */
function wordOf(text: string): string {
  if (!/^[^=]+=/.test(text)) throw new FlagError(`${JSON.stringify(text)} is not NAME=VALUE`);
  return `--${text.replace(/^--?/, '')}`;
}
