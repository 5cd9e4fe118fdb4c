import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps, namespaces } from '../../../api/gen/core-v1.ts';
import { isNamespaceTerminating } from '../../../apimachinery/status.ts';
import { attributesOf, pluginHarness, refusalOf, run } from '../admission.fixture.ts';
import { namespaceAutoProvision, namespaceExists } from './namespace-existence.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';

const namespace = (name: string, phase: 'Active' | 'Terminating' = 'Active') => ({
  metadata: { name },
  spec: {},
  status: { phase },
});
const configMap = { metadata: { name: 'c', namespace: 'a' } };

describe('NamespaceLifecycle', () => {
  it('lets objects into an active namespace', async () => {
    const { api, context } = pluginHarness();
    api.put(namespaces, namespace('a'));
    assert.equal(
      await refusalOf(namespaceLifecycle(context), attributesOf({ type: configMaps, object: configMap })),
      undefined,
    );
  });

  it('refuses a namespace that is not there, by its own error', async () => {
    const { context } = pluginHarness();
    const message = await refusalOf(namespaceLifecycle(context), attributesOf({ type: configMaps, object: configMap }));
    assert.equal(message, 'namespaces "a" not found');
  });

  it('asks the server about a namespace that the informer does not know yet', async () => {
    const { api, context, informers } = pluginHarness();
    const plugin = namespaceLifecycle(context);
    informers.lag = true;
    api.put(namespaces, namespace('a'));
    assert.equal(await refusalOf(plugin, attributesOf({ type: configMaps, object: configMap })), undefined);
  });

  it('refuses creation in a namespace that is being deleted, with a cause', async () => {
    const { api, context } = pluginHarness();
    api.put(namespaces, namespace('a', 'Terminating'));
    const plugin = namespaceLifecycle(context);
    await assert.rejects(run(plugin, attributesOf({ type: configMaps, object: configMap })), (error: Error) => {
      assert.equal(
        error.message,
        'configmaps "c" is forbidden: unable to create new content in namespace a because it is being terminated',
      );
      return isNamespaceTerminating(error);
    });
    const update = attributesOf({ type: configMaps, object: configMap, oldObject: configMap });
    assert.equal(await refusalOf(plugin, update), undefined);
  });

  it('does not trust the informer after a deletion was asked', async () => {
    const { api, context, clock, informers } = pluginHarness();
    api.put(namespaces, namespace('a'));
    const plugin = namespaceLifecycle(context);
    await run(plugin, attributesOf({ type: namespaces, oldObject: namespace('a') }));
    informers.lag = true;
    api.put(namespaces, namespace('a', 'Terminating'));
    assert.match(
      (await refusalOf(plugin, attributesOf({ type: configMaps, object: configMap })))!,
      /is being terminated$/,
    );
    await clock.advance(30_001);
    assert.equal(await refusalOf(plugin, attributesOf({ type: configMaps, object: configMap })), undefined);
  });

  for (const name of ['default', 'kube-system', 'kube-public']) {
    it(`keeps ${name}`, async () => {
      const { context } = pluginHarness();
      const message = await refusalOf(
        namespaceLifecycle(context),
        attributesOf({ type: namespaces, oldObject: namespace(name) }),
      );
      assert.equal(message, `namespaces "${name}" is forbidden: this namespace may not be deleted`);
    });
  }
});

describe('NamespaceAutoProvision and NamespaceExists', () => {
  it('the first creates what is missing', async () => {
    const { api, context } = pluginHarness();
    await run(namespaceAutoProvision(context), attributesOf({ type: configMaps, object: configMap }));
    assert.ok(api.find(namespaces, 'a'));
  });

  it('the first creates nothing in a dry run', async () => {
    const { api, context } = pluginHarness();
    await run(namespaceAutoProvision(context), attributesOf({ type: configMaps, object: configMap, dryRun: true }));
    assert.equal(api.find(namespaces, 'a'), undefined);
  });

  it('the second refuses it', async () => {
    const { context } = pluginHarness();
    const message = await refusalOf(namespaceExists(context), attributesOf({ type: configMaps, object: configMap }));
    assert.equal(message, 'namespaces "a" not found');
  });
});
