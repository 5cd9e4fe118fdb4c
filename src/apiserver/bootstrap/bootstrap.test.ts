import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { leases } from '../../api/gen/coordination-v1.ts';
import { configMaps, endpoints, namespaces, services } from '../../api/gen/core-v1.ts';
import { endpointSlices } from '../../api/gen/discovery-v1.ts';
import { flowSchemas, priorityLevelConfigurations } from '../../api/gen/flowcontrol-v1.ts';
import { serviceCIDRs } from '../../api/gen/networking-v1.ts';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../api/gen/rbac-v1.ts';
import { priorityClasses } from '../../api/gen/scheduling-v1.ts';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeCluster } from '../../testing/fake-cluster.ts';
import { type BootstrapOptions, startBootstrap } from './bootstrap.ts';
import { identityLease, identityLeaseName } from './identity-lease.ts';

function setUp(options: Partial<BootstrapOptions> = {}, cluster = new FakeCluster()) {
  const clock = new FakeClock(Date.UTC(2026, 4, 1));
  const controller = new AbortController();
  const start = () =>
    startBootstrap({
      client: cluster.client,
      clock,
      random: seededRandom(1),
      log: silentLog,
      signal: controller.signal,
      service: { clusterIP: '10.96.0.1', securePort: 6443, advertiseAddress: '192.0.2.1' },
      serviceCidrs: ['10.96.0.0/16'],
      hostname: 'kind-control-plane',
      trust: () => ({ clientCa: 'PEM' }),
      ...options,
    });
  return { cluster, clock, start, stop: () => controller.abort() };
}

describe('A new cluster', () => {
  it('has the roles of a gate that is on', async () => {
    const { cluster, start, stop } = setUp({ featureGates: { StorageVersionMigrator: true, StorageVersionAPI: true } });
    await start().ready;
    stop();
    const name = 'system:controller:storage-version-migrator-controller';
    assert.equal(cluster.get(clusterRoles, name)?.rules?.length, 4);
    assert.deepEqual(cluster.get(clusterRoleBindings, name)?.subjects, [
      { kind: 'ServiceAccount', name: 'storage-version-migrator-controller', namespace: 'kube-system' },
    ]);
    assert.equal(cluster.all(clusterRoles).length, 70, 'a role of two gates asks for both');
  });

  it('lets roles that always exist do more while a gate is on', async () => {
    const { cluster, start, stop } = setUp({ featureGates: { DRADeviceTaintRules: true } });
    await start().ready;
    stop();
    const rules = cluster.get(clusterRoles, 'system:controller:device-taint-eviction-controller')?.rules ?? [];
    const about = (resource: string) => rules.find(({ resources }) => resources?.includes(resource))?.verbs;
    assert.deepEqual(about('devicetaintrules'), ['get', 'list', 'watch']);
    assert.deepEqual(about('devicetaintrules/status'), ['patch', 'update']);
    assert.deepEqual(about('resourceslices'), ['get', 'list', 'watch']);
  });

  it("has upstream's objects", async () => {
    const { cluster, start, stop } = setUp();
    const { ready, settled } = start();
    await ready;
    assert.deepEqual(
      cluster
        .all(namespaces)
        .map((object) => object.metadata.name)
        .sort(),
      ['default', 'kube-node-lease', 'kube-public', 'kube-system'],
    );
    const counts = [clusterRoles, clusterRoleBindings, roles, roleBindings, priorityClasses].map(
      (type) => cluster.all(type as typeof roles).length,
    );
    assert.deepEqual(counts, [69, 50, 7, 7, 2]);
    await settled;
    stop();
    assert.deepEqual([cluster.all(flowSchemas).length, cluster.all(priorityLevelConfigurations).length], [11, 8]);
    assert.deepEqual(cluster.get(configMaps, 'kube-system/extension-apiserver-authentication')?.data, {
      'client-ca-file': 'PEM',
    });
    assert.deepEqual(
      cluster.get(configMaps, 'kube-system/kube-apiserver-legacy-service-account-token-tracking')?.data,
      { since: '2026-05-01' },
    );
    assert.deepEqual(cluster.get(serviceCIDRs, 'kubernetes')?.spec, { cidrs: ['10.96.0.0/16'] });
  });

  it('has the Service kubernetes with its endpoints', async () => {
    const { cluster, start, stop } = setUp();
    await start().settled;
    stop();
    const service = cluster.get(services, 'default/kubernetes')!;
    assert.deepEqual(service.metadata.labels, { component: 'apiserver', provider: 'kubernetes' });
    assert.deepEqual(
      [service.spec.clusterIP, service.spec.ports],
      ['10.96.0.1', [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }]],
    );
    assert.deepEqual(cluster.get(endpoints, 'default/kubernetes')?.subsets, [
      { addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'https', port: 6443, protocol: 'TCP' }] },
    ]);
    const slice = cluster.get(endpointSlices, 'default/kubernetes')!;
    assert.deepEqual(
      [slice.addressType, slice.endpoints],
      ['IPv4', [{ addresses: ['192.0.2.1'], conditions: { ready: true } }]],
    );
  });

  it('has no endpoints for a server that only listens on loopback', async () => {
    const { cluster, start, stop } = setUp({
      service: { clusterIP: '10.96.0.1', securePort: 6443, advertiseAddress: '127.0.0.1' },
    });
    await start().settled;
    stop();
    assert.equal(cluster.all(endpoints).length, 0);
  });

  it('lets admin, edit and view do what aggregation will give them', async () => {
    const { cluster, start, stop } = setUp();
    await start().ready;
    stop();
    const mayDo = (name: string, resource: string, verb: string) =>
      cluster
        .get(clusterRoles, name)!
        .rules!.some((rule) => rule.resources?.includes(resource) && rule.verbs.includes(verb));
    assert.ok(mayDo('view', 'pods', 'get') && !mayDo('view', 'pods', 'create') && !mayDo('view', 'secrets', 'get'));
    assert.ok(
      mayDo('edit', 'pods', 'get') && mayDo('edit', 'pods', 'create') && !mayDo('edit', 'rolebindings', 'create'),
    );
    assert.ok(mayDo('admin', 'rolebindings', 'create') && mayDo('admin', 'pods', 'get'));
  });

  it('writes nothing when started again', async () => {
    const cluster = new FakeCluster();
    const first = setUp({}, cluster);
    await first.start().settled;
    first.stop();
    cluster.calls.length = 0;
    const second = setUp({}, cluster);
    await second.start().settled;
    second.stop();
    const writes = cluster.calls.filter(
      (call) => call.verb !== 'list' && call.verb !== 'get' && call.resource !== 'leases',
    );
    assert.deepEqual(writes, []);
  });
});

