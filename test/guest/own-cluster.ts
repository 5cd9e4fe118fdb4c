/**
 * A cluster inside a guest: API server over its embedded store, and kubelet, as services of systemd that begin with the machine. Only the
 * client is outside, and remembers what it was told. Nobody but the client decides where Pods run.
 */
import { systemClock } from '../../src/base/clock.ts';
import { createHttpTransport, type TlsOptions } from '../../src/client/http-transport.ts';
import { type Client, createClient } from '../../src/client/index.ts';
import { certificateUser, formatKubeconfig, kubeconfigOf } from '../../src/client/kubeconfig.ts';
import { commonFlags, makeKeys } from '../etcd/servers.fixture.ts';
import { type Guest, write } from './guest.ts';

/** Of its API server, in the guest. */
export const clusterPort = 6443;

const folder = '/etc/kubernetes';

export interface OwnCluster {
  /** As its administrator; a connection that broke is made anew. */
  readonly client: Client;
  close(): Promise<void>;
}

/** Nothing of an earlier cluster may be left. `port`: of this machine, leads to the API server. */
export async function startOwnCluster(guest: Guest, port: number): Promise<OwnCluster> {
  const { authority, admin, files } = makeKeys(['127.0.0.1']);
  const user = certificateUser(admin.certificatePem, admin.keyPem);
  const server = `https://127.0.0.1:${clusterPort}`;
  const kubeconfig = formatKubeconfig(kubeconfigOf({ name: 'guest', server, caPem: authority.certificatePem, user }));
  const flags = [
    ...commonFlags(folder),
    '--data-dir=/var/lib/coracle/data',
    '--cert-dir=/var/lib/coracle/certificates',
    `--secure-port=${clusterPort}`,
    '--bind-address=0.0.0.0',
    '--advertise-address=10.0.2.15',
    // Nobody makes the accounts that Pods would run as.
    '--disable-admission-plugins=ServiceAccount',
  ];
  await guest.run(
    [
      ...Object.entries(files).map(([name, text]) => write(`${folder}/${name}`, text)),
      write(`${folder}/kubelet.conf`, kubeconfig),
      write(`${folder}/kube-apiserver.env`, `FLAGS=${flags.join(' ')}\n`),
      'systemctl enable -q --now coracle@kube-apiserver kubelet',
    ].join('\n'),
  );
  const tls: TlsOptions = { ca: authority.certificatePem, cert: admin.certificatePem, key: admin.keyPem };
  const transport = createHttpTransport({ server: `https://127.0.0.1:${port}`, tls, clock: systemClock });
  return { client: createClient(transport), close: () => transport.close() };
}
