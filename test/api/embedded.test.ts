/**
 * What a developer of controllers gets from `coracle/testing`: a whole control plane in the test's own process, many of them if need
 * be, each for itself, gone without a trace when it is stopped, and as strict with users and nodes as any cluster.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { deployments } from '../../src/api/gen/apps-v1.ts';
import { leases } from '../../src/api/gen/coordination-v1.ts';
import {
  configMaps,
  type Node,
  namespaces,
  nodes,
  type Pod,
  pods,
  secrets,
  serviceAccounts,
} from '../../src/api/gen/core-v1.ts';
import { roleBindings, roles } from '../../src/api/gen/rbac-v1.ts';
import { messageOf, StatusError } from '../../src/apimachinery/status.ts';
import { systemClock } from '../../src/base/clock.ts';
import { type Client, createClient, createHttpTransport } from '../../src/client/index.ts';
import { parseKubeconfig, transportOptions } from '../../src/client/kubeconfig.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { type EmbeddedControlPlane, startControlPlane } from '../../src/testing/index.ts';
import { kubectlReleases } from '../../src/testing/kubectl.ts';
import { needs } from '../../src/testing/needs.ts';
import { openSocket } from './wire.ts';

const root = resolve(import.meta.dirname, '../..');
const labels = { app: 'web' };
const pod = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'example.com/web:1' }] } };
const deployment = (replicas: number) => ({
  metadata: { name: 'web', namespace: 'default' },
  spec: { replicas, selector: { matchLabels: labels }, template: pod },
});

/** Follows a resource until what it has heard of so far is right. */
async function podsOf(client: Client, right: (seen: readonly Pod[]) => boolean): Promise<readonly Pod[]> {
  const seen = new Map<string, Pod>();
  const signal = AbortSignal.timeout(20_000);
  for await (const { type, object } of client.watch(pods, { namespace: 'default', signal })) {
    if (type === 'BOOKMARK') continue;
    if (type === 'DELETED') seen.delete(object.metadata.name!);
    else seen.set(object.metadata.name!, object);
    if (right([...seen.values()])) return [...seen.values()];
  }
  throw new Error('the watch ended');
}

/** What a stopped control plane must not leave; the turn that is just ending does not count. */
function heldResources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of process.getActiveResourcesInfo()) {
    if (name !== 'Immediate') counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Sockets are gone a turn after they were closed. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((done) => setImmediate(done));
}

async function refused(call: Promise<unknown>, code: number, message: string | RegExp): Promise<void> {
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof StatusError, String(error));
    if (typeof message === 'string') assert.equal(messageOf(error), message);
    else assert.match(messageOf(error), message);
    assert.equal(error.code, code);
    return true;
  });
}

async function httpsClient(kubeconfig: string) {
  const reading = { clock: systemClock, readFile: () => Promise.reject(new Error('all is in the kubeconfig')) };
  const transport = createHttpTransport(await transportOptions(parseKubeconfig(kubeconfig), reading));
  return { client: createClient(transport), close: () => transport.close() };
}

test('it is ready when it says so: over TLS, with the default ServiceAccount, and a Deployment yields Pods', async () => {
  await using cluster = await startControlPlane();
  const { client: remote, close } = await httpsClient(cluster.kubeconfig);
  assert.equal(await remote.raw({ method: 'GET', path: '/readyz' }), 'ok');
  assert.equal((await remote.get(serviceAccounts, { namespace: 'default', name: 'default' })).metadata.name, 'default');
  await remote.create(deployments, deployment(3));
  const made = await podsOf(cluster.client, (seen) => seen.length === 3);
  assert.ok(made.every(({ metadata }) => metadata.ownerReferences?.[0]?.kind === 'ReplicaSet'));
  await close();
});

test('a controller that there is not is told of at once', async () => {
  await assert.rejects(startControlPlane({ controllers: ['*', 'nonsense'] }), {
    message: '"nonsense" is not in the list of known controllers',
  });
});