describe('At a later start', () => {
  async function restarted(change: (cluster: FakeCluster) => void) {
    const cluster = new FakeCluster();
    const first = setUp({}, cluster);
    await first.start().settled;
    first.stop();
    change(cluster);
    const second = setUp({}, cluster);
    await second.start().settled;
    second.stop();
    return cluster;
  }
  const scheduler = 'system:kube-scheduler';

  it('missing rules are added and others kept', async () => {
    const own = { apiGroups: ['example.com'], resources: ['things'], verbs: ['get'] };
    const cluster = await restarted((c) => c.add(clusterRoles, { ...c.get(clusterRoles, scheduler)!, rules: [own] }));
    const { rules = [] } = cluster.get(clusterRoles, scheduler)!;
    assert.deepEqual(rules[0], own);
    assert.ok(rules.some((rule) => rule.resources?.includes('pods/binding')));
  });

  it('a role that is to be left alone is left alone', async () => {
    const annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'false' };
    const cluster = await restarted((c) =>
      c.add(clusterRoles, { metadata: { name: scheduler, annotations }, rules: [] }),
    );
    assert.deepEqual(cluster.get(clusterRoles, scheduler)!.rules, []);
  });

  it('missing subjects are added and others kept', async () => {
    const own = { kind: 'User', name: 'extra' };
    const cluster = await restarted((c) =>
      c.add(clusterRoleBindings, { ...c.get(clusterRoleBindings, scheduler)!, subjects: [own] }),
    );
    assert.deepEqual(
      cluster.get(clusterRoleBindings, scheduler)!.subjects?.map((subject) => subject.name),
      ['extra', scheduler],
    );
  });

  it('a binding to another role is made anew', async () => {
    const cluster = await restarted((c) =>
      c.add(clusterRoleBindings, {
        ...c.get(clusterRoleBindings, scheduler)!,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      }),
    );
    assert.equal(cluster.get(clusterRoleBindings, scheduler)!.roleRef.name, scheduler);
  });

  it('a flow schema is restored while nobody took it over', async () => {
    const changed = (cluster: FakeCluster, annotations?: Record<string, string>) => {
      const present = cluster.get(flowSchemas, 'global-default')!;
      cluster.add(flowSchemas, {
        ...present,
        metadata: { ...present.metadata, ...(annotations ? { annotations } : {}) },
        spec: { ...present.spec, matchingPrecedence: 1 },
      });
    };
    const precedence = (cluster: FakeCluster) => cluster.get(flowSchemas, 'global-default')!.spec.matchingPrecedence;
    assert.equal(precedence(await restarted((c) => changed(c))), 9900);
    assert.equal(precedence(await restarted((c) => changed(c, { 'apf.kubernetes.io/autoupdate-spec': 'false' }))), 1);
  });

  it('a moved server moves its endpoints', async () => {
    const cluster = new FakeCluster();
    const first = setUp({}, cluster);
    await first.start().settled;
    first.stop();
    const second = setUp(
      { service: { clusterIP: '10.96.0.1', securePort: 6444, advertiseAddress: '2001:db8::1' } },
      cluster,
    );
    await second.start().settled;
    second.stop();
    assert.equal(cluster.get(endpoints, 'default/kubernetes')?.subsets?.[0]?.addresses?.[0]?.ip, '2001:db8::1');
    assert.equal(cluster.get(endpointSlices, 'default/kubernetes')?.addressType, 'IPv6');
  });
});

