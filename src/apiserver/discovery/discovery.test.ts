import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { builtinResources, builtinSchema } from '../../api/schema.ts';
import type { DiscoveredResource } from './discovered.ts';
import { Discovery, type DiscoveryDocument } from './discovery.ts';
import { compareVersions } from './version-order.ts';

const enabled = builtinResources().filter((row) => row.enabledByDefault && row.gate === undefined);
const discovery = new Discovery({ resources: enabled, serverAddress: '10.1.2.3:6443' });
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const aggregatedBeta = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

const widgets: DiscoveredResource = {
  group: 'example.com',
  version: 'v1',
  resource: 'widgets',
  kind: 'Widget',
  singular: 'widget',
  namespaced: true,
  shortNames: ['wd'],
  categories: [],
  verbs: ['get'],
  subresources: [{ name: 'status', kind: 'Widget', verbs: ['get', 'patch', 'update'] }],
};

function json(document: DiscoveryDocument | undefined) {
  assert.ok(document);
  return JSON.parse(document.body.toString());
}

describe('plain discovery', () => {
  it('names the core version and where the server is', () => {
    assert.deepEqual(json(discovery.document('/api', undefined)), {
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '10.1.2.3:6443' }],
    });
  });

  it('lists groups in upstream order, the preferred version first', () => {
    const { groups } = json(discovery.document('/apis', 'application/json'));
    const names = groups.map((group: { name: string }) => group.name);
    assert.deepEqual(names.slice(0, 6), [
      'apiregistration.k8s.io',
      'apps',
      'events.k8s.io',
      'authentication.k8s.io',
      'authorization.k8s.io',
      'autoscaling',
    ]);
    assert.deepEqual(json(discovery.document('/apis/autoscaling', undefined)), {
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'autoscaling',
      versions: [
        { groupVersion: 'autoscaling/v2', version: 'v2' },
        { groupVersion: 'autoscaling/v1', version: 'v1' },
      ],
      preferredVersion: { groupVersion: 'autoscaling/v2', version: 'v2' },
    });
  });

  it('keeps the order of the tables when everything is on', () => {
    const all = new Discovery({ resources: builtinResources() });
    const expected = [...builtinSchema().document.groups].sort((a, b) => a.position - b.position);
    assert.deepEqual(
      all.groups.map((group) => group.name),
      expected.map((group) => group.group),
    );
    for (const [index, group] of all.groups.entries()) {
      assert.deepEqual(
        group.versions.map((version) => version.version),
        expected[index]!.versions.map((version) => version.version),
      );
    }
  });

  it('shows a resource with its subresources, other groups named only where they differ', () => {
    const { resources, ...head } = json(discovery.document('/apis/apps/v1', undefined));
    assert.deepEqual(head, { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'apps/v1' });
    const shown = resources.filter((resource: { name: string }) => resource.name.startsWith('deployments'));
    assert.deepEqual(shown, [
      {
        name: 'deployments',
        singularName: 'deployment',
        namespaced: true,
        kind: 'Deployment',
        verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
        shortNames: ['deploy'],
        categories: ['all'],
        storageVersionHash: '8aSe+NMegvE=',
      },
      {
        name: 'deployments/scale',
        singularName: '',
        namespaced: true,
        group: 'autoscaling',
        version: 'v1',
        kind: 'Scale',
        verbs: ['get', 'patch', 'update'],
      },
      {
        name: 'deployments/status',
        singularName: '',
        namespaced: true,
        kind: 'Deployment',
        verbs: ['get', 'patch', 'update'],
      },
    ]);
  });

  it('gives the core list no apiVersion', () => {
    const core = json(discovery.document('/api/v1', undefined));
    assert.equal(core.apiVersion, undefined);
    assert.equal(core.groupVersion, 'v1');
  });

  for (const path of ['/api/v2', '/apis/nothing', '/apis/apps/v2', '/apis/', '/apis/apps/v1/deployments', '/version']) {
    it(`has nothing at ${path}`, () => assert.equal(discovery.document(path, undefined), undefined));
  }

  it('places custom groups after the built-in ones', () => {
    const { groups } = new Discovery({ resources: [widgets, { ...widgets, version: 'v2alpha1' }, ...enabled] });
    const last = groups.at(-1);
    assert.equal(last?.name, 'example.com');
    assert.deepEqual(
      last.versions.map((version) => version.version),
      ['v1', 'v2alpha1'],
    );
  });
});