test('the scheduler gives Pods to a node that is there', async () => {
  await using cluster = await startControlPlane();
  await cluster.client.create(nodes, { metadata: { name: 'a' }, spec: {}, status: {} });
  const status = {
    capacity: { cpu: '4', memory: '8Gi', pods: '110' },
    allocatable: { cpu: '4', memory: '8Gi', pods: '110' },
    conditions: [{ type: 'Ready', status: 'True' }],
  };
  await cluster.client.patch(nodes, { name: 'a' }, { type: 'merge', body: { status } }, { subresource: 'status' });
  await cluster.client.create(deployments, deployment(2));
  await podsOf(cluster.client, (seen) => seen.filter(({ spec }) => spec?.nodeName === 'a').length === 2);
});

test('ten in one process know nothing of one another', async () => {
  const clusters = await Promise.all(Array.from({ length: 10 }, () => startControlPlane()));
  try {
    assert.equal(new Set(clusters.map(({ url }) => url)).size, 10);
    assert.equal(new Set(clusters.map(({ certificateAuthority }) => certificateAuthority)).size, 10);
    const name = 'same';
    await Promise.all(
      clusters.map(({ client }, index) =>
        client.create(configMaps, { metadata: { name, namespace: 'default' }, data: { index: String(index) } }),
      ),
    );
    await Promise.all(clusters.map(({ client }, index) => client.create(deployments, deployment(index + 1))));
    await Promise.all(
      clusters.map(async ({ client }, index) => {
        assert.equal((await client.get(configMaps, { namespace: 'default', name })).data?.index, String(index));
        const made = await podsOf(client, (seen) => seen.length === index + 1);
        assert.equal(made.length, index + 1);
      }),
    );
    const [first, second] = clusters as [EmbeddedControlPlane, EmbeddedControlPlane];
    const stranger = first.kubeconfig.replaceAll(first.url, second.url);
    const trusting = stranger.replace(/certificate-authority-data: .*/, 'insecure-skip-tls-verify: true');
    const { client, close } = await httpsClient(trusting);
    await refused(client.list(namespaces), 401, 'Unauthorized');
    await close();
    await first.stop();
    assert.ok((await second.client.list(namespaces)).items.length > 0, 'the others go on when one stops');
  } finally {
    await Promise.all(clusters.slice(1).map((cluster) => cluster.stop()));
  }
});

