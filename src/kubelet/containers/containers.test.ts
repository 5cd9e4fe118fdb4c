/** What a container is given: environment, name servers, hosts, resources. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Pod, SeccompProfile, Service } from '../../api/gen/core-v1.ts';
import { blockDevices, volumeMounts as volumeMountsOf } from './container-config.ts';
import { etcHosts, parseResolvConf, podDns, podHostname } from './dns.ts';
import { containerEnvironment, serviceVariables } from './environment.ts';
import { expand } from './expansion.ts';
import { containerResources, cpuQuota, cpuShares, oomScoreAdj, overheadResources } from './resources.ts';
import { containerSecurity, RunAsRootError } from './security.ts';

const pod = (spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'u' },
  spec: { containers: [], ...spec },
});
const situation = {
  podIps: ['10.1.0.5'],
  hostIps: ['192.0.2.1'],
  nodeName: 'n',
  allocatable: { cpu: '4', memory: '8Gi' },
};
const objects = {
  configMap: async (_: string, name: string) =>
    name === 'config' ? { metadata: {}, data: { A: 'from config', B: 'b' } } : undefined,
  secret: async (_: string, name: string) =>
    name === 'secret' ? { metadata: {}, data: { A: Buffer.from('from secret').toString('base64') } } : undefined,
};

it('expands what it knows and leaves the rest', () => {
  const cases = [
    ['$(A)', 'x'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$x'],
    ['$(B)', '$(B)'],
    ['$(A', '$(A'],
    ['$A', '$A'],
    ['a$(A)b$(A)', 'axbx'],
    ['$', '$'],
  ];
  for (const [text, expected] of cases)
    assert.equal(
      expand(text!, (name) => (name === 'A' ? 'x' : undefined)),
      expected,
    );
});

describe('the environment', () => {
  const of = (container: Partial<Pod['spec']['containers'][number]>, services: readonly Service[] = []) =>
    containerEnvironment(pod(), { name: 'c', ...container }, { objects, services, situation }).then((list) =>
      Object.fromEntries(list.map(({ name, value }) => [name, value])),
    );

  it('takes whole sources first, then single variables, each seeing those before it', async () => {
    const values = await of({
      envFrom: [{ configMapRef: { name: 'config' } }, { prefix: 'S_', secretRef: { name: 'secret' } }],
      env: [
        { name: 'A', value: 'own' },
        { name: 'BOTH', value: '$(A) $(B) $(LATER)' },
        { name: 'LATER', value: 'x' },
      ],
    });
    assert.deepEqual(values, { A: 'own', B: 'b', S_A: 'from secret', BOTH: 'own b $(LATER)', LATER: 'x' });
  });

  it("says what is missing in upstream's words, unless it may be missing", async () => {
    const configMapKeyRef = { name: 'config', key: 'none' };
    await assert.rejects(
      of({ env: [{ name: 'A', valueFrom: { configMapKeyRef } }] }),
      /^Error: couldn't find key none in ConfigMap shop\/config$/,
    );
    await assert.rejects(of({ envFrom: [{ secretRef: { name: 'absent' } }] }), /^Error: secret "absent" not found$/);
    assert.deepEqual(
      await of({ env: [{ name: 'A', valueFrom: { configMapKeyRef: { ...configMapKeyRef, optional: true } } }] }),
      {},
    );
  });

  it("rounds resources up to the divisor, and takes the node's for a limit that is not set", async () => {
    const resources = { limits: { cpu: '1500m' }, requests: { memory: '100Mi' } };
    const field = (resource: string, divisor?: string) => ({ valueFrom: { resourceFieldRef: { resource, divisor } } });
    const env = [
      { name: 'CPU', ...field('limits.cpu') },
      { name: 'MILLI', ...field('limits.cpu', '1m') },
      { name: 'MEMORY', ...field('requests.memory', '1Mi') },
      { name: 'WHOLE', ...field('limits.memory', '1Gi') },
    ];
    assert.deepEqual(await of({ resources, env }), { CPU: '2', MILLI: '1500', MEMORY: '100', WHOLE: '8' });
  });

  it('has variables for the Services of the namespace and the API server', () => {
    const service = (namespace: string, name: string, clusterIP: string): Service => ({
      metadata: { namespace, name },
      spec: { clusterIP, ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
    });
    const services = [
      service('shop', 'my-db', '10.96.0.9'),
      service('default', 'kubernetes', '10.96.0.1'),
      service('other', 'x', '10.96.0.8'),
      service('shop', 'headless', 'None'),
    ];
    const variables = Object.fromEntries(serviceVariables(pod(), services));
    assert.equal(variables.MY_DB_SERVICE_HOST, '10.96.0.9');
    assert.equal(variables.MY_DB_SERVICE_PORT_HTTP, '80');
    assert.equal(variables.MY_DB_PORT_80_TCP_ADDR, '10.96.0.9');
    assert.equal(variables.KUBERNETES_PORT, 'tcp://10.96.0.1:80');
    assert.equal(variables.X_SERVICE_HOST, undefined);
    assert.equal(variables.HEADLESS_SERVICE_HOST, undefined);
    const without = serviceVariables(pod({ enableServiceLinks: false }), services);
    assert.deepEqual([without.has('MY_DB_PORT'), without.has('KUBERNETES_PORT')], [false, true]);
  });
});

describe('name resolution', () => {
  const settings = {
    clusterDns: ['10.96.0.10'],
    clusterDomain: 'cluster.local',
    hostResolvConf: '# x\nnameserver 8.8.8.8\nsearch corp.test\noptions edns0\n',
  };

  it('follows the policy', () => {
    assert.deepEqual(parseResolvConf(settings.hostResolvConf), {
      servers: ['8.8.8.8'],
      searches: ['corp.test'],
      options: ['edns0'],
    });
    const cluster = {
      servers: ['10.96.0.10'],
      searches: ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'corp.test'],
      options: ['ndots:5'],
    };
    const host = parseResolvConf(settings.hostResolvConf);
    assert.deepEqual(podDns(pod(), settings), cluster);
    assert.deepEqual(
      podDns(pod({ hostNetwork: true }), settings),
      host,
      "a Pod on the host's network resolves as the host does",
    );
    assert.deepEqual(podDns(pod({ hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }), settings), cluster);
    assert.deepEqual(podDns(pod({ dnsPolicy: 'Default' }), settings), host);
    const own = {
      nameservers: ['1.1.1.1'],
      searches: ['a.test'],
      options: [{ name: 'ndots', value: '2' }, { name: 'rotate' }],
    };
    assert.deepEqual(podDns(pod({ dnsPolicy: 'None', dnsConfig: own }), settings), {
      servers: ['1.1.1.1'],
      searches: ['a.test'],
      options: ['ndots:2', 'rotate'],
    });
    assert.deepEqual(podDns(pod({ dnsConfig: own }), settings).options, ['ndots:2', 'rotate']);
  });

  it('names the Pod', () => {
    assert.deepEqual(podHostname(pod({ hostname: 'h', subdomain: 's' }), 'cluster.local'), {
      hostname: 'h',
      domain: 's.shop.svc.cluster.local',
    });
    const long = { ...pod(), metadata: { name: `${'a'.repeat(62)}-b` } };
    assert.equal(podHostname(long, '').hostname, 'a'.repeat(62));
    assert.match(
      etcHosts(pod({ hostname: 'h', subdomain: 's' }), ['10.1.0.5'], 'cluster.local'),
      /\n10\.1\.0\.5\th\.s\.shop\.svc\.cluster\.local\th\n/,
    );
  });
});

describe('resources', () => {
  it('become shares and quotas', () => {
    assert.deepEqual([0, 1, 100, 1000, 1e6].map(cpuShares), [2, 2, 102, 1024, 262_144]);
    assert.deepEqual([cpuQuota(0, 100_000), cpuQuota(5, 100_000), cpuQuota(250, 100_000)], [0, 1000, 25_000]);
  });

  it('count a limit as request where there is none, and may go without quota', () => {
    const settings = { cpuCfsQuota: false, cpuCfsQuotaPeriodMs: 100, memoryCapacityBytes: 2 ** 30 };
    const container = { name: 'c', resources: { limits: { cpu: '500m', memory: '64Mi' } } };
    const of = pod({ containers: [container] });
    assert.deepEqual(containerResources(of, container, settings), {
      cpuShares: 512,
      memoryLimitBytes: 64 * 2 ** 20,
      oomScoreAdj: 999,
    });
  });

  it('of a sandbox are what its class says that it takes', () => {
    const settings = { cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, memoryCapacityBytes: 1024 ** 3 };
    assert.deepEqual(overheadResources(pod({ overhead: { cpu: '250m', memory: '120Mi' } }), settings), {
      cpuShares: 256,
      cpuQuota: 25_000,
      cpuPeriod: 100_000,
      memoryLimitBytes: 120 * 1024 ** 2,
    });
    assert.equal(overheadResources(pod(), settings), undefined);
  });

  it('of the Pod as a whole bound a container that has no limit of its own', () => {
    const settings = { cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, memoryCapacityBytes: 1000 * 2 ** 20 };
    const asWhole = { requests: { memory: '500Mi' }, limits: { cpu: '2', memory: '800Mi' } };
    const own = { name: 'own', resources: { requests: { memory: '100Mi' }, limits: { cpu: '1' } } };
    const none = { name: 'none' };
    const of = pod({ containers: [own, none], resources: asWhole });
    // The 400Mi that no container asks for count half for each.
    assert.deepEqual(
      [own, none].map((container) => containerResources(of, container, settings)),
      [
        { cpuShares: 1024, cpuQuota: 100_000, cpuPeriod: 100_000, memoryLimitBytes: 800 * 2 ** 20, oomScoreAdj: 700 },
        { cpuShares: 2048, cpuQuota: 200_000, cpuPeriod: 100_000, memoryLimitBytes: 800 * 2 ** 20, oomScoreAdj: 800 },
      ],
    );
  });

  it('decide who is killed first', () => {
    const score = (resources: object, priority?: number) => {
      const container = { name: 'c', resources };
      return oomScoreAdj(pod({ containers: [container], priority }), container, 1000 * 2 ** 20);
    };
    const both = { cpu: '1', memory: '100Mi' };
    assert.equal(score({}), 1000);
    assert.equal(score({ requests: both, limits: both }), -997);
    assert.equal(score({ requests: { memory: '100Mi' } }), 900);
    assert.equal(score({ requests: { memory: '1Mi' } }), 999);
    assert.equal(score({ requests: { memory: '1000Mi' } }), 3);
    assert.equal(score({}, 2_000_001_000), -997);
  });
});

const settings = { seccompDefault: false, seccompProfileRoot: '/kubelet/seccomp' };

it('confines system calls by the runtime´s profile or one of the node´s own', () => {
  const profileOf = (seccompProfile?: SeccompProfile) => {
    const container = { name: 'c', securityContext: { seccompProfile } };
    return containerSecurity(pod(), container, { username: '' }, settings).seccomp;
  };
  assert.deepEqual(profileOf(), { type: 'Unconfined' });
  assert.deepEqual(profileOf({ type: 'RuntimeDefault' }), { type: 'RuntimeDefault' });
  assert.deepEqual(profileOf({ type: 'Localhost', localhostProfile: 'profiles/a.json' }), {
    type: 'Localhost',
    localhostRef: '/kubelet/seccomp/profiles/a.json',
  });
});

it('refuses to run as root what must not', () => {
  const security = (image: { uid?: number; username: string }, runAsUser?: number) =>
    containerSecurity(
      pod({ securityContext: { runAsNonRoot: true } }),
      { name: 'c', securityContext: { runAsUser } },
      image,
      settings,
    );
  assert.throws(() => security({ username: '' }), /container has runAsNonRoot and image will run as root/);
  assert.throws(() => security({ uid: 0, username: '' }), RunAsRootError);
  assert.throws(
    () => security({ username: 'app' }),
    /image has non-numeric user \(app\), cannot verify user is non-root/,
  );
  assert.throws(() => security({ uid: 5, username: '' }, 0), /container's runAsUser breaks non-root policy/);
  assert.equal(security({ uid: 5, username: '' }).runAsUser, 5);
  assert.equal(security({ username: '' }, 7).runAsUser, 7);
});

describe('mounts of volumes', () => {
  const main = (container: Partial<Container>): Container => ({ name: 'main', image: 'i', ...container });
  const locations = (recursiveReadonly: boolean) => ({
    paths: new Map([
      ['data', '/disk/data'],
      ['raw', '/dev/disk'],
    ]),
    images: new Map([['model', { image: 'sha256:1' }]]),
    recursiveReadonly,
    subPath: async (volume: string, path: string, { index }: { index: number }) => `/parts/${volume}/${index}/${path}`,
  });
  const volumes = [
    { name: 'data', emptyDir: {} },
    { name: 'model', image: { reference: 'models/one:1' } },
    { name: 'raw', persistentVolumeClaim: { claimName: 'raw', readOnly: true } },
  ];
  const mounts = (volumeMounts: Container['volumeMounts'], recursiveReadonly = true) =>
    volumeMountsOf(
      pod({ volumes }),
      main({ volumeMounts }),
      [{ name: 'WHO', value: 'me' }],
      locations(recursiveReadonly),
    );

  it('are whole volumes, parts by name or by the environment, and images', async () => {
    const found = await mounts([
      { name: 'data', mountPath: 'relative', mountPropagation: 'HostToContainer' },
      { name: 'data', mountPath: '/part', subPathExpr: 'of/$(WHO)' },
      { name: 'model', mountPath: '/model', subPath: 'weights' },
    ]);
    assert.deepEqual(
      found.map(({ containerPath, hostPath, imageSubPath }) => [containerPath, hostPath, imageSubPath]),
      [
        ['/relative', '/disk/data', undefined],
        ['/part', '/parts/data/1/of/me', undefined],
        ['/model', '', 'weights'],
      ],
    );
    assert.equal(found[0]?.propagation, 'hostToContainer');
    assert.deepEqual(found[2]?.image, { image: 'sha256:1' });
    assert.deepEqual(
      found.map(({ readonly }) => readonly),
      [false, false, true],
      'nobody writes into an image',
    );
  });

  it('are read-only all the way down where that is asked for and can be had', async () => {
    const recursive = (recursiveReadOnly: string) => [
      { name: 'data', mountPath: '/d', readOnly: true, recursiveReadOnly },
    ];
    const of = async (mode: string, isSupported: boolean) =>
      (await mounts(recursive(mode), isSupported))[0]?.recursiveReadonly;
    assert.deepEqual(
      [
        await of('Enabled', true),
        await of('IfPossible', true),
        await of('IfPossible', false),
        await of('Disabled', true),
      ],
      [true, true, false, false],
    );
    await assert.rejects(mounts(recursive('Enabled'), false), {
      message:
        'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not supported by the runtime',
    });
  });

  it('stay in their volume', async () => {
    const part = (subPath: string) => mounts([{ name: 'data', mountPath: '/d', subPath }]);
    await assert.rejects(part('/etc'), { message: 'error SubPath `/etc` must not be an absolute path' });
    await assert.rejects(part('a/../../etc'), {
      message: "unable to provision SubPath `a/../../etc`: must not contain '..'",
    });
  });

  it('are devices where the volume is a disk', () => {
    const container = main({ volumeDevices: [{ name: 'raw', devicePath: '/dev/xvda' }] });
    assert.deepEqual(blockDevices(pod({ volumes }), container, locations(true).paths), [
      { hostPath: '/dev/disk', containerPath: '/dev/xvda', permissions: 'r' },
    ]);
  });
});