describe('aggregated discovery', () => {
  it('is given to those who ask for it, in the version they like best', () => {
    const v2 = discovery.document('/apis', `${aggregated},${aggregatedBeta},application/json`);
    assert.equal(v2?.contentType, aggregated);
    assert.equal(json(v2).apiVersion, 'apidiscovery.k8s.io/v2');
    const v2beta1 = discovery.document('/apis', `${aggregated.replace('v2', 'v3')}, ${aggregatedBeta}`);
    assert.equal(v2beta1?.contentType, aggregatedBeta);
    assert.equal(json(v2beta1).apiVersion, 'apidiscovery.k8s.io/v2beta1');
  });

  it('is not given to others, nor below /apis', () => {
    assert.equal(json(discovery.document('/apis', '*/*')).kind, 'APIGroupList');
    assert.equal(json(discovery.document('/apis', `application/json,${aggregated}`)).kind, 'APIGroupList');
    assert.equal(json(discovery.document('/apis/apps/v1', aggregated)).kind, 'APIResourceList');
  });

  it('separates the core group from the others', () => {
    const core = json(discovery.document('/api', aggregated));
    assert.deepEqual(
      core.items.map((item: { metadata: object }) => item.metadata),
      [{}],
    );
    assert.ok(
      json(discovery.document('/apis', aggregated)).items.every(
        (item: { metadata: { name?: string } }) => item.metadata.name,
      ),
    );
  });

  it('shows resources with scope, kinds and subresources', () => {
    const { items } = json(new Discovery({ resources: [widgets] }).document('/apis', aggregated));
    assert.deepEqual(items, [
      {
        metadata: { name: 'example.com' },
        versions: [
          {
            version: 'v1',
            resources: [
              {
                resource: 'widgets',
                responseKind: { group: '', version: '', kind: 'Widget' },
                scope: 'Namespaced',
                singularResource: 'widget',
                verbs: ['get'],
                shortNames: ['wd'],
                subresources: [
                  {
                    subresource: 'status',
                    responseKind: { group: '', version: '', kind: 'Widget' },
                    verbs: ['get', 'patch', 'update'],
                  },
                ],
              },
            ],
            freshness: 'Current',
          },
        ],
      },
    ]);
  });

  it('shows a version whose server is away as stale', () => {
    const ranks = [
      { group: 'metrics.k8s.io', version: 'v1beta1', groupPriority: 100, versionPriority: 100, stale: true },
    ];
    const { items } = json(new Discovery({ resources: [], ranks }).document('/apis', aggregated));
    assert.deepEqual(items, [
      { metadata: { name: 'metrics.k8s.io' }, versions: [{ version: 'v1beta1', freshness: 'Stale' }] },
    ]);
  });
});

describe('discovery ETags', () => {
  it('depend on the content alone', () => {
    const again = new Discovery({ resources: [...enabled].reverse(), serverAddress: '10.1.2.3:6443' });
    assert.equal(again.document('/apis', aggregated)?.etag, discovery.document('/apis', aggregated)?.etag);
    const more = new Discovery({ resources: [...enabled, widgets] });
    assert.notEqual(more.document('/apis', aggregated)?.etag, discovery.document('/apis', aggregated)?.etag);
  });
});

describe('order of versions', () => {
  it('puts stable first, then higher numbers, then names', () => {
    const ordered = ['v10', 'v2', 'v1', 'v11beta2', 'v10beta3', 'v3beta1', 'v12alpha1', 'v11alpha2', 'foo1', 'foo10'];
    assert.deepEqual([...ordered].reverse().sort(compareVersions), ordered);
  });
});