describe('a stopped control plane leaves nothing', () => {
  before(async () => {
    // What is loaded and compiled on first use is not what this is about.
    await (await startControlPlane()).stop();
    await settled();
  });

  test('no timer, no socket, no handle, in this process', async () => {
    const before = heldResources();
    const cluster = await startControlPlane();
    await cluster.client.create(deployments, deployment(2));
    await podsOf(cluster.client, (seen) => seen.length === 2);
    await cluster.stop();
    await settled();
    assert.deepEqual(heldResources(), before);
  });

  test('its end is the end of open connections and watches', async () => {
    const cluster = await startControlPlane();
    const { client, close } = await httpsClient(cluster.kubeconfig);
    const idle = await openSocket({ url: cluster.url, ca: cluster.certificateAuthority });
    const hungUp = new Promise<void>((done) => idle.once('close', () => done()));
    const watching = (async () => {
      let events = 0;
      for await (const _ of client.watch(namespaces)) events++;
      return events;
    })();
    const inside = (async () => {
      for await (const event of cluster.client.watch(namespaces)) assert.notEqual(event.type, 'DELETED');
    })();
    await client.list(namespaces);
    await cluster.stop();
    assert.ok((await watching) >= 4, 'the watch told what there was and ended');
    await inside;
    await hungUp;
    await close();
    await assert.rejects(openSocket({ url: cluster.url, ca: cluster.certificateAuthority }), { code: 'ECONNREFUSED' });
  });

  test('stopping twice, or by leaving the block as well, does no harm', async () => {
    let url = '';
    {
      await using cluster = await startControlPlane();
      url = cluster.url;
      await cluster.stop();
      await cluster.stop();
    }
    await assert.rejects(openSocket({ url, ca: '' }), { code: 'ECONNREFUSED' });
  });

  test('a port that is taken is told of, and what had begun is ended', async () => {
    const occupant = createServer();
    await new Promise<void>((done) => occupant.listen(0, '127.0.0.1', done));
    try {
      await settled();
      const before = heldResources();
      const { port } = occupant.address() as AddressInfo;
      await assert.rejects(startControlPlane({ port }), { code: 'EADDRINUSE' });
      await settled();
      assert.deepEqual(heldResources(), before);
    } finally {
      occupant.close();
    }
  });

  test('a process that used some ends by itself, with no file left open or behind', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coracle-embedded-'));
    const program = `
      import { readdirSync } from 'node:fs';
      import { startControlPlane } from ${JSON.stringify(join(root, 'src/testing/index.ts'))};
      const files = () => readdirSync('/proc/self/fd').length;
      await (await startControlPlane()).stop();
      await new Promise((done) => setImmediate(done));
      const before = files();
      const clusters = await Promise.all([startControlPlane(), startControlPlane(), startControlPlane()]);
      await Promise.all(clusters.map((cluster) => cluster.stop()));
      await startControlPlane({ port: 1 << 20 }).catch(() => {});
      await new Promise((done) => setImmediate(done));
      console.log(files() - before, readdirSync(process.env.TMPDIR).filter((name) => !/compile-cache/.test(name)).length);
    `;
    try {
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
        env: { PATH: process.env.PATH, TMPDIR: folder, HOME: folder },
        cwd: folder,
        timeout: 30_000,
      });
      assert.equal(stdout, '0 0\n');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('an embedded control plane', () => {
  let cluster: EmbeddedControlPlane;
  let folder: string;
  before(async () => {
    cluster = await startControlPlane();
    folder = mkdtempSync(join(tmpdir(), 'coracle-embedded-'));
    writeFileSync(join(folder, 'kubeconfig'), cluster.kubeconfig);
  });
  after(async () => {
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  describe('in the hands of kubectl', needs('kubectl'), () => {
    const releases = kubectlReleases();
    for (const { release, path } of releases.filter((_, index, all) => index % 3 === 0 || index === all.length - 1)) {
      test(`kubectl ${release} works with its kubeconfig`, async () => {
        const namespace = `by-${release.replace('.', '-')}`;
        const kubectl = async (...words: string[]) => {
          const env = { PATH: process.env.PATH, HOME: folder, KUBECONFIG: join(folder, 'kubeconfig') };
          return (await promisify(execFile)(path, words, { env, timeout: 60_000 })).stdout;
        };
        assert.equal(await kubectl('create', 'namespace', namespace), `namespace/${namespace} created\n`);
        const made = await kubectl(
          '-n',
          namespace,
          'create',
          'deployment',
          'web',
          '--image=example.com/web',
          '--replicas=2',
        );
        assert.equal(made, 'deployment.apps/web created\n');
        const waiting = '--for=jsonpath={.status.replicas}=2';
        assert.equal(
          await kubectl('-n', namespace, 'wait', 'deployment/web', waiting, '--timeout=20s'),
          'deployment.apps/web condition met\n',
        );
        assert.equal((await kubectl('-n', namespace, 'get', 'pods', '-o', 'name')).split('\n').length, 3);
        assert.match(
          await kubectl('-n', namespace, 'get', 'deployments'),
          /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\n/,
        );
        assert.equal(await kubectl('auth', 'can-i', 'delete', 'nodes'), 'yes\n');
      });
    }
  });

  test('a user has the rights that roles give, and no more', async () => {
    const jane = cluster.clientOf('jane');
    const reading = { namespace: 'default', name: 'default' };
    await refused(
      jane.list(pods, { namespace: 'default' }),
      403,
      'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"',
    );
    await cluster.client.create(roles, {
      metadata: { name: 'reader', namespace: 'default' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }],
    });
    await cluster.client.create(roleBindings, {
      metadata: { name: 'jane', namespace: 'default' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    });
    await eventually(() => jane.list(pods, { namespace: 'default' }));
    await refused(
      jane.list(pods),
      403,
      'pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the cluster scope',
    );
    await refused(
      jane.create(pods, { metadata: { name: 'x', namespace: 'default' }, spec: pod.spec }),
      403,
      'pods is forbidden: User "jane" cannot create resource "pods" in API group "" in the namespace "default"',
    );
    await refused(
      jane.get(serviceAccounts, reading),
      403,
      'serviceaccounts "default" is forbidden: User "jane" cannot get resource "serviceaccounts" in API group "" in the namespace "default"',
    );
    const masters = cluster.clientOf('anybody', ['system:masters']);
    assert.equal((await masters.get(serviceAccounts, reading)).metadata.name, 'default');
  });

  test('nobody gives away rights of which he has none', async () => {
    const editor = cluster.clientOf('editor');
    await cluster.client.create(roles, {
      metadata: { name: 'role-maker', namespace: 'default' },
      rules: [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['create'] }],
    });
    await cluster.client.create(roleBindings, {
      metadata: { name: 'editor', namespace: 'default' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'role-maker' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'editor' }],
    });
    const role = {
      metadata: { name: 'all-secrets', namespace: 'default' },
      rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }],
    };
    const message =
      /^roles\.rbac\.authorization\.k8s\.io "all-secrets" is forbidden: user "editor" \(groups=\["system:authenticated"\]\) is attempting to grant RBAC permissions not currently held:\n\{APIGroups:\[""\], Resources:\["secrets"\], Verbs:\["get"\]\}$/;
    // Until the right to make roles has arrived the refusal is another one.
    await eventually(() => refused(editor.create(roles, role), 403, message));
  });

  describe('a kubelet is system:node:NAME and nothing more', () => {
    const groups = ['system:nodes'];
    let kubelet: Client;
    let other: Client;
    const nodeNamed = (name: string, extra: Record<string, string> = {}): Node => ({
      metadata: { name, labels: { 'kubernetes.io/hostname': name, ...extra } },
      spec: {},
      status: {},
    });
    const boundPod = (name: string, nodeName: string, secretName: string): Pod => ({
      metadata: { name, namespace: 'default' },
      spec: {
        nodeName,
        containers: [{ name: 'c', image: 'example.com/c' }],
        volumes: [{ name: 's', secret: { secretName } }],
      },
    });
    before(async () => {
      kubelet = cluster.clientOf('system:node:mine', groups);
      other = cluster.clientOf('system:node:other', groups);
      await eventually(() => kubelet.create(nodes, nodeNamed('mine')));
      await other.create(nodes, nodeNamed('other'));
      for (const name of ['used-here', 'used-there', 'unused']) {
        await cluster.client.create(secrets, { metadata: { name, namespace: 'default' } });
      }
      await cluster.client.create(pods, boundPod('here', 'mine', 'used-here'));
      await cluster.client.create(pods, boundPod('there', 'other', 'used-there'));
    });

    const secret = (name: string) => kubelet.get(secrets, { namespace: 'default', name });

    test('it reads the Secrets of Pods that run on it, and no others', async () => {
      assert.equal((await eventually(() => secret('used-here'))).metadata.name, 'used-here');
      for (const name of ['used-there', 'unused']) {
        const why = "no relationship found between node 'mine' and this object";
        const what = `User "system:node:mine" cannot get resource "secrets" in API group "" in the namespace "default"`;
        await refused(secret(name), 403, `secrets "${name}" is forbidden: ${what}: ${why}`);
      }
      await refused(kubelet.list(secrets, { namespace: 'default' }), 403, /: No Object name found$/);
      await refused(kubelet.list(secrets), 403, /: can only read namespaced object of this type$/);
    });

    test('it lists the Pods that run on it, and no others', async () => {
      const mine = await eventually(() => kubelet.list(pods, { fieldSelector: 'spec.nodeName=mine' }));
      assert.deepEqual(
        mine.items.map(({ metadata }) => metadata.name),
        ['here'],
      );
      const why = /: can only list\/watch pods with spec\.nodeName field selector$/;
      await refused(kubelet.list(pods), 403, why);
      await refused(kubelet.list(pods, { fieldSelector: 'spec.nodeName=other' }), 403, why);
    });

    test('it writes its own Node, and no other', async () => {
      const body = { status: { nodeInfo: { kubeletVersion: 'v1.36.2' } } };
      const merge = { type: 'merge', body } as const;
      await kubelet.patch(nodes, { name: 'mine' }, merge, { subresource: 'status' });
      await refused(
        kubelet.patch(nodes, { name: 'other' }, merge, { subresource: 'status' }),
        403,
        'nodes "other" is forbidden: node "mine" is not allowed to modify node "other"',
      );
      await refused(
        kubelet.create(nodes, nodeNamed('third')),
        403,
        'nodes "third" is forbidden: node "mine" is not allowed to modify node "third"',
      );
      await refused(
        kubelet.get(nodes, { name: 'other' }),
        403,
        /: node 'mine' cannot read 'other', only its own Node object$/,
      );
      await refused(kubelet.delete(nodes, { name: 'mine' }), 403, /cannot delete resource "nodes"/);
    });

    test('it sets neither taints nor labels that are the administrator’s', async () => {
      const label = { metadata: { labels: { 'node-restriction.kubernetes.io/zone': 'safe' } } };
      await refused(
        kubelet.patch(nodes, { name: 'mine' }, { type: 'merge', body: label }),
        403,
        'nodes "mine" is forbidden: is not allowed to modify labels: node-restriction.kubernetes.io/zone',
      );
      const taint = { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } };
      await refused(
        kubelet.patch(nodes, { name: 'mine' }, { type: 'merge', body: taint }),
        403,
        'nodes "mine" is forbidden: node "mine" is not allowed to modify taints',
      );
    });

    test('it reports on and ends its own Pods, and no others', async () => {
      const running = { type: 'merge', body: { status: { phase: 'Running' } } } as const;
      const here = { namespace: 'default', name: 'here' };
      const there = { namespace: 'default', name: 'there' };
      assert.equal((await kubelet.patch(pods, here, running, { subresource: 'status' })).status?.phase, 'Running');
      await refused(
        kubelet.patch(pods, there, running, { subresource: 'status' }),
        403,
        'pods "there" is forbidden: node "mine" can only update pod status for pods with spec.nodeName set to itself',
      );
      await refused(
        kubelet.delete(pods, there),
        403,
        'pods "there" is forbidden: node "mine" can only delete pods with spec.nodeName set to itself',
      );
      await refused(
        kubelet.create(pods, boundPod('own-idea', 'mine', 'unused')),
        403,
        'pods "own-idea" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, node "mine" can only create mirror pods',
      );
      await kubelet.delete(pods, here, { gracePeriodSeconds: 0 });
    });

    test('it has one Lease, and tokens only for Pods that run on it', async () => {
      const lease = (name: string) => ({ metadata: { name, namespace: 'kube-node-lease' }, spec: {} });
      await kubelet.create(leases, lease('mine'));
      await refused(
        kubelet.create(leases, lease('other')),
        403,
        /can only access node lease with the same name as the requesting node/,
      );
      const request = { spec: { audiences: ['https://kubernetes.default.svc.cluster.local'] } };
      const account = { namespace: 'default', name: 'default' };
      await refused(
        kubelet.createSubresource(serviceAccounts, account, 'token', request),
        403,
        /node requested token not bound to a pod|no relationship found between node 'mine' and this object/,
      );
    });

    test('without a node’s name, or outside the nodes’ group, it is nobody', async () => {
      const nameless = cluster.clientOf('system:node:', groups);
      await refused(nameless.list(nodes), 403, /: unknown node for user "system:node:"$/);
      await refused(
        cluster.clientOf('system:node:mine').get(nodes, { name: 'mine' }),
        403,
        'nodes "mine" is forbidden: User "system:node:mine" cannot get resource "nodes" in API group "" at the cluster scope',
      );
    });
  });
});

test('what is asked for is what runs', async () => {
  await using cluster = await startControlPlane({
    controllers: ['serviceaccount-controller', 'namespace-controller'],
    scheduler: false,
    runtimeConfig: { 'batch/v1': false },
  });
  await refused(cluster.client.raw({ method: 'GET', path: '/apis/batch/v1/jobs' }), 404, /./);
  await cluster.client.create(deployments, deployment(1));
  await cluster.client.create(namespaces, { metadata: { name: 'later' }, spec: {} });
  await eventually(() => cluster.client.get(serviceAccounts, { namespace: 'later', name: 'default' }));
  assert.deepEqual((await cluster.client.list(pods)).items, [], 'nobody makes Pods of the Deployment');
});
