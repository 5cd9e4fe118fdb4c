/**
 * The same cluster from five processes under their upstream names, with upstream's flags and configuration files: they take over the
 * data, the runtime and the Pods of a `coracle up` that has ended.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { certificateUser, formatKubeconfig, kubeconfigOf } from '../../src/client/kubeconfig.ts';
import { clusterPki, keyFolder } from '../../src/cluster/certificates/cluster-pki.ts';
import { layOut } from '../../src/cluster/data/data-directory.ts';
import { containerdSocket } from '../../src/cluster/node/private-containerd.ts';
import { systemKeys } from '../../src/pki/keys.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { needs } from '../../src/testing/needs.ts';
import { type TestNetwork, testNetwork } from '../../src/testing/network.ts';
import { ClusterMachine, root } from './cluster-machine.fixture.ts';

const address = '192.168.79.1';
const server = 'https://127.0.0.1:6443';

describe('five components in processes of their own', needs('containers'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-components-'));
  const directory = layOut(join(folder, 'data'));
  const pki = (name: string) => join(directory.pki, name);
  const processes = new Map<string, ChildProcess>();
  let network: TestNetwork;
  let machine: ClusterMachine;

  const run = (program: string, ...words: string[]) => machine.run(program, ...words);
  const kubectl = (...words: string[]) => machine.kubectl(...words);
  const start = (name: string, ...words: string[]) => {
    const log = openSync(join(folder, `${name}.log`), 'a');
    const enter = [`--net=/run/netns/${machine.host.namespace}`, join(root, 'coracle'), name, ...words];
    processes.set(name, spawn('nsenter', enter, { stdio: ['ignore', log, log] }));
  };
  const logOf = (name: string) => readFileSync(join(folder, `${name}.log`), 'utf8');
  const end = async (name: string) => {
    const child = processes.get(name)!;
    processes.delete(name);
    if (child.exitCode !== null) return child.exitCode;
    const ended = new Promise<number | null>((done) => child.once('exit', (code) => done(code)));
    child.kill('SIGTERM');
    return ended;
  };
  const identities = () =>
    clusterPki(keyFolder(directory.pki), { clock: systemClock, random: systemRandom, keys: systemKeys });
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const kubeconfig = (key: string, user: string, groups: readonly string[] = []) => {
    const { certificatePem, keyPem } = identities().client(key, user, groups);
    const caPem = identities().authority.certificatePem;
    return write(
      `${key}.kubeconfig`,
      formatKubeconfig(kubeconfigOf({ name: 'c', server, caPem, user: certificateUser(certificatePem, keyPem) })),
    );
  };

  before(async () => {
    network = testNetwork();
    machine = new ClusterMachine(network.host([`${address}/24`]), { data: directory.root, folder });
    machine.coracle('up', '--detach', '--no-install', '--node-name', 'node-a');
    machine.loadBusybox();
    const overrides = JSON.stringify({ spec: { terminationGracePeriodSeconds: 1 } });
    kubectl('run', 'kept', '--image=busybox:1.36', `--overrides=${overrides}`, '--', 'sleep', '10000');
    kubectl('wait', '--for=condition=Ready', 'pod/kept', '--timeout=60s');
    const pid = Number(readFileSync(join(directory.run, 'control-plane.pid'), 'utf8').split(' ')[0]);
    process.kill(pid, 'SIGTERM');
    await eventually(() => !processAlive(pid));
  });
  after(async () => {
    for (const name of [...processes.keys()]) await end(name);
    try {
      machine.coracle('down', '--purge');
    } finally {
      network?.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('an API server serves the data that is there', async () => {
    identities().client('apiserver-kubelet-client', 'kube-apiserver-kubelet-client', ['system:masters']);
    start(
      'kube-apiserver',
      '--bind-address=0.0.0.0',
      '--secure-port=6443',
      `--data-dir=${directory.store}`,
      `--advertise-address=${address}`,
      '--authorization-mode=Node,RBAC',
      '--enable-bootstrap-token-auth',
      '--enable-admission-plugins=NodeRestriction',
      `--client-ca-file=${pki('ca.crt')}`,
      `--tls-cert-file=${pki('apiserver.crt')}`,
      `--tls-private-key-file=${pki('apiserver.key')}`,
      `--kubelet-client-certificate=${pki('apiserver-kubelet-client.crt')}`,
      `--kubelet-client-key=${pki('apiserver-kubelet-client.key')}`,
      `--kubelet-certificate-authority=${pki('ca.crt')}`,
      '--kubelet-preferred-address-types=InternalIP,Hostname',
      `--service-account-key-file=${pki('sa.key')}`,
      `--service-account-signing-key-file=${pki('sa.key')}`,
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--runtime-config=api/all=true',
      '--tracing-config-file=/nowhere.yaml',
    );
    await eventually(() => kubectl('get', '--raw', '/readyz'), /^ok$/);
    assert.equal(kubectl('get', 'pods', '-o', 'name'), 'pod/kept');
    assert.match(logOf('kube-apiserver'), /have no effect: --tracing-config-file/);
  });

  it('a controller manager and a scheduler lead, each by its Lease', async () => {
    start(
      'kube-controller-manager',
      `--kubeconfig=${kubeconfig('controller-manager', 'system:kube-controller-manager')}`,
      '--use-service-account-credentials',
      '--allocate-node-cidrs',
      '--cluster-cidr=10.244.0.0/16',
      '--service-cluster-ip-range=10.96.0.0/16',
      `--root-ca-file=${pki('ca.crt')}`,
      `--service-account-private-key-file=${pki('sa.key')}`,
      `--cluster-signing-cert-file=${pki('ca.crt')}`,
      `--cluster-signing-key-file=${pki('ca.key')}`,
    );
    start(
      'kube-scheduler',
      '--config',
      write(
        'scheduler.yaml',
        [
          'apiVersion: kubescheduler.config.k8s.io/v1',
          'kind: KubeSchedulerConfiguration',
          `clientConnection: {kubeconfig: ${kubeconfig('scheduler', 'system:kube-scheduler')}}`,
          'profiles: [{schedulerName: default-scheduler}]',
        ].join('\n'),
      ),
    );
    for (const name of ['kube-controller-manager', 'kube-scheduler'])
      await eventually(
        () => kubectl('-n', 'kube-system', 'get', 'lease', name, '-o', 'jsonpath={.spec.holderIdentity}'),
        /_/,
      );
  });

  it('a kubelet gets its certificates with a bootstrap token, adopts the Pod that runs and starts new ones', async () => {
    const token = {
      'token-id': 'abcdef',
      'token-secret': '0123456789abcdef',
      'usage-bootstrap-authentication': 'true',
    };
    const literals = Object.entries(token).map(([key, value]) => `--from-literal=${key}=${value}`);
    const type = '--type=bootstrap.kubernetes.io/token';
    kubectl('-n', 'kube-system', 'create', 'secret', 'generic', 'bootstrap-token-abcdef', type, ...literals);
    const caPem = identities().authority.certificatePem;
    const user = { token: `${token['token-id']}.${token['token-secret']}` };
    const bootstrap = formatKubeconfig(kubeconfigOf({ name: 'c', server, caPem, user }));
    start(
      'kubelet',
      '--hostname-override=node-a',
      `--node-ip=${address}`,
      `--bootstrap-kubeconfig=${write('bootstrap.kubeconfig', bootstrap)}`,
      `--kubeconfig=${join(folder, 'kubelet.kubeconfig')}`,
      `--cert-dir=${join(folder, 'kubelet-pki')}`,
      `--root-dir=${directory.kubeletRoot}`,
      '--config',
      write(
        'kubelet.yaml',
        [
          'apiVersion: kubelet.config.k8s.io/v1beta1',
          'kind: KubeletConfiguration',
          `containerRuntimeEndpoint: unix://${containerdSocket(directory)}`,
          `podLogsDir: ${directory.podLogs}`,
          `cgroupRoot: /${directory.state.replace('/run/', '')}`,
          `authentication: {x509: {clientCAFile: ${pki('ca.crt')}}}`,
          'rotateCertificates: true',
          'serverTLSBootstrap: true',
          'clusterDNS: [10.96.0.10]',
          'clusterDomain: cluster.local',
          'failSwapOn: false',
        ].join('\n'),
      ),
    );
    await eventually(() => kubectl('get', 'lease', '-n', 'kube-node-lease', 'node-a', '-o', 'name'), /node-a/);
    kubectl('create', 'deployment', 'web', '--image=busybox:1.36', '--', 'httpd', '-f', '-p', '8080');
    kubectl('wait', '--for=condition=Available', 'deployment/web', '--timeout=60s');
    const requests = () =>
      kubectl('get', 'csr', '--no-headers', '-o', 'custom-columns=U:.spec.username,S:.spec.signerName');
    assert.match(requests(), /^system:bootstrap:abcdef +kubernetes.io\/kube-apiserver-client-kubelet$/m);
    await eventually(requests, /^system:node:node-a +kubernetes.io\/kubelet-serving$/m);
    assert.match(readFileSync(join(folder, 'kubelet.kubeconfig'), 'utf8'), /kubelet-pki\/kubelet-client-current.pem/);
    // The API server believes no kubelet's certificate but the cluster's.
    await eventually(() => kubectl('exec', 'kept', '--', 'echo', 'hello'), /^hello$/);
    assert.equal(kubectl('get', 'pod', 'kept', '-o', 'jsonpath={.status.containerStatuses[0].restartCount}'), '0');
    assert.equal(run('curl', '-s', '-m', '5', 'http://127.0.0.1:10248/healthz'), 'ok');
  });

  it('a proxy carries Services, and takes its tables away with --cleanup', async () => {
    const words = [
      '--hostname-override=node-a',
      `--kubeconfig=${kubeconfig('kube-proxy', 'system:kube-proxy')}`,
      '--proxy-mode=nftables',
      '--cluster-cidr=10.244.0.0/16',
    ];
    kubectl('expose', 'deployment', 'web', '--port=80', '--target-port=8080');
    const ip = kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}');
    run('nft', 'delete', 'table', 'ip', 'kube-proxy');
    start('kube-proxy', ...words);
    const page = () => run('curl', '-s', '-m', '2', '-o', '/dev/null', '-w', '%{http_code}', `http://${ip}/`);
    await eventually(page, /^404$/);
    assert.match(run('curl', '-s', '-m', '5', 'http://127.0.0.1:10256/healthz'), /"lastUpdated"/);
    assert.equal(await end('kube-proxy'), 0);
    run('./coracle', 'kube-proxy', '--cleanup');
    assert.doesNotMatch(run('nft', 'list', 'tables'), /kube-proxy/);
  });

  it('each ends on SIGTERM with status 0', async () => {
    for (const name of ['kubelet', 'kube-scheduler', 'kube-controller-manager', 'kube-apiserver'])
      assert.equal(await end(name), 0, `${name}: ${logOf(name).slice(-2000)}`);
  });
});

function processAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
