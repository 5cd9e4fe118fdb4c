/** The kubelet on a real containerd: what only real processes, files, mounts and cgroups can show. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { configMaps, pods, secrets } from '../api/gen/core-v1.ts';
import { systemClock } from '../base/clock.ts';
import { startContainerd } from '../testing/containerd.ts';
import { eventually } from '../testing/eventually.ts';
import { type ImageRegistry, registryHost, startImageRegistry } from '../testing/image-registry.ts';
import { needs } from '../testing/needs.ts';
import { busyboxImage, busyboxImageArchive } from '../testing/oci-image.ts';
import { defaultConfiguration } from './configuration.ts';
import { linuxHost } from './host/linux-host.ts';
import { getPod, kubeletHarness, testPod } from './kubelet.fixture.ts';
import { startKubelet } from './kubelet.ts';
import { forever, image, RealKubelet, shell } from './real-kubelet.fixture.ts';
import { connectRuntime } from './runtime/cri/cri-runtime.ts';

const node = 'real-node';

describe('the kubelet on containerd', { ...needs('containers'), concurrency: 4 }, () => {
  const real = new RealKubelet(node);
  const { client, harness } = real;
  const create: RealKubelet['create'] = (...pod) => real.create(...pod);
  const pod = (name: string) => real.pod(name);
  const phase = (name: string, wanted: string) => real.phase(name, wanted);
  const remove = (name: string, gracePeriodSeconds?: number) => real.remove(name, gracePeriodSeconds);
  const status = (name: string, container?: string) => real.status(name, container);
  const exec = (name: string, script: string) => real.exec(name, script);
  const log = (name: string, options?: object) => real.log(name, options);
  let registry: ImageRegistry;

  before(async () => {
    await real.start();
    registry = await startImageRegistry(real.containerd.registryDirectory);
  });

  after(async () => {
    await registry?.stop();
    await real.stop();
  });

  it('gives a container its environment, files, name servers and hosts file', async () => {
    await client.create(configMaps, {
      metadata: { name: 'settings', namespace: 'default' },
      data: { color: 'blue', 'a.conf': 'x=1\n' },
    });
    await client.create(secrets, {
      metadata: { name: 'keys', namespace: 'default' },
      data: { key: Buffer.from('hidden').toString('base64') },
    });
    await create(
      'inside',
      {
        hostAliases: [{ ip: '10.9.8.7', hostnames: ['friend'] }],
        securityContext: { fsGroup: 2000 },
        containers: [
          {
            ...forever(),
            env: [
              { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } },
              { name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'key' } } },
              { name: 'WHERE', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
              { name: 'LIMIT', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
              { name: 'TOGETHER', value: '$(COLOR)-$(UNKNOWN)-$$(COLOR)' },
            ],
            resources: { limits: { memory: '64Mi', cpu: '250m' }, requests: { memory: '32Mi', cpu: '100m' } },
            volumeMounts: [
              { name: 'config', mountPath: '/config' },
              { name: 'config', mountPath: '/one.conf', subPath: 'a.conf' },
              { name: 'all', mountPath: '/all' },
              { name: 'scratch', mountPath: '/scratch' },
              { name: 'memory', mountPath: '/memory' },
            ],
          },
        ],
        volumes: [
          { name: 'config', configMap: { name: 'settings', items: undefined } },
          { name: 'scratch', emptyDir: {} },
          { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } },
          {
            name: 'all',
            projected: {
              sources: [
                { secret: { name: 'keys', items: [{ key: 'key', path: 'deep/key', mode: 0o400 }] } },
                { configMap: { name: 'absent', optional: true } },
                { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
                { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
              ],
            },
          },
        ],
      },
      { labels: { app: 'inside' } },
    );
    await phase('inside', 'Running');
    const ip = (await pod('inside'))?.status?.podIP ?? '';
    assert.match(ip, /^10\./);
    assert.equal(
      await exec('inside', 'echo $COLOR $KEY $WHERE $LIMIT $TOGETHER'),
      `blue hidden ${ip} 64 blue-$(UNKNOWN)-$(COLOR)\n`,
    );
    assert.equal(await exec('inside', 'cat /config/color /one.conf /all/deep/key'), 'bluex=1\nhidden');
    assert.equal(await exec('inside', 'cat /all/labels'), 'app="inside"');
    assert.match(await exec('inside', 'cat /all/token'), /^token-\d+$/);
    assert.match(await exec('inside', 'cat /etc/hosts'), new RegExp(`${ip}\tinside\n[^]*10.9.8.7\tfriend`));
    assert.equal(
      await exec('inside', 'cat /etc/resolv.conf'),
      'search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n',
    );
    assert.equal(await exec('inside', 'hostname'), 'inside\n');
    assert.equal((await exec('inside', 'id -G')).trim(), '0 2000');
    assert.match(
      await exec('inside', 'stat -c %g:%a /scratch; grep " /memory " /proc/mounts'),
      /^2000:2777\ntmpfs \/memory tmpfs.*size=8192k/,
    );
    assert.match(await exec('inside', 'echo x > /config/new'), /Read-only file system/);
    await remove('inside');
    assert.equal(
      existsSync(join(real.configuration.rootDirectory, 'pods')) &&
        readdirSync(join(real.configuration.rootDirectory, 'pods')).some((uid) => uid.includes('inside')),
      false,
    );
  });

  it('puts limits into cgroups of the container and of the Pod', async () => {
    await create('limited', {
      containers: [
        {
          ...forever(),
          resources: { limits: { memory: '64Mi', cpu: '250m' }, requests: { memory: '32Mi', cpu: '100m' } },
        },
      ],
    });
    await phase('limited', 'Running');
    const uid = (await pod('limited'))!.metadata.uid!;
    const group = join('/sys/fs/cgroup/memory', real.configuration.cgroupRoot, 'kubepods/burstable', `pod${uid}`);
    if (existsSync(group)) {
      assert.equal(readFileSync(join(group, 'memory.limit_in_bytes'), 'utf8').trim(), String(64 * 1024 * 1024));
      const container = real.kubelet.runningContainer('default', 'limited', 'main')!;
      const cpu = join(
        '/sys/fs/cgroup/cpu',
        real.configuration.cgroupRoot,
        'kubepods/burstable',
        `pod${uid}`,
        container,
      );
      assert.equal(readFileSync(join(cpu, 'cpu.shares'), 'utf8').trim(), '102');
      assert.equal(readFileSync(join(cpu, 'cpu.cfs_quota_us'), 'utf8').trim(), '25000');
    }
    await remove('limited');
    assert.equal(existsSync(group), false, 'the group is removed with the Pod');
  });

  it('gives a running container more and less of processor and memory, but takes no memory that is in use', async () => {
    const asking = (cpu: string, memory: string) => ({
      ...forever('head -c 24000000 /dev/zero >/dev/shm/x'),
      resources: { requests: { cpu, memory }, limits: { cpu, memory } },
    });
    const resize = async (cpu: string, memory: string) => {
      const current = (await pod('resized'))!;
      const generation = (current.metadata.generation ?? 1) + 1;
      const spec = { ...current.spec, containers: [asking(cpu, memory)] };
      await client.update(pods, { ...current, metadata: { ...current.metadata, generation }, spec });
    };
    const condition = async (type: string) =>
      (await pod('resized'))?.status?.conditions?.find((one) => one.type === type);
    const runsWith = async (cpu: string, memory: string) =>
      eventually(async () => {
        const { limits } = (await status('resized'))?.resources ?? {};
        assert.deepEqual([limits?.cpu, limits?.memory], [cpu, memory], harness.lines.slice(-5).join('\n'));
        assert.equal(await condition('PodResizeInProgress'), undefined);
      });
    await create('resized', { containers: [asking('100m', '64Mi')] }, { generation: 1 });
    await phase('resized', 'Running');
    const id = real.kubelet.runningContainer('default', 'resized', 'main')!;
    const uid = (await pod('resized'))!.metadata.uid!;
    const limitsOf = () => {
      const of = (controller: string, file: string) =>
        ['', id].map((child) => {
          const path = join(
            '/sys/fs/cgroup',
            controller,
            real.configuration.cgroupRoot,
            'kubepods',
            `pod${uid}`,
            child,
            file,
          );
          return existsSync(path) ? Number(readFileSync(path, 'utf8')) : undefined;
        });
      return { memory: of('memory', 'memory.limit_in_bytes'), quota: of('cpu', 'cpu.cfs_quota_us') };
    };
    const isV1 = limitsOf().memory[0] !== undefined;
    const mebibyte = 1024 ** 2;
    await resize('200m', '128Mi');
    await runsWith('200m', '128Mi');
    if (isV1) assert.deepEqual(limitsOf(), { memory: [128 * mebibyte, 128 * mebibyte], quota: [20_000, 20_000] });
    await exec('resized', 'while [ $(stat -c %s /dev/shm/x) -lt 24000000 ]; do sleep 0.1; done');
    await resize('100m', '8Mi');
    await eventually(
      () => condition('PodResizeInProgress'),
      (resize) => resize?.reason === 'Error',
    );
    assert.match(
      (await condition('PodResizeInProgress'))?.message ?? '',
      /attempting to set container "main" memory limit \(8388608\) below current usage \(\d+\)/,
    );
    if (isV1) assert.equal(limitsOf().memory[1], 128 * mebibyte);
    await resize('100m', '64Mi');
    await runsWith('100m', '64Mi');
    if (isV1) assert.deepEqual(limitsOf(), { memory: [64 * mebibyte, 64 * mebibyte], quota: [10_000, 10_000] });
    assert.equal(real.kubelet.runningContainer('default', 'resized', 'main'), id);
    assert.equal((await status('resized'))?.restartCount, 0);
    await remove('resized');
  });

  it('shows what a container said at its end, and that it was killed for its memory', async () => {
    await create('said', {
      restartPolicy: 'Never',
      containers: [shell('echo last words > /dev/termination-log; exit 7')],
    });
    await create('greedy', {
      restartPolicy: 'Never',
      containers: [
        {
          ...shell('exec dd if=/dev/zero of=/dev/shm/x bs=1M count=60'),
          resources: { limits: { memory: '16Mi' }, requests: { memory: '16Mi' } },
        },
      ],
    });
    await phase('said', 'Failed');
    const { terminated } = (await status('said'))!.state!;
    assert.deepEqual([terminated?.exitCode, terminated?.reason, terminated?.message], [7, 'Error', 'last words\n']);
    await phase('greedy', 'Failed');
    assert.equal((await status('greedy'))?.state?.terminated?.reason, 'OOMKilled');
    await remove('said');
    await remove('greedy');
  });

  it('reads logs whole, from their end, with times, of the container before, and as they come', async () => {
    await create('talks', {
      containers: [
        forever(
          'for i in 1 2 3; do echo line $i; done; until [ -e /more ]; do sleep 0.1; done; echo error >&2; until [ -e /last ]; do sleep 0.1; done; echo late',
        ),
      ],
    });
    await phase('talks', 'Running');
    // The two streams are copied each by itself: only what was seen of one comes before what the other says next.
    for (const [said, file] of [
      ['line 3', '/more'],
      ['error', '/last'],
      ['late', '/done'],
    ] as const) {
      await eventually(async () => (await log('talks')).includes(said));
      await exec('talks', `touch ${file}`);
    }
    assert.equal(await log('talks'), 'line 1\nline 2\nline 3\nerror\nlate\n');
    assert.equal(await log('talks', { tailLines: 2 }), 'error\nlate\n');
    assert.equal(await log('talks', { limitBytes: 9 }), 'line 1\nli');
    assert.match(await log('talks', { timestamps: true, tailLines: 1 }), /^\d{4}-\d\d-\d\dT[\d:.]+Z late\n$/);
    assert.equal(await log('talks', { stream: 'Stderr' }), 'error\n');
    await assert.rejects(
      log('talks', { previous: true }),
      /previous terminated container "main" in pod "talks" not found/,
    );
    await remove('talks');
    await create('once', {
      restartPolicy: 'Never',
      containers: [
        shell('echo 1; while [ ! -e /told ]; do sleep 0.1; done; for i in 2 3 4; do echo $i; sleep 0.1; done'),
      ],
    });
    await phase('once', 'Running');
    const followed = log('once', { follow: true });
    await exec('once', 'touch /told');
    assert.equal(await followed, '1\n2\n3\n4\n', 'follows until the container ends');
    await remove('once');
  });

  it('updates files of a volume when their ConfigMap changes', async () => {
    await client.create(configMaps, {
      metadata: { name: 'changing', namespace: 'default' },
      data: { a: 'old', gone: 'x' },
    });
    await create('watcher', {
      containers: [{ ...forever(), volumeMounts: [{ name: 'config', mountPath: '/config' }] }],
      volumes: [{ name: 'config', configMap: { name: 'changing' } }],
    });
    await phase('watcher', 'Running');
    await client.update(configMaps, {
      metadata: { name: 'changing', namespace: 'default' },
      data: { a: 'new', more: 'y' },
    });
    await eventually(async () => (await exec('watcher', 'cat /config/a')) === 'new');
    assert.equal(await exec('watcher', 'ls /config'), 'a\nmore\n');
    await remove('watcher');
  });

  it('probes by command and over HTTP, and restarts what has died inside', async () => {
    await create('probed', {
      containers: [
        {
          ...forever('mkdir /www; echo ok > /www/index.html; httpd -p 8080 -h /www; touch /alive'),
          readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
          livenessProbe: { exec: { command: ['cat', '/alive'] }, periodSeconds: 1, failureThreshold: 2 },
        },
      ],
    });
    const isReady = async () =>
      (await pod('probed'))?.status?.conditions?.some(
        ({ type, status: value }) => type === 'Ready' && value === 'True',
      ) ?? false;
    await eventually(isReady);
    await exec('probed', 'rm /alive');
    await eventually(async () => ((await status('probed'))?.restartCount ?? 0) === 1);
    await eventually(isReady);
    const messages = await real.told('probed');
    assert.ok(
      messages.includes("Liveness probe failed: cat: can't open '/alive': No such file or directory\n"),
      messages.join('\n'),
    );
    assert.ok(messages.includes('Container main failed liveness probe, will be restarted'));
    await remove('probed');
  });

  it('runs hooks after the start and before the end', async () => {
    await create('hooked', {
      terminationGracePeriodSeconds: 20,
      containers: [
        {
          ...forever(),
          lifecycle: {
            postStart: { exec: { command: ['sh', '-c', 'echo started > /shared/log'] } },
            preStop: { exec: { command: ['sh', '-c', 'echo stopping >> /shared/log; sleep 1'] } },
          },
          volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
        },
      ],
      volumes: [
        { name: 'shared', hostPath: { path: join(real.containerd.directory, 'hooked'), type: 'DirectoryOrCreate' } },
      ],
    });
    await phase('hooked', 'Running');
    const file = join(real.containerd.directory, 'hooked', 'log');
    assert.equal(readFileSync(file, 'utf8'), 'started\n');
    await remove('hooked');
    assert.equal(readFileSync(file, 'utf8'), 'started\nstopping\n');
  });

  it('restarts one container, or all of them, after the exit codes that rules name', async () => {
    const rule = (action: 'Restart' | 'RestartAllContainers', code: number) => ({
      restartPolicy: 'Never' as const,
      restartPolicyRules: [{ action, exitCodes: { operator: 'In' as const, values: [code] } }],
    });
    const file = join(real.containerd.directory, 'rules');
    const volumes = [{ name: 'notes', hostPath: { path: file, type: 'DirectoryOrCreate' as const } }];
    const volumeMounts = [{ name: 'notes', mountPath: '/notes' }];
    const counted = (name: string, more: string) => ({
      ...shell(`echo ${name} >> /notes/seen; ${more}`),
      name,
      volumeMounts,
    });
    // Each container asks for its restart the first time only.
    const once = (mark: string, code: number) => `[ -e /notes/${mark} ] || { touch /notes/${mark}; exit ${code}; }`;
    const wait = `trap 'exit 0' TERM; while true; do sleep 0.1; done`;
    await create('ruled', {
      restartPolicy: 'Never',
      volumes,
      initContainers: [counted('setup', ':')],
      containers: [
        counted('main', wait),
        { ...counted('one', `${once('one', 42)}; ${wait}`), ...rule('Restart', 42) },
        {
          ...counted('all', `while [ ! -e /notes/one ]; do sleep 0.1; done; ${once('all', 88)}; ${wait}`),
          ...rule('RestartAllContainers', 88),
        },
      ],
    });
    const seen = () => (existsSync(join(file, 'seen')) ? readFileSync(join(file, 'seen'), 'utf8').split('\n') : []);
    const count = (name: string) => seen().filter((line) => line === name).length;
    await eventually(async () => {
      assert.deepEqual([count('all'), count('main')], [2, 2], seen().join());
      assert.equal((await pod('ruled'))?.status?.phase, 'Running');
    });
    assert.equal(count('setup'), 2);
    assert.ok(count('one') >= 2);
    await eventually(async () => (await status('ruled', 'main'))?.restartCount === 1);
    assert.equal((await status('ruled', 'setup'))?.lastState?.terminated?.reason, 'RestartingAllContainers');
    await remove('ruled', 1);
  });

  it('pulls images, with the credentials of a secret where they are asked for', async () => {
    registry.add('team/app:1', busyboxImage({ config: { Cmd: ['sleep', '1000'] } }));
    registry.requirePassword('robot', 'pass');
    await client.create(secrets, {
      metadata: { name: 'pull', namespace: 'default' },
      type: 'kubernetes.io/dockerconfigjson',
      data: {
        '.dockerconfigjson': Buffer.from(
          JSON.stringify({ auths: { [registryHost]: { username: 'robot', password: 'pass' } } }),
        ).toString('base64'),
      },
    });
    const container = { name: 'main', image: `${registryHost}/team/app:1`, imagePullPolicy: 'Always' as const };
    await create('stranger', { containers: [container] });
    await eventually(async () => (await status('stranger'))?.state?.waiting?.reason === 'ErrImagePull');
    await create('member', { containers: [container], imagePullSecrets: [{ name: 'pull' }] });
    await phase('member', 'Running');
    assert.ok(
      (await real.told('member')).some((message) =>
        /^Successfully pulled image "registry.test\/team\/app:1" in .* Image size: \d+ bytes\.$/.test(message),
      ),
    );
    // The image is here now, but only for those who could have pulled it.
    const present = { ...container, imagePullPolicy: 'IfNotPresent' as const };
    await create('intruder', { containers: [present] });
    await eventually(async () => (await status('intruder'))?.state?.waiting?.reason === 'ErrImagePull');
    await create('lurker', { containers: [{ ...container, imagePullPolicy: 'Never' }] });
    await eventually(async () => (await status('lurker'))?.state?.waiting?.reason === 'ErrImageNeverPull');
    await create('colleague', { containers: [present], imagePullSecrets: [{ name: 'pull' }] });
    await phase('colleague', 'Running');
    assert.ok(
      (await real.told('colleague')).includes(
        `Container image "${present.image}" already present on machine and can be accessed by the pod`,
      ),
    );
    await Promise.all(['stranger', 'member', 'intruder', 'lurker', 'colleague'].map((name) => remove(name, 1)));
  });

  it('keeps to its security context', async () => {
    await create('secure', {
      securityContext: { runAsUser: 1000, runAsGroup: 3000 },
      containers: [
        {
          ...forever(),
          securityContext: {
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
            seccompProfile: { type: 'RuntimeDefault' },
          },
        },
      ],
    });
    await create('root', {
      restartPolicy: 'Never',
      containers: [{ ...forever(), securityContext: { runAsNonRoot: true } }],
    });
    await phase('secure', 'Running');
    assert.match(await exec('secure', 'id'), /^uid=1000 gid=3000/);
    assert.match(await exec('secure', 'touch /x'), /Read-only file system/);
    assert.match(
      await exec('secure', 'grep -E "NoNewPrivs|Seccomp:|CapBnd" /proc/self/status'),
      /CapBnd:\s+0000000000000400\nNoNewPrivs:\s+1\nSeccomp:\s+2/,
    );
    await eventually(async () => (await status('root'))?.state?.waiting?.reason === 'CreateContainerConfigError');
    assert.match(
      (await status('root'))?.state?.waiting?.message ?? '',
      /^container has runAsNonRoot and image will run as root/,
    );
    await remove('secure', 1);
    await remove('root', 1);
  });

  it("confines a container by a profile of the node's own", async () => {
    const folder = join(real.configuration.rootDirectory, 'seccomp', 'profiles');
    await mkdir(folder, { recursive: true });
    const syscalls = [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }];
    await writeFile(join(folder, 'no-mkdir.json'), JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW', syscalls }));
    await create('confined', {
      securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'profiles/no-mkdir.json' } },
      containers: [forever()],
    });
    await phase('confined', 'Running');
    assert.match(await exec('confined', 'touch /file && mkdir /folder'), /\/folder': Operation not permitted/);
    await remove('confined', 1);
  });

  it("shares the host's network, and forwards ports of the host into Pods", async () => {
    await create('host', { hostNetwork: true, containers: [forever()] });
    await create('ported', {
      containers: [
        {
          ...forever('mkdir /www; echo through > /www/index.html; httpd -p 80 -h /www'),
          ports: [{ containerPort: 80, hostPort: 34567, hostIP: '127.0.0.1' }],
        },
      ],
    });
    await phase('host', 'Running');
    await phase('ported', 'Running');
    const { podIP, hostIP } = (await pod('host'))!.status!;
    assert.equal(podIP, hostIP);
    assert.match(await exec('host', 'head -1 /etc/hosts'), /managed hosts file \(host network\)/);
    const address = (await pod('ported'))!.status!.podIP!;
    await eventually(
      async () =>
        (await fetch(`http://${address}/`).then(
          (answer) => answer.text(),
          () => '',
        )) === 'through\n',
    );
    await remove('host', 1);
    await remove('ported', 1);
  });

  it('runs Pods from files, with mirrors that come back', async () => {
    const path = join(real.configuration.staticPodPath, 'static.yaml');
    const manifest = (script: string) => `apiVersion: v1
kind: Pod
metadata: {name: static}
spec:
  containers:
  - name: main
    image: ${image}
    command: [sh, -c, "trap 'exit 0' TERM; ${script}; while true; do sleep 0.1; done"]
`;
    await writeFile(path, manifest('echo one'));
    const name = `static-${node}`;
    await phase(name, 'Running');
    const mirror = await pod(name);
    assert.equal(mirror?.metadata.annotations?.['kubernetes.io/config.source'], 'file');
    assert.equal(mirror?.metadata.ownerReferences?.[0]?.kind, 'Node');
    const id = (await status(name))?.containerID;
    await client.delete(pods, { namespace: 'default', name }, { gracePeriodSeconds: 0 });
    await eventually(
      async () => (await pod(name))?.metadata.uid !== mirror?.metadata.uid && (await status(name))?.containerID === id,
    );
    await writeFile(path, manifest('echo two'));
    await eventually(async () => {
      assert.notEqual((await status(name))?.containerID, id);
      assert.equal(await log(name), 'two\n');
    });
    await rm(path);
    await eventually(async () => (await pod(name)) === undefined);
  });
});

describe('a node that loses its parts', needs('containers'), () => {
  it('keeps Pods running through the death of the kubelet and of containerd', async () => {
    const harness = kubeletHarness(systemClock);
    const containerd = await startContainerd();
    const runtime = await connectRuntime({ clock: systemClock, endpoint: containerd.endpoint });
    const { directory, cgroupRoot } = containerd;
    const configuration = {
      ...defaultConfiguration,
      rootDirectory: join(directory, 'kubelet'),
      podLogsDirectory: join(directory, 'logs'),
      containerLogsDirectory: '',
      cgroupRoot,
      // How soon the kubelet tells that its runtime has gone.
      nodeStatusUpdateFrequencyMs: 500,
    };
    const host = linuxHost({ clock: systemClock, random: harness.random, log: harness.log, configuration });
    let kill = async () => {};
    const launch = async () => {
      const { stop, context } = harness.context();
      const kubelet = await startKubelet(context, { nodeName: node, runtime, host, configuration });
      kill = async () => {
        stop.abort(new Error('killed'));
        await kubelet.done;
      };
      await eventually(async () => kubelet.isReady);
      return kubelet;
    };
    const state = async () => (await getPod(harness.client, 'web'))?.status?.containerStatuses?.[0];
    // Other suites may run this file at the same time.
    const mark = `: survives the kubelet of ${node}-${process.pid}`;
    try {
      await containerd.importImage(busyboxImageArchive(image));
      await launch();
      await harness.client.create(pods, testPod('web', node, { containers: [forever(mark)] }));
      await eventually(async () => (await state())?.ready === true);
      const first = await state();
      await kill();
      await containerd.kill();
      const survivor = execFileSync('pgrep', ['-f', `${mark};`], { encoding: 'utf8' }).trim();
      assert.notEqual(survivor, '', 'the container itself goes on');
      await containerd.restart();
      const kubelet = await launch();
      // Once a Pod that came later runs, the kubelet has seen the other one too.
      await harness.client.create(pods, testPod('later', node, { containers: [forever()] }));
      await eventually(
        async () => (await getPod(harness.client, 'later'))?.status?.containerStatuses?.[0]?.ready === true,
      );
      assert.equal((await state())?.containerID, first?.containerID);
      assert.equal((await state())?.restartCount, 0);
      await containerd.kill();
      await eventually(async () => !kubelet.isReady);
      await containerd.restart();
      for (const name of ['web', 'later']) {
        await harness.client.delete(pods, { namespace: 'default', name }, { gracePeriodSeconds: 5 });
        await eventually(async () => (await getPod(harness.client, name)) === undefined);
      }
      // The object goes first, what is left of its containers then.
      await eventually(async () => (await runtime.listContainers()).length === 0);
    } finally {
      // First of all: a kubelet that goes on without its runtime keeps the whole test file from ending.
      await kill();
      runtime.close();
      await containerd.stop();
    }
  });
});
