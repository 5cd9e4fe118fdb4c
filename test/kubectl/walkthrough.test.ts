/**
 * What a user does on the first day, with the real kubectl in several releases against a cluster of real containers: `coracle up`, the
 * example of the README, every everyday command, names and Services from inside and outside, and a cluster that is killed and comes
 * back. The cluster lives in a network namespace of its own.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../../src/testing/eventually.ts';
import { type Kubectl, testedReleases } from '../../src/testing/kubectl.ts';
import { needs } from '../../src/testing/needs.ts';
import { type TestHost, type TestNetwork, testNetwork } from '../../src/testing/network.ts';
import { busyboxImageArchive } from '../../src/testing/oci-image.ts';

const root = resolve(import.meta.dirname, '../..');
const image = 'docker.io/library/busybox:1.36';
const releases = testedReleases();
const needsLibraries = ({ path }: Kubectl) => readFileSync(path).subarray(0, 4096).includes('ld-linux');
/** One that runs in a container without libraries, if there is one; another (Debian's) brings its own along. */
const carried = releases.find((kubectl) => !needsLibraries(kubectl)) ?? releases[0]!;
/** The libraries that a program asks for, its loader among them. */
const librariesOf = (program: string) =>
  [...execFileSync('ldd', [program], { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path!);

const folder = mkdtempSync(join(tmpdir(), 'coracle-walk-'));
const dataDir = join(folder, 'data');
const kubeconfig = join(dataDir, 'kubeconfig');
let network: TestNetwork;
let machine: TestHost;

/** Runs a program in the cluster's network; its output, or a failed test with what it said. */
function run(
  program: string,
  words: readonly string[],
  options: { readonly input?: string; readonly env?: Record<string, string> } = {},
): string {
  try {
    return execFileSync('nsenter', [`--net=/run/netns/${machine.namespace}`, program, ...words], {
      encoding: 'utf8',
      cwd: root,
      input: options.input ?? '',
      timeout: 120_000,
      env: { ...process.env, KUBECONFIG: kubeconfig, HOME: folder, ...options.env },
    });
  } catch (error) {
    const { stdout, stderr, message } = error as Error & { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`${program} ${words.join(' ')}\n${stdout ?? ''}${stderr ?? message}`);
  }
}

const coracle = (...words: string[]) => run('./coracle', [...words, '--data-dir', dataDir]);
const pidOf = (name: string) => Number(readFileSync(join(dataDir, 'run', `${name}.pid`), 'utf8').split(' ')[0]);

describe('a first day with a real cluster', needs('containers', 'kubectl'), () => {
  before(() => {
    network = testNetwork();
    machine = network.host(['192.168.77.1/24']);
    coracle('up', '--detach', '--no-install');
    const archive = join(folder, 'busybox.tar');
    writeFileSync(archive, busyboxImageArchive(image));
    coracle('image', 'load', archive);
  });

  after(() => {
    try {
      coracle('down', '--purge');
    } finally {
      network?.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('the node is Ready, and the image is there', () => {
    assert.match(run(releases.at(-1)!.path, ['get', 'nodes']), / Ready /);
    assert.match(coracle('image', 'ls'), /docker.io\/library\/busybox:1\.36 /);
    assert.match(coracle('status'), /Ready/);
  });

  for (const { release, path } of releases) {
    const namespace = `tour-${release.replace('.', '-')}`;
    const kubectl = (...words: string[]) => run(path, ['-n', namespace, ...words]);

    test(`kubectl ${release}: the example runs, and every everyday command works on it`, async () => {
      run(path, ['create', 'namespace', namespace]);
      assert.match(kubectl('apply', '-f', 'examples/01-hello/'), /deployment.apps\/hello created/);
      assert.match(kubectl('rollout', 'status', 'deployment/hello', '--timeout=90s'), /successfully rolled out/);
      const wide = kubectl('get', 'pods', '-l', 'app=hello', '-o', 'wide');
      assert.equal(wide.match(/1\/1 +Running +0 .* 10\.244\./g)?.length, 2, wide);
      const pod = kubectl('get', 'pods', '-l', 'app=hello', '-o', 'jsonpath={.items[0].metadata.name}');
      const described = kubectl('describe', 'pod', pod);
      for (const fact of [
        /Successfully assigned tour/,
        /Container image ".*busybox:1.36" already present on machine/,
        /Container started/,
        /Ready +True/,
      ])
        assert.match(described, fact);
      kubectl('wait', '--for=condition=complete', 'job/hello-once', '--timeout=60s');
      assert.equal(kubectl('logs', '-f', 'job/hello-once'), 'the job is done\n');
      assert.match(kubectl('logs', 'deployment/hello'), /serving/);

      const page = kubectl('exec', 'deploy/hello', '-c', 'web', '--', 'cat', '/www/index.html');
      assert.match(page, /^Hello from a coracle, hello-/);
      assert.equal(
        run(path, ['-n', namespace, 'exec', '-i', 'deploy/hello', '--', 'sh', '-c', 'cat; echo " $PASSWORD"'], {
          input: 'said',
        }),
        'said paddle\n',
      );
      assert.match(
        run('script', [
          '-qec',
          `${path} -n ${namespace} exec -it deploy/hello -- sh -c 'test -t 0 && echo a terminal'`,
          '/dev/null',
        ]),
        /a terminal/,
      );
      assert.throws(() => kubectl('exec', 'deploy/hello', '--', 'sh', '-c', 'exit 7'), /exit code 7/);
      assert.match(
        kubectl('exec', 'deploy/hello', '--', 'cat', '/etc/hello/greeting', '/etc/hello/labels'),
        /coracle.*app="hello"/s,
      );

      const local = join(folder, `copied-${release}`);
      writeFileSync(`${local}.in`, 'cargo\n'.repeat(50_000));
      kubectl('cp', `${local}.in`, `${pod}:/tmp/cargo`);
      kubectl('cp', `${pod}:/tmp/cargo`, `${local}.out`);
      assert.equal(readFileSync(`${local}.out`, 'utf8'), readFileSync(`${local}.in`, 'utf8'));
    });

    test(`kubectl ${release}: port-forward, scale, set image, undo, edit, explain and the rest`, async () => {
      const forward = spawn(
        'nsenter',
        [`--net=/run/netns/${machine.namespace}`, path, '-n', namespace, 'port-forward', 'svc/hello', '18080:80'],
        {
          env: { ...process.env, KUBECONFIG: kubeconfig },
          stdio: 'ignore',
        },
      );
      try {
        await eventually(
          () => run('/bin/busybox', ['wget', '-q', '-O', '-', 'http://127.0.0.1:18080/']),
          (page) => page.includes('Hello from a coracle'),
        );
      } finally {
        forward.kill();
      }
      kubectl('scale', 'deployment/hello', '--replicas=3');
      kubectl('rollout', 'status', 'deployment/hello', '--timeout=60s');
      assert.equal(kubectl('get', 'deployment', 'hello', '-o', 'jsonpath={.status.readyReplicas}'), '3');
      kubectl('set', 'image', 'deployment/hello', 'web=docker.io/library/nowhere:1');
      await eventually(
        () => kubectl('get', 'pods'),
        (list) => /ErrImagePull|ImagePullBackOff/.test(list),
      );
      kubectl('rollout', 'undo', 'deployment/hello');
      kubectl('rollout', 'status', 'deployment/hello', '--timeout=60s');
      assert.equal(
        kubectl('get', 'deployment', 'hello', '-o', 'jsonpath={.spec.template.spec.containers[0].image}'),
        image,
      );
      run(path, ['-n', namespace, 'edit', 'configmap', 'hello-page'], {
        env: { KUBE_EDITOR: "sed -i 's/greeting: .*/greeting: Edited/'" },
      });
      assert.equal(kubectl('get', 'configmap', 'hello-page', '-o', 'jsonpath={.data.greeting}'), 'Edited');
      await eventually(
        () => kubectl('exec', 'deploy/hello', '--', 'cat', '/etc/hello/greeting'),
        (text) => text === 'Edited',
      );
      assert.match(kubectl('explain', 'deployment.spec.strategy'), /rollingUpdate/);
      assert.equal(kubectl('auth', 'can-i', 'create', 'pods').trim(), 'yes');
      assert.throws(() => kubectl('auth', 'can-i', 'create', 'pods', '--as=nobody'), /no/);
      assert.match(kubectl('api-resources', '--api-group=apps'), /deployments +deploy +apps\/v1 +true +Deployment/);
      assert.match(kubectl('get', 'all'), /service\/hello/);
      assert.match(kubectl('get', 'events'), /ScalingReplicaSet/);
    });

    test(`kubectl ${release}: names, cluster IP and node port answer; a Pod reads the API with its own token`, async () => {
      const [address, nodePort] = kubectl(
        'get',
        'service',
        'hello',
        '-o',
        'jsonpath={.spec.clusterIP} {.spec.ports[0].nodePort}',
      ).split(' ');
      const fromPod = (url: string) => kubectl('exec', 'deploy/hello', '--', 'wget', '-q', '-O', '-', url);
      assert.match(fromPod('http://hello/'), /Hello from a coracle/);
      assert.match(fromPod(`http://hello.${namespace}.svc.cluster.local/`), /Hello from a coracle/);
      assert.match(fromPod(`http://192.168.77.1:${nodePort}/`), /Hello from a coracle/);
      for (const url of [`http://${address}/`, `http://192.168.77.1:${nodePort}/`])
        assert.match(run('/bin/busybox', ['wget', '-q', '-O', '-', url]), /Hello from a coracle/);
      assert.match(
        kubectl('exec', 'deploy/hello', '--', 'nslookup', 'kubernetes.default.svc.cluster.local'),
        /10\.96\.0\.1\b/,
      );

      kubectl('create', 'role', 'reader', '--verb=list', '--resource=pods');
      kubectl('create', 'rolebinding', 'reader', '--role=reader', `--serviceaccount=${namespace}:default`);
      const client = kubectl('get', 'pods', '-l', 'app=hello', '-o', 'jsonpath={.items[0].metadata.name}');
      const libraries = needsLibraries(carried) ? librariesOf(carried.path) : [];
      kubectl('cp', carried.path, `${client}:/tmp/kubectl`);
      for (const file of libraries) kubectl('cp', realpathSync(file), `${client}:/tmp/${basename(file)}`);
      const loader = libraries.find((file) => basename(file).startsWith('ld-linux'));
      const program = `${loader ? `/tmp/${basename(loader)} --library-path /tmp ` : ''}/tmp/kubectl`;
      const fromContainer = (words: string) =>
        kubectl('exec', client, '--', 'sh', '-c', `KUBERNETES_SERVICE_HOST=kubernetes.default.svc ${program} ${words}`);
      assert.match(fromContainer('get pods'), /hello-[a-z0-9]+-[a-z0-9]+ +1\/1 +Running/);
      assert.throws(() => fromContainer('get secrets'), /forbidden.*cannot list resource "secrets"/s);
    });

    test(`kubectl ${release}: a node is described, tainted, cordoned, drained and put back`, async () => {
      const node = run(path, ['get', 'nodes', '-o', 'jsonpath={.items[0].metadata.name}']);
      const onNode = (verb: string, ...words: string[]) => run(path, [verb, ...words]);
      assert.equal(onNode('taint', 'nodes', node, 'spare=yes:NoSchedule'), `node/${node} tainted\n`);
      const described = onNode('describe', 'node', node);
      for (const fact of [
        /Taints: +spare=yes:NoSchedule/,
        /Ready +True .* KubeletReady/,
        /PodCIDR: +10\.244\.0\.0\/24/,
        /Allocated resources:/,
        new RegExp(`${namespace} +hello-`),
      ])
        assert.match(described, fact);
      assert.equal(onNode('taint', 'nodes', node, 'spare-'), `node/${node} untainted\n`);

      assert.equal(onNode('cordon', node), `node/${node} cordoned\n`);
      assert.match(onNode('get', 'nodes'), / Ready,SchedulingDisabled /);
      const draining = ['--pod-selector=app=hello', '--delete-emptydir-data', '--grace-period=1', '--timeout=60s'];
      const drained = onNode('drain', node, ...draining);
      assert.match(drained, new RegExp(`evicting pod ${namespace}/hello-.*node/${node} drained\n$`, 's'));
      await eventually(
        // The newest kubectl shows events of several Pods only when asked to.
        () => kubectl('describe', 'pods', '-l', 'app=hello', '--show-events'),
        (text) => text.includes('0/1 nodes are available: 1 node(s) were unschedulable.'),
      );
      assert.equal(onNode('uncordon', node), `node/${node} uncordoned\n`);
      kubectl('rollout', 'status', 'deployment/hello', '--timeout=60s');

      await eventually(
        () => onNode('top', 'nodes'),
        (table) => new RegExp(`^NAME +CPU.*\n${node} +\\d+m +\\d+% +\\d+Mi`).test(table),
      );
      assert.match(
        onNode('get', 'componentstatuses'),
        /^NAME +STATUS +MESSAGE +ERROR *\nscheduler +Healthy +ok *\ncontroller-manager +Healthy +ok *\netcd-0 +Healthy +ok *\n$/,
      );
    });

    test(`kubectl ${release}: what is deleted goes, with all it owns`, async () => {
      kubectl('delete', 'deployment', 'hello');
      await eventually(
        () => kubectl('get', 'pods', '-l', 'app=hello'),
        (list) => list === '',
      );
      run(path, ['delete', 'namespace', namespace, '--timeout=90s']);
      assert.throws(() => run(path, ['get', 'namespace', namespace]), /NotFound/);
    });
  }

  describe('killed and started again', () => {
    const kubectl = (...words: string[]) => run(releases.at(-1)!.path, words);
    const containers = () =>
      kubectl(
        'get',
        'pods',
        '-l',
        'app=hello',
        '-o',
        'jsonpath={range .items[*]}{.metadata.name} {.status.containerStatuses[0].containerID} {.status.containerStatuses[0].restartCount}{"\\n"}{end}',
      );

    test('kill -9 of the node, of the control plane, of both: the same cluster, and the same containers', async () => {
      kubectl('apply', '-f', 'examples/01-hello/');
      kubectl('rollout', 'status', 'deployment/hello', '--timeout=90s');
      const before = containers();
      assert.equal(before.trim().split('\n').length, 2);
      for (const victims of [['node'], ['control-plane'], ['control-plane', 'node']]) {
        for (const name of victims) process.kill(pidOf(name), 'SIGKILL');
        // A control plane that lives starts the node anew by itself.
        if (victims.includes('control-plane')) coracle('up', '--detach', '--no-install');
        await eventually(
          () => kubectl('get', 'nodes'),
          (list) => / Ready /.test(list),
        );
        assert.equal(containers(), before, `after kill -9 of ${victims.join(' and ')}`);
        assert.match(
          run('/bin/busybox', [
            'wget',
            '-q',
            '-O',
            '-',
            `http://${kubectl('get', 'svc', 'hello', '-o', 'jsonpath={.spec.clusterIP}')}/`,
          ]),
          /Hello from a coracle/,
        );
      }
      kubectl('scale', 'deployment/hello', '--replicas=1');
      await eventually(containers, (list) => list.trim().split('\n').length === 1);
    });
  });

  test('the tour of the README, line by line', () => {
    coracle('down');
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const tour = /## A first tour\n```sh\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
    const lines = tour.split('\n').filter((line) => line !== '' && !line.startsWith('export KUBECONFIG='));
    assert.ok(lines.length >= 8, tour);
    for (const line of lines) {
      const [program = '', ...words] = line.split(' ');
      if (program === './coracle') run(program, [...words, '--data-dir', dataDir]);
      else run(releases.at(-1)!.path, words);
    }
  });
});
