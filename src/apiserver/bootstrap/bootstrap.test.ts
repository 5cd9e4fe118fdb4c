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
import { MemoryApi } from '../../testing/memory-api.ts';
import { type BootstrapOptions, startBootstrap } from './bootstrap.ts';
import { identityLease, identityLeaseName } from './identity-lease.ts';

function setUp(options: Partial<BootstrapOptions> = {}, api = new MemoryApi()) {
  const clock = new FakeClock(Date.UTC(2026, 4, 1));
  const controller = new AbortController();
  const start = () =>
    startBootstrap({
      client: api.client,
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
  return { api, clock, start, stop: () => controller.abort() };
}

describe('A new cluster', () => {
  it('has the roles of a gate that is on', async () => {
    const { api, start, stop } = setUp({ featureGates: { StorageVersionMigrator: true, StorageVersionAPI: true } });
    await start().ready;
    stop();
    const name = 'system:controller:storage-version-migrator-controller';
    assert.equal(api.find(clusterRoles, name)?.rules?.length, 4);
    assert.deepEqual(api.find(clusterRoleBindings, name)?.subjects, [
      { kind: 'ServiceAccount', name: 'storage-version-migrator-controller', namespace: 'kube-system' },
    ]);
    assert.equal(api.all(clusterRoles).length, 70, 'a role of two gates asks for both');
  });

  it('lets roles that always exist do more while a gate is on', async () => {
    const { api, start, stop } = setUp({ featureGates: { DRADeviceTaintRules: true } });
    await start().ready;
    stop();
    const rules = api.find(clusterRoles, 'system:controller:device-taint-eviction-controller')?.rules ?? [];
    const about = (resource: string) => rules.find(({ resources }) => resources?.includes(resource))?.verbs;
    assert.deepEqual(about('devicetaintrules'), ['get', 'list', 'watch']);
    assert.deepEqual(about('devicetaintrules/status'), ['patch', 'update']);
    assert.deepEqual(about('resourceslices'), ['get', 'list', 'watch']);
  });

  it("has upstream's objects", async () => {
    const { api, start, stop } = setUp();
    const { ready, settled } = start();
    await ready;
    assert.deepEqual(
      api
        .all(namespaces)
        .map((object) => object.metadata.name)
        .sort(),
      ['default', 'kube-node-lease', 'kube-public', 'kube-system'],
    );
    const counts = [clusterRoles, clusterRoleBindings, roles, roleBindings, priorityClasses].map(
      (type) => api.all(type as typeof roles).length,
    );
    assert.deepEqual(counts, [69, 50, 7, 7, 2]);
    await settled;
    stop();
    assert.deepEqual([api.all(flowSchemas).length, api.all(priorityLevelConfigurations).length], [11, 8]);
    assert.deepEqual(api.find(configMaps, 'kube-system/extension-apiserver-authentication')?.data, {
      'client-ca-file': 'PEM',
    });
    assert.deepEqual(api.find(configMaps, 'kube-system/kube-apiserver-legacy-service-account-token-tracking')?.data, {
      since: '2026-05-01',
    });
    assert.deepEqual(api.find(serviceCIDRs, 'kubernetes')?.spec, { cidrs: ['10.96.0.0/16'] });
  });

  it('has the Service kubernetes with its endpoints', async () => {
    const { api, start, stop } = setUp();
    await start().settled;
    stop();
    const service = api.find(services, 'default/kubernetes')!;
    assert.deepEqual(service.metadata.labels, { component: 'apiserver', provider: 'kubernetes' });
    assert.deepEqual(
      [service.spec.clusterIP, service.spec.ports],
      ['10.96.0.1', [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }]],
    );
    assert.deepEqual(api.find(endpoints, 'default/kubernetes')?.subsets, [
      { addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'https', port: 6443, protocol: 'TCP' }] },
    ]);
    const slice = api.find(endpointSlices, 'default/kubernetes')!;
    assert.deepEqual(
      [slice.addressType, slice.endpoints],
      ['IPv4', [{ addresses: ['192.0.2.1'], conditions: { ready: true } }]],
    );
  });

  it('has no endpoints for a server that only listens on loopback', async () => {
    const { api, start, stop } = setUp({
      service: { clusterIP: '10.96.0.1', securePort: 6443, advertiseAddress: '127.0.0.1' },
    });
    await start().settled;
    stop();
    assert.equal(api.all(endpoints).length, 0);
  });

  it('lets admin, edit and view do what aggregation will give them', async () => {
    const { api, start, stop } = setUp();
    await start().ready;
    stop();
    const mayDo = (name: string, resource: string, verb: string) =>
      api
        .find(clusterRoles, name)!
        .rules!.some((rule) => rule.resources?.includes(resource) && rule.verbs.includes(verb));
    assert.ok(mayDo('view', 'pods', 'get') && !mayDo('view', 'pods', 'create') && !mayDo('view', 'secrets', 'get'));
    assert.ok(
      mayDo('edit', 'pods', 'get') && mayDo('edit', 'pods', 'create') && !mayDo('edit', 'rolebindings', 'create'),
    );
    assert.ok(mayDo('admin', 'rolebindings', 'create') && mayDo('admin', 'pods', 'get'));
  });

  it('writes nothing when started again', async () => {
    const api = new MemoryApi();
    const first = setUp({}, api);
    await first.start().settled;
    first.stop();
    api.requests.length = 0;
    const second = setUp({}, api);
    await second.start().settled;
    second.stop();
    const writes = api.writes.filter(({ path }) => !path.includes('/leases'));
    assert.deepEqual(writes, []);
  });
});

