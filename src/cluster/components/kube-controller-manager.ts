/** `coracle kube-controller-manager`. */
import { serviceAccounts } from '../../api/gen/core-v1.ts';
import { isAlreadyExists } from '../../apimachinery/status.ts';
import { Closers } from '../../base/closers.ts';
import type { Client } from '../../client/client.ts';
import { unknownControllers } from '../../controllers/controllers.ts';
import {
  type ControllerManagerOptions,
  controllerManagerFlags,
  controllerManagerOptions,
} from '../../controllers/options.ts';
import { type CertificateAuthority, loadCertificateAuthority } from '../../pki/authority.ts';
import { systemKeys } from '../../pki/keys.ts';
import { createTokenSigner, legacyIssuer } from '../../pki/token-signer.ts';
import { CauseLedger } from '../../reconcile/causes.ts';
import { type ComponentContext, componentContext } from '../../reconcile/component.ts';
import { QueueStatistics } from '../../reconcile/queue-statistics.ts';
import { FlagError } from '../../serving/flags.ts';
import { readOptionalPem, readPem } from '../certificates/pem-files.ts';
import {
  type ControllerSurroundings,
  type ControllerTuning,
  runControllers,
} from '../control-plane/controller-manager.ts';
import type { ComponentCommand, ComponentEnvironment } from './flags/component-definition.ts';
import { type Connection, connect, connectionOf } from './flags/connection.ts';
import type { GivenFlags } from './flags/given-flags.ts';
import { whileLeading } from './flags/leader.ts';
import { secureServer } from './kube-scheduler.ts';
import { causesAnnotations, causesPage } from './secure-port/causes-page.ts';
import { withMetrics } from './secure-port/component-metrics.ts';
import { delegatedAccess } from './secure-port/delegated-access.ts';
import { alwaysOk, startHealthServer } from './secure-port/health-server.ts';
import { followServingFiles } from './secure-port/serving-certificate.ts';

const name = 'kube-controller-manager';

export const kubeControllerManager: ComponentCommand = { name, flags: controllerManagerFlags, run };

async function run(given: GivenFlags, environment: ComponentEnvironment): Promise<void> {
  const { nodeIpam, ...tuned } = optionsFrom(given);
  const surroundings = { ...surroundingsFrom(given, environment), nodeIpam };
  const asAccounts = given.flag('use-service-account-credentials');
  const leader = {
    enabled: given.flag('leader-elect'),
    namespace: given.text('leader-elect-resource-namespace'),
    name: given.text('leader-elect-resource-name'),
    leaseDurationMs: given.milliseconds('leader-elect-lease-duration'),
    renewDeadlineMs: given.milliseconds('leader-elect-renew-deadline'),
    retryPeriodMs: given.milliseconds('leader-elect-retry-period'),
  };
  const { host, port, tls, tlsParameters } = secureServer(given, environment, name);
  await using connection = await connect(
    name,
    { kubeconfig: given.optionalText('kubeconfig'), master: given.optionalText('master') },
    environment,
  );
  await using access = await delegatedAccess(name, given, environment);
  const { clock, random, log } = environment;
  const causes = new CauseLedger(clock);
  const queues = new QueueStatistics();
  const counted = { clock, queues, requests: connection.options.statistics };
  environment.started();
  await using health = await startHealthServer({
    host,
    port,
    tls,
    tlsParameters,
    paths: { '/healthz': alwaysOk, '/livez': alwaysOk, '/readyz': alwaysOk },
    guarded: withMetrics(causesPage(causes, access, environment), counted),
  });
  void followServingFiles(tls, (pair) => health.replaceCertificate(pair), environment);
  await using accounts = new Closers();
  const annotations = causesAnnotations(health, { host, port });
  await whileLeading(connection.client, { ...leader, annotations }, environment, (signal, guard) => {
    const context = componentContext({ client: guard(connection.client), clock, random, log, signal, causes, queues });
    const clientOf = (account: string) => {
      const own = accountConnection(account, context, connection.options);
      accounts.use(own);
      return guard(own.client);
    };
    return runControllers(context, { ...surroundings, clientOf: asAccounts ? clientOf : undefined }, tuned);
  });
}

