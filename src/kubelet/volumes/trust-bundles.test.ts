/** Which anchors a volume gets of the cluster's bundles, and in which words it is told that it gets none. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterTrustBundles } from '../../api/gen/certificates-v1beta1.ts';
import { notFound } from '../../apimachinery/status.ts';
import { encodePem } from '../../pki/pem.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { kubeletHarness } from '../kubelet.fixture.ts';
import { TrustBundles } from './trust-bundles.ts';

const anchor = (text: string) => encodePem('CERTIFICATE', Buffer.from(text));
const signerName = 'signers.test/one';

function setUp({ enabled = true } = {}) {
  const harness = kubeletHarness(new FakeClock());
  const { context } = harness.context();
  const woken: string[][] = [];
  const bundles = new TrustBundles({ ...context, enabled, onChange: (uids) => woken.push([...uids]) });
  const publish = (name: string, text: string, labels: Record<string, string> = {}, signer = signerName) =>
    harness.client.create(clusterTrustBundles, {
      metadata: { name, labels },
      spec: { trustBundle: text, ...(signer === '' ? {} : { signerName: signer }) },
    });
  const sorted = async (wish: Omit<Parameters<TrustBundles['anchors']>[0], 'path'>) =>
    (await bundles.anchors({ path: 'ca.pem', ...wish }, 'u')).split(/(?<=-----END CERTIFICATE-----\n)/).sort();
  return { ...harness, bundles, publish, sorted, woken };
}

describe('trust bundles', () => {
  it('of one name are its anchors, each once and without what stands between them', async () => {
    const { publish, sorted } = setUp();
    await publish('plain', `about a\n${anchor('a')}and b\n${anchor('b')}${anchor('a')}`, {}, '');
    assert.deepEqual(await sorted({ name: 'plain' }), [anchor('a'), anchor('b')].sort());
    await assert.rejects(sorted({ name: 'other' }), {
      message: 'while getting ClusterTrustBundle: clustertrustbundles.certificates.k8s.io "other" not found',
    });
    assert.deepEqual(await sorted({ name: 'other', optional: true }), ['']);
  });

  it('of a signer are those of all its bundles that the selector takes in; without one none', async () => {
    const { publish, sorted } = setUp();
    await publish('one', anchor('a'), { live: 'yes' });
    await publish('two', anchor('a') + anchor('b'), { live: 'yes' });
    await publish('three', anchor('c'), { live: 'no' });
    await publish('foreign', anchor('d'), { live: 'yes' }, 'signers.test/two');
    const live = { matchLabels: { live: 'yes' } };
    assert.deepEqual(await sorted({ signerName, labelSelector: live }), [anchor('a'), anchor('b')].sort());
    assert.equal((await sorted({ signerName, labelSelector: {} })).length, 3);
    const none = { message: 'combination of signerName and labelSelector matched zero ClusterTrustBundles' };
    await assert.rejects(sorted({ signerName }), none);
    await assert.rejects(sorted({ signerName, labelSelector: { matchLabels: { live: 'maybe' } } }), none);
  });

  it('wake the Pods that hold some when they change', async () => {
    const { bundles, clock, client, publish, sorted, woken } = setUp();
    await publish('one', anchor('a'));
    await sorted({ signerName, labelSelector: {} });
    woken.length = 0;
    const current = await client.get(clusterTrustBundles, { name: 'one' });
    await client.update(clusterTrustBundles, { ...current, spec: { ...current.spec, trustBundle: anchor('b') } });
    await (clock as FakeClock).advance(1);
    assert.deepEqual(woken, [['u']]);
    assert.deepEqual(await sorted({ signerName, labelSelector: {} }), [anchor('b')]);
    bundles.release('u');
  });

  it('wake no Pod that was released before they were there', async () => {
    const { bundles, clock, publish, sorted, woken } = setUp();
    const pending = sorted({ name: 'one', optional: true });
    bundles.release('u');
    await pending;
    await publish('one', anchor('a'));
    await (clock as FakeClock).advance(1);
    assert.deepEqual(woken.flat(), []);
  });

  it('are not there without the gate, nor where the API has none', async () => {
    const message = 'ClusterTrustBundle projection is not supported in static kubelet mode';
    await assert.rejects(setUp({ enabled: false }).sorted({ name: 'one' }), { message });
    const { api, publish, sorted } = setUp();
    api.failWith(({ path }) => (path.includes('clustertrustbundles') ? notFound(clusterTrustBundles, '') : undefined));
    await assert.rejects(sorted({ name: 'one' }), { message });
    api.failWith(undefined);
    await publish('one', anchor('a'));
    assert.deepEqual(await sorted({ name: 'one' }), [anchor('a')]);
  });
});