describe('At a later start', () => {
  async function restarted(change: (api: MemoryApi) => void) {
    const api = new MemoryApi();
    const first = setUp({}, api);
    await first.start().settled;
    first.stop();
    change(api);
    const second = setUp({}, api);
    await second.start().settled;
    second.stop();
    return api;
  }
  const scheduler = 'system:kube-scheduler';

  it('missing rules are added and others kept', async () => {
    const own = { apiGroups: ['example.com'], resources: ['things'], verbs: ['get'] };
    const api = await restarted((c) => c.put(clusterRoles, { ...c.find(clusterRoles, scheduler)!, rules: [own] }));
    const { rules = [] } = api.find(clusterRoles, scheduler)!;
    assert.deepEqual(rules[0], own);
    assert.ok(rules.some((rule) => rule.resources?.includes('pods/binding')));
  });

  it('a role that is to be left alone is left alone', async () => {
    const annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'false' };
    const api = await restarted((c) => c.put(clusterRoles, { metadata: { name: scheduler, annotations }, rules: [] }));
    assert.deepEqual(api.find(clusterRoles, scheduler)!.rules, []);
  });

  it('missing subjects are added and others kept', async () => {
    const own = { kind: 'User', name: 'extra' };
    const api = await restarted((c) =>
      c.put(clusterRoleBindings, { ...c.find(clusterRoleBindings, scheduler)!, subjects: [own] }),
    );
    assert.deepEqual(
      api.find(clusterRoleBindings, scheduler)!.subjects?.map((subject) => subject.name),
      ['extra', scheduler],
    );
  });

  it('a binding to another role is made anew', async () => {
    const api = await restarted((c) =>
      c.put(clusterRoleBindings, {
        ...c.find(clusterRoleBindings, scheduler)!,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      }),
    );
    assert.equal(api.find(clusterRoleBindings, scheduler)!.roleRef.name, scheduler);
  });

  it('a flow schema is restored while nobody took it over', async () => {
    const changed = (api: MemoryApi, annotations?: Record<string, string>) => {
      const present = api.find(flowSchemas, 'global-default')!;
      api.put(flowSchemas, {
        ...present,
        metadata: { ...present.metadata, ...(annotations ? { annotations } : {}) },
        spec: { ...present.spec, matchingPrecedence: 1 },
      });
    };
    const precedence = (api: MemoryApi) => api.find(flowSchemas, 'global-default')!.spec.matchingPrecedence;
    assert.equal(precedence(await restarted((c) => changed(c))), 9900);
    assert.equal(precedence(await restarted((c) => changed(c, { 'apf.kubernetes.io/autoupdate-spec': 'false' }))), 1);
  });

  it('a moved server moves its endpoints', async () => {
    const api = new MemoryApi();
    const first = setUp({}, api);
    await first.start().settled;
    first.stop();
    const second = setUp(
      { service: { clusterIP: '10.96.0.1', securePort: 6444, advertiseAddress: '2001:db8::1' } },
      api,
    );
    await second.start().settled;
    second.stop();
    assert.equal(api.find(endpoints, 'default/kubernetes')?.subsets?.[0]?.addresses?.[0]?.ip, '2001:db8::1');
    assert.equal(api.find(endpointSlices, 'default/kubernetes')?.addressType, 'IPv6');
  });
});