/** What flags say about controllers wherever they run: no keys, certificates or address ranges. Throws a `FlagError`. */
export function tunedControllers(given: GivenFlags): ControllerTuning {
  const { nodeIpam: _, ...tuned } = optionsFrom(given);
  return tuned;
}

function optionsFrom(given: GivenFlags): ControllerManagerOptions {
  const unknown = unknownControllers(given.list('controllers'));
  if (unknown.length > 0)
    throw new FlagError(
      `${unknown.map((one) => JSON.stringify(one)).join(', ')} is not in the list of known controllers`,
    );
  return controllerManagerOptions(given.parsed.values, given.featureGates());
}

function surroundingsFrom(
  given: GivenFlags,
  environment: ComponentEnvironment,
): Omit<ControllerSurroundings, 'nodeIpam' | 'clientOf'> {
  const { clock } = environment;
  const rootCA = readOptionalPem('--root-ca-file', given.text('root-ca-file'));
  const keyFile = given.optionalText('service-account-private-key-file');
  const signingKeyPem = keyFile && readPem('--service-account-private-key-file', keyFile);
  const certificateAuthority = authorityOf(given, 'cluster-signing', environment);
  const signers = {
    'kubernetes.io/kube-apiserver-client': authorityOf(given, 'cluster-signing-kube-apiserver-client', environment),
    'kubernetes.io/kube-apiserver-client-kubelet': authorityOf(given, 'cluster-signing-kubelet-client', environment),
    'kubernetes.io/kubelet-serving': authorityOf(given, 'cluster-signing-kubelet-serving', environment),
    'kubernetes.io/legacy-unknown': authorityOf(given, 'cluster-signing-legacy-unknown', environment),
  };
  return {
    rootCA,
    certificateAuthority,
    signers: Object.fromEntries(Object.entries(signers).filter(([, authority]) => authority !== undefined)) as Record<
      string,
      CertificateAuthority
    >,
    legacyTokens: signingKeyPem ? createTokenSigner({ clock, issuers: [legacyIssuer], signingKeyPem }) : undefined,
    isOnlyApiServer: false,
  };
}

function authorityOf(
  given: GivenFlags,
  prefix: string,
  { clock, random }: ComponentEnvironment,
): CertificateAuthority | undefined {
  const certificatePem = readOptionalPem(`--${prefix}-cert-file`, given.text(`${prefix}-cert-file`));
  const keyPem = readOptionalPem(`--${prefix}-key-file`, given.text(`${prefix}-key-file`));
  if (certificatePem === undefined || keyPem === undefined) return undefined;
  return loadCertificateAuthority({ certificatePem, keyPem }, { clock, random, keys: systemKeys });
}

const tokenSeconds = 3600;
/** Asked for anew when so much of its life is over. */
const renewAtShare = 0.8;

/** As a controller's own ServiceAccount, which is made when missing, by tokens that are asked for as they run out. */
function accountConnection(
  account: string,
  { client, clock }: ComponentContext,
  as: Connection['options'],
): Connection {
  let known: { readonly token: string; readonly goodUntilMs: number } | undefined;
  const token = async () => {
    if (known && clock.monotonic() < known.goodUntilMs) return known.token;
    const answer = await accountToken(client, account);
    known = { token: answer, goodUntilMs: clock.monotonic() + tokenSeconds * renewAtShare * 1000 };
    return answer;
  };
  const { server, tls, userAgent, statistics } = as;
  return connectionOf({
    server,
    clock,
    userAgent,
    statistics,
    token,
    tls: { ...tls, cert: undefined, key: undefined },
  });
}

async function accountToken(client: Client, account: string): Promise<string> {
  const ref = { namespace: 'kube-system', name: account };
  try {
    await client.create(serviceAccounts, { metadata: ref });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: tokenSeconds },
  };
  const { status } = await client.createSubresource<{ readonly status: { readonly token: string } }>(
    serviceAccounts,
    ref,
    'token',
    body,
  );
  return status.token;
}
