/** `coracle kube-scheduler`. */
import { parseDuration } from '../../apimachinery/time.ts';
import { CauseLedger } from '../../reconcile/causes.ts';
import { componentContext } from '../../reconcile/component.ts';
import { QueueStatistics } from '../../reconcile/queue-statistics.ts';
import { flags } from '../../scheduler/gen/flags.ts';
import { runScheduler, type SchedulerOptions } from '../../scheduler/scheduler.ts';
import type { ComponentCommand, ComponentEnvironment } from './flags/component-definition.ts';
import { type ConfigurationObject, decodeConfiguration, readConfigurationFile } from './flags/configuration-file.ts';
import { connect } from './flags/connection.ts';
import { refuseProblems, securePortProblems } from './flags/flag-checks.ts';
import type { GivenFlags } from './flags/given-flags.ts';
import { type LeaderSettings, whileLeading } from './flags/leader.ts';
import { causesAnnotations, causesPage } from './secure-port/causes-page.ts';
import { withMetrics } from './secure-port/component-metrics.ts';
import { delegatedAccess } from './secure-port/delegated-access.ts';
import { alwaysOk, startHealthServer } from './secure-port/health-server.ts';
import { followServingFiles, servingCertificate } from './secure-port/serving-certificate.ts';
import { tlsParametersFrom } from './secure-port/tls-flags.ts';

export const kubeScheduler: ComponentCommand = { name: 'kube-scheduler', flags, run };

async function run(given: GivenFlags, environment: ComponentEnvironment): Promise<void> {
  const settings = schedulerSettings(given);
  const { host, port, tls, tlsParameters } = secureServer(given, environment, 'kube-scheduler');
  await using connection = await connect('kube-scheduler', { ...settings, master: given.text('master') }, environment);
  await using access = await delegatedAccess('kube-scheduler', given, environment);
  const { clock, random, log } = environment;
  const causes = new CauseLedger(clock);
  const queues = new QueueStatistics();
  const counted = { clock, queues, requests: connection.options.statistics };
  environment.started();
  const paths = { '/healthz': alwaysOk, '/livez': alwaysOk, '/readyz': alwaysOk };
  await using health = await startHealthServer({
    host,
    port,
    tls,
    tlsParameters,
    paths,
    guarded: withMetrics(causesPage(causes, access, environment), counted),
  });
  void followServingFiles(tls, (pair) => health.replaceCertificate(pair), environment);
  const leader = { ...settings.leader, annotations: causesAnnotations(health, { host, port }) };
  await whileLeading(connection.client, leader, environment, (signal, guard) =>
    runScheduler(
      componentContext({ client: guard(connection.client), clock, random, log, signal, causes, queues }),
      settings.scheduler,
    ),
  );
}

export interface SchedulerSettings {
  readonly kubeconfig: string | undefined;
  readonly leader: LeaderSettings;
  readonly scheduler: SchedulerOptions;
}

/** Where a file is given it counts, and of the flags that say the same only those about the leader's Lease. */
export function schedulerSettings(given: GivenFlags): SchedulerSettings {
  const path = given.optionalText('config');
  const file = path === undefined ? undefined : schedulerFile(path);
  const election = (file?.leaderElection ?? {}) as ConfigurationObject;
  const connection = (file?.clientConnection ?? {}) as ConfigurationObject;
  const profiles = (file?.profiles ?? []) as readonly { readonly schedulerName?: string }[];
  const fromFile = <T>(flag: string, field: string, read: () => T): T =>
    file !== undefined && !given.isGiven(flag) && election[field] !== undefined ? (election[field] as T) : read();
  const duration = (flag: string, field: string) => parseDuration(fromFile(flag, field, () => given.text(flag))) ?? 0;
  return {
    kubeconfig: (connection.kubeconfig as string | undefined) || given.optionalText('kubeconfig'),
    leader: {
      enabled: fromFile('leader-elect', 'leaderElect', () => given.flag('leader-elect')),
      namespace: fromFile('leader-elect-resource-namespace', 'resourceNamespace', () =>
        given.text('leader-elect-resource-namespace'),
      ),
      name: fromFile('leader-elect-resource-name', 'resourceName', () => given.text('leader-elect-resource-name')),
      leaseDurationMs: duration('leader-elect-lease-duration', 'leaseDuration'),
      renewDeadlineMs: duration('leader-elect-renew-deadline', 'renewDeadline'),
      retryPeriodMs: duration('leader-elect-retry-period', 'retryPeriod'),
    },
    scheduler: {
      ...(profiles.length > 0
        ? { schedulerNames: profiles.map(({ schedulerName = 'default-scheduler' }) => schedulerName) }
        : {}),
      ...(file ? { percentageOfNodesToScore: Number(file.percentageOfNodesToScore ?? 0) } : {}),
    },
  };
}

function schedulerFile(path: string): ConfigurationObject {
  return decodeConfiguration(path, readConfigurationFile(path), {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
  });
}

/** `--bind-address`, `--secure-port` and the certificate behind them, which components of the control plane have alike. */
export function secureServer(given: GivenFlags, environment: ComponentEnvironment, name: string) {
  const port = given.number('secure-port');
  refuseProblems(securePortProblems(port));
  const tls = servingCertificate(
    {
      certFile: given.text('tls-cert-file'),
      keyFile: given.text('tls-private-key-file'),
      folder: given.text('cert-dir'),
      name,
      dnsNames: ['localhost', environment.machine.nodeName],
      ipAddresses: ['127.0.0.1'],
    },
    environment,
  );
  return {
    host: given.text('bind-address') || '0.0.0.0',
    port,
    tls,
    tlsParameters: tlsParametersFrom(given, environment),
  };
}