describe('Bootstrap', () => {
  it('tries again while the server cannot', async () => {
    const { api, clock, start, stop } = setUp();
    let failures = 3;
    api.failWith(({ path }) => (path.includes('/clusterroles') && failures-- > 0 ? new Error('not yet') : undefined));
    const { ready } = start();
    await clock.advance(5000);
    await ready;
    stop();
    assert.equal(api.all(clusterRoles).length, 69);
  });

  it('gives up on the roles after half a minute', async () => {
    const { api, clock, start } = setUp();
    api.failWith(({ path }) => (path.includes('/clusterroles') ? new Error('never') : undefined));
    const outcome = assert.rejects(start().ready, { message: 'never' });
    await clock.advance(31_000);
    await outcome;
  });

  it('brings back a namespace and an endpoint that somebody removed', async () => {
    const { api, clock, start, stop } = setUp();
    await start().settled;
    api.erase(namespaces, 'kube-node-lease');
    api.erase(endpoints, 'default/kubernetes');
    await clock.advance(10_000);
    assert.ok(api.find(endpoints, 'default/kubernetes'));
    await clock.advance(50_000);
    assert.ok(api.find(namespaces, 'kube-node-lease'));
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
    const { api, clock, start, stop } = setUp();
    await start().settled;
    const key = `kube-system/${identityLeaseName('kind-control-plane')}`;
    const { metadata, spec } = api.find(leases, key)!;
    assert.deepEqual(metadata.labels, {
      'apiserver.kubernetes.io/identity': 'kube-apiserver',
      'k8s.io/component': 'kube-apiserver',
      'kubernetes.io/hostname': 'kind-control-plane',
    });
    assert.deepEqual([spec.leaseDurationSeconds, spec.renewTime], [3600, '2026-05-01T00:00:00.000000Z']);
    assert.match(spec.holderIdentity!, /^kube-apiserver-c4vwjftbvpc5os2vvzle4qg27a_[0-9a-f-]{36}$/);
    await clock.advance(10_000);
    assert.equal(api.find(leases, key)!.spec.renewTime, '2026-05-01T00:00:10.000000Z');
    stop();
  });

  it('of a server that is gone is collected after its time, its own never', async () => {
    const { api, clock } = setUp();
    const servers = ['a', 'b'].map((hostname, i) =>
      identityLease({ client: api.client, clock, random: seededRandom(i), hostname }),
    );
    for (const server of servers) await server.renew();
    api.put(leases, { metadata: { name: 'other', namespace: 'kube-system' }, spec: {} });
    await clock.advance(3_600_001);
    await servers[0]!.collectExpired();
    assert.deepEqual(
      api
        .all(leases)
        .map((lease) => lease.metadata.name)
        .sort(),
      [servers[0]!.name, 'other'].sort(),
    );
  });
});
