/** Lists and watches as clients meet them on the wire: versions, pages, selectors, restarts. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { builtinResources, builtinSchema } from '../../src/api/schema.ts';
import { apiVersionOf } from '../../src/apimachinery/resource.ts';
import { clusterData, type OpenCluster, openCluster } from './cluster.ts';
import { type Answer, json, openHttp2, statusOf, type Wire } from './wire.ts';

const collection = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;

interface List {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly Item[];
}

interface Item {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

const nameOf = ({ metadata }: Item) => metadata.name;

/** A server with what the tests do to it. */
class Fixture {
  readonly cluster: OpenCluster;
  readonly wire: Wire;

  constructor(cluster: OpenCluster) {
    this.cluster = cluster;
    this.wire = openHttp2(cluster.admin);
  }

  get(path: string, query: Record<string, string> = {}): Promise<Answer> {
    return this.wire.ask({ path: `${path}?${new URLSearchParams(query)}` });
  }

  async list(namespace: string, query: Record<string, string> = {}): Promise<List> {
    const answer = await this.get(collection(namespace), query);
    assert.equal(answer.status, 200, answer.text);
    return JSON.parse(answer.text) as List;
  }

  async write(method: string, path: string, object?: object): Promise<Item> {
    const body = object === undefined ? {} : { headers: json, body: JSON.stringify(object) };
    const answer = await this.wire.ask({ method, path, ...body });
    assert.ok(answer.status < 300, answer.text);
    return JSON.parse(answer.text) as Item;
  }

  create(namespace: string, name: string, more: object = {}): Promise<Item> {
    return this.write('POST', collection(namespace), { metadata: { name, ...more } });
  }