describe('Bootstrap', () => {
  it('tries again while the server cannot', async () => {
    const { cluster, clock, start, stop } = setUp();
    let failures = 3;
    cluster.onCall = (call) => {
      if (call.resource === 'clusterroles' && failures-- > 0) throw new Error('not yet');
    };
    const { ready } = start();
    await clock.advance(5000);
    await ready;
    stop();
    assert.equal(cluster.all(clusterRoles).length, 69);
  });

  it('gives up on the roles after half a minute', async () => {
    const { cluster, clock, start } = setUp();
    cluster.onCall = (call) => {
      if (call.resource === 'clusterroles') throw new Error('never');
    };
    const outcome = assert.rejects(start().ready, { message: 'never' });
    await clock.advance(31_000);
    await outcome;
  });

  it('brings back a namespace and an endpoint that somebody removed', async () => {
    const { cluster, clock, start, stop } = setUp();
    await start().settled;
    cluster.remove(namespaces, 'kube-node-lease');
    cluster.remove(endpoints, 'default/kubernetes');
    await clock.advance(10_000);
    assert.ok(cluster.get(endpoints, 'default/kubernetes'));
    await clock.advance(50_000);
    assert.ok(cluster.get(namespaces, 'kube-node-lease'));
    stop();
    await clock.advance(1);
    assert.equal(clock.pending, 0);
  });
});

describe('Identity lease', () => {
  it('is named as the documents print it', () => {
    assert.equal(identityLeaseName('kind-control-plane'), 'kube-apiserver-c4vwjftbvpc5os2vvzle4qg27a');
  });

  it('is renewed every ten seconds', async () => {
    const { cluster, clock, start, stop } = setUp();
    await start().settled;
    const key = `kube-system/${identityLeaseName('kind-control-plane')}`;
    const { metadata, spec } = cluster.get(leases, key)!;
    assert.deepEqual(metadata.labels, {
      'apiserver.kubernetes.io/identity': 'kube-apiserver',
      'k8s.io/component': 'kube-apiserver',
      'kubernetes.io/hostname': 'kind-control-plane',
    });
    assert.deepEqual([spec.leaseDurationSeconds, spec.renewTime], [3600, '2026-05-01T00:00:00.000000Z']);
    assert.match(spec.holderIdentity!, /^kube-apiserver-c4vwjftbvpc5os2vvzle4qg27a_[0-9a-f-]{36}$/);
    await clock.advance(10_000);
    assert.equal(cluster.get(leases, key)!.spec.renewTime, '2026-05-01T00:00:10.000000Z');
    stop();
  });

  it('of a server that is gone is collected after its time, its own never', async () => {
    const { cluster, clock } = setUp();
    const servers = ['a', 'b'].map((hostname, i) =>
      identityLease({ client: cluster.client, clock, random: seededRandom(i), hostname }),
    );
    for (const server of servers) await server.renew();
    cluster.add(leases, { metadata: { name: 'other', namespace: 'kube-system' }, spec: {} });
    await clock.advance(3_600_001);
    await servers[0]!.collectExpired();
    assert.deepEqual(
      cluster
        .all(leases)
        .map((lease) => lease.metadata.name)
        .sort(),
      [servers[0]!.name, 'other'].sort(),
    );
  });
});