  /** A namespace with objects of these names, and none that a controller puts there. */
  async fill(namespace: string, names: readonly string[]): Promise<void> {
    await this.write('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
    for (const name of names) await this.create(namespace, name, { labels: { mine: 'yes' } });
  }

  /** Everything a watch tells in the second it is given. */
  async watch(path: string, query: Record<string, string>): Promise<string[]> {
    const answer = await this.get(path, { ...query, timeoutSeconds: '1' });
    assert.equal(answer.status, 200, answer.text);
    const lines = answer.text.split('\n').filter((line) => line !== '');
    return lines.map((line) => {
      const { type, object } = JSON.parse(line) as { type: string; object: Item & { reason?: string } };
      return `${type} ${object.metadata.name ?? object.reason ?? ''}`.trim();
    });
  }

  async close(): Promise<void> {
    this.wire.close();
    await this.cluster.close();
  }
}

const mine = { labelSelector: 'mine=yes' };

describe('lists and watches', () => {
  let fixture: Fixture;
  before(async () => {
    fixture = new Fixture(await openCluster());
  });
  after(() => fixture.close());

  test('a version nobody has reached is waited for, then refused with when to ask again', async () => {
    const { resourceVersion } = (await fixture.list('default')).metadata;
    const wanted = String(Number(resourceVersion) + 1_000_000);
    const answers = await Promise.all([
      fixture.get(collection('default'), { resourceVersion: wanted }),
      fixture.get('/api/v1/namespaces/default', { resourceVersion: wanted }),
      fixture.get(collection('default'), { resourceVersion: wanted, resourceVersionMatch: 'NotOlderThan', limit: '1' }),
    ]);
    for (const answer of answers) {
      assert.equal(answer.status, 504);
      assert.equal(answer.headers['retry-after'], '1');
      const { message, ...status } = statusOf(answer);
      assert.match(message!, new RegExp(`^Timeout: Too large resource version: ${wanted}, current: \\d+$`));
      assert.deepEqual(status, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        reason: 'Timeout',
        details: {
          causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
          retryAfterSeconds: 1,
        },
        code: 504,
      });
    }
  });

  const forbidden = (detail: string, field = 'resourceVersionMatch') => `${field}: Forbidden: ${detail}`;
  const refusals: { query: Record<string, string>; problem: string }[] = [
    {
      query: { resourceVersionMatch: 'Exact' },
      problem: forbidden('resourceVersionMatch is forbidden unless resourceVersion is provided'),
    },
    {
      query: { resourceVersion: '0', resourceVersionMatch: 'Exact' },
      problem: forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
    },
    {
      query: { resourceVersion: '1', resourceVersionMatch: 'Newest' },
      problem: 'resourceVersionMatch: Unsupported value: "Newest": supported values: "Exact", "NotOlderThan", ""',
    },
    {
      query: { sendInitialEvents: 'true' },
      problem: forbidden('sendInitialEvents is forbidden for list', 'sendInitialEvents'),
    },
    {
      query: { watch: '1', resourceVersionMatch: 'NotOlderThan' },
      problem: forbidden('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'),
    },
    {
      query: { watch: '1', sendInitialEvents: 'true', resourceVersionMatch: 'Exact' },
      problem: [
        '[',
        forbidden('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
        ', resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]',
      ].join(''),
    },
  ];
  for (const { query, problem } of refusals) {
    test(`${new URLSearchParams(query)} is refused`, async () => {
      const answer = await fixture.get(collection('default'), query);
      assert.equal(answer.status, 422);
      assert.equal(statusOf(answer).message, `ListOptions.meta.k8s.io "" is invalid: ${problem}`);
    });
  }

  test('a list has the version of the last write, and an object that of its own', async () => {
    await fixture.fill('versions', []);
    const { metadata } = await fixture.create('versions', 'a');
    const list = await fixture.list('versions', { fieldSelector: 'metadata.name=a' });
    assert.equal(list.items[0]!.metadata.resourceVersion, metadata.resourceVersion);
    assert.ok(Number(list.metadata.resourceVersion) >= Number(metadata.resourceVersion));
  });

  test('a page tells how many are left unless a selector chose, and whoever takes what is at hand takes all', async () => {
    await fixture.fill('pages', ['a', 'b', 'c', 'd', 'e']);
    const whole = await fixture.list('pages', { limit: '2' });
    const count = (await fixture.list('pages')).items.length;
    assert.equal(whole.metadata.remainingItemCount, count - 2);
    const chosen = await fixture.list('pages', { ...mine, limit: '2' });
    assert.deepEqual(chosen.items.map(nameOf), ['a', 'b']);
    assert.ok(chosen.metadata.continue);
    assert.equal(chosen.metadata.remainingItemCount, undefined);
    const atHand = await fixture.list('pages', { ...mine, limit: '2', resourceVersion: '0' });
    assert.deepEqual([atHand.items.length, atHand.metadata.continue], [5, undefined]);
    const last = await fixture.list('pages', { ...mine, limit: '5' });
    assert.deepEqual([last.items.length, last.metadata.continue], [5, undefined]);
  });

  test('a continued list takes neither a version nor a rule for one', async () => {
    await fixture.fill('continued', ['a', 'b']);
    const { metadata } = await fixture.list('continued', { ...mine, limit: '1' });
    const more = { continue: metadata.continue! };
    const version = await fixture.get(collection('continued'), { ...more, resourceVersion: '1' });
    assert.equal(version.status, 400);
    assert.equal(statusOf(version).message, 'specifying resource version is not allowed when using continue');
    const match = await fixture.get(collection('continued'), {
      ...more,
      resourceVersion: '1',
      resourceVersionMatch: 'Exact',
    });
    assert.match(statusOf(match).message!, /resourceVersionMatch is forbidden when continue is provided/);
  });

  test('pages read while others write are one moment', async () => {
    await fixture.fill('busy', ['a', 'c', 'e', 'g']);
    const first = await fixture.list('busy', { ...mine, limit: '1' });
    const names = first.items.map(nameOf);
    const later = ['b', 'd', 'f', 'h'];
    for (let next = first.metadata.continue; next; ) {
      const name = later.shift();
      if (name) await fixture.create('busy', name, { labels: { mine: 'yes' } });
      if (name === 'd') await fixture.write('DELETE', `${collection('busy')}/g`);
      const page = await fixture.list('busy', { ...mine, limit: '1', continue: next });
      names.push(...page.items.map(nameOf));
      assert.equal(page.metadata.resourceVersion, first.metadata.resourceVersion);
      next = page.metadata.continue;
    }
    assert.deepEqual(names, ['a', 'c', 'e', 'g']);
  });

  test('a limited deletion of a collection ends with its page', async () => {
    await fixture.fill('deleted', ['a', 'b', 'c']);
    const query = new URLSearchParams({ ...mine, limit: '2' });
    await fixture.write('DELETE', `${collection('deleted')}?${query}`);
    assert.deepEqual((await fixture.list('deleted', mine)).items.map(nameOf), ['c']);
    const dry = new URLSearchParams({ ...mine, dryRun: 'All' });
    await fixture.write('DELETE', `${collection('deleted')}?${dry}`);
    assert.deepEqual((await fixture.list('deleted', mine)).items.map(nameOf), ['c']);
  });

  test('a watch of one name, old path or new, hears of nothing else', async () => {
    await fixture.fill('single', ['a', 'b']);
    const { resourceVersion } = (await fixture.list('single')).metadata;
    const watches = [
      fixture.watch('/api/v1/watch/namespaces/single/configmaps/a', { resourceVersion }),
      fixture.watch(collection('single'), { watch: '1', fieldSelector: 'metadata.name=a', resourceVersion }),
    ];
    await fixture.write('DELETE', `${collection('single')}/b`);
    await fixture.write('DELETE', `${collection('single')}/a`);
    const [byPath, bySelector] = await Promise.all(watches);
    assert.deepEqual(byPath, ['DELETED a']);
    assert.deepEqual(bySelector, ['DELETED a']);
  });

  test('objects enter and leave a watch by their labels and fields', async () => {
    await fixture.fill('entering', []);
    const pods = '/api/v1/namespaces/entering/pods';
    const { metadata } = JSON.parse((await fixture.get(pods)).text) as List;
    const watching = fixture.watch(pods, {
      watch: '1',
      labelSelector: 'on=yes',
      fieldSelector: 'status.phase=Running',
      resourceVersion: metadata.resourceVersion,
    });
    // The cluster's own scheduler would write a condition, some time or other.
    const spec = { schedulerName: 'nobody', containers: [{ name: 'c', image: 'i' }] };
    await fixture
      .write('POST', '/api/v1/namespaces/entering/serviceaccounts', { metadata: { name: 'default' } })
      .catch(() => {});
    await fixture.write('POST', pods, { metadata: { name: 'p', labels: { on: 'yes' } }, spec });
    const merge = { 'content-type': 'application/merge-patch+json' };
    const patch = async (path: string, body: object) => {
      const answer = await fixture.wire.ask({ method: 'PATCH', path, headers: merge, body: JSON.stringify(body) });
      assert.equal(answer.status, 200, answer.text);
    };
    await patch(`${pods}/p/status`, { status: { phase: 'Running' } });
    await patch(`${pods}/p`, { metadata: { annotations: { a: 'b' } } });
    await patch(`${pods}/p`, { metadata: { labels: { on: 'no' } } });
    await patch(`${pods}/p`, { metadata: { labels: { on: 'yes' } } });
    await patch(`${pods}/p/status`, { status: { phase: 'Failed' } });
    assert.deepEqual(await watching, ['ADDED p', 'MODIFIED p', 'DELETED p', 'ADDED p', 'DELETED p']);
  });

  test('every kind can be chosen by the fields it has, and by no other', async () => {
    const rows = builtinResources().filter((row) => row.enabledByDefault && row.verbs.includes('list'));
    const declared = builtinSchema().document.selectors;
    for (const row of rows) {
      const { group, version, resource, namespaced } = row;
      const path = `${group === '' ? '/api/' : '/apis/'}${apiVersionOf(row)}/${resource}`;
      const own = declared.find((entry) => entry.group === group && entry.resource === resource);
      const accepted = own?.accept as Readonly<Record<string, readonly string[]>> | undefined;
      const fields = accepted?.[version] ?? ['metadata.name', ...(namespaced ? ['metadata.namespace'] : [])];
      for (const field of fields) {
        const answer = await fixture.get(path, { fieldSelector: `${field}=x` });
        assert.equal(answer.status, 200, `${path} ${field}: ${answer.text}`);
      }
      const unknown = await fixture.get(path, { fieldSelector: 'spec.nonsense=x' });
      if (resource !== 'componentstatuses') assert.equal(unknown.status, 400, `${path}: ${unknown.text}`);
    }
  });
});

describe('after a restart over LMDB', () => {
  test('pages go on, watches go on, and versions never go back', async () => {
    const data = clusterData();
    try {
      const before = new Fixture(await openCluster({ storeName: 'LMDB', data }));
      await before.fill('kept', ['a', 'b', 'c']);
      const page = await before.list('kept', { ...mine, limit: '1' });
      await before.create('kept', 'bb', { labels: { mine: 'yes' } });
      const { resourceVersion } = (await before.list('kept')).metadata;
      await before.close();

      const after = new Fixture(await openCluster({ storeName: 'LMDB', data }));
      const rest = await after.list('kept', { ...mine, continue: page.metadata.continue! });
      assert.deepEqual(rest.items.map(nameOf), ['b', 'c']);
      assert.equal(rest.metadata.resourceVersion, page.metadata.resourceVersion);
      assert.ok(Number((await after.list('kept')).metadata.resourceVersion) >= Number(resourceVersion));
      const missed = after.watch(collection('kept'), {
        ...mine,
        watch: '1',
        resourceVersion: page.metadata.resourceVersion,
      });
      await after.write('DELETE', `${collection('kept')}/a`);
      assert.deepEqual(await missed, ['ADDED bb', 'DELETED a']);
      await after.close();
    } finally {
      data.remove();
    }
  });
});
