import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps, type Pod, pods, serviceAccounts } from '../../api/gen/core-v1.ts';
import { RuleResolver } from '../authorization/rule-resolver.ts';
import { attributesOf, pluginHarness } from './admission.fixture.ts';
import type { AdmissionPlugin } from './admission.ts';
import { createAdmission } from './admission-plugins.ts';
import { AdmissionChain } from './chain.ts';

function chainOf(enable: readonly string[] = [], disable: readonly string[] = []) {
  const harness = pluginHarness();
  const ruleResolver = new RuleResolver(harness.informers);
  return { ...harness, chain: createAdmission({ context: harness.context, ruleResolver, enable, disable }) };
}

describe('Admission chain', () => {
  it('mutates in order, then validates in order, and stops at a refusal', async () => {
    const calls: string[] = [];
    const plugin = (name: string, refuses = false): AdmissionPlugin => ({
      name,
      handles: (_operation, resource) => resource.resource === 'pods',
      admit: () => void calls.push(`admit ${name}`),
      async validate() {
        calls.push(`validate ${name}`);
        if (refuses) throw new Error(name);
      },
    });
    const chain = new AdmissionChain([plugin('a'), plugin('b', true), plugin('c')]);
    const attributes = attributesOf({ type: pods, object: { metadata: {} } });
    await chain.admit(attributes);
    await assert.rejects(chain.validate(attributes), { message: 'b' });
    assert.deepEqual(calls, ['admit a', 'admit b', 'admit c', 'validate a', 'validate b']);
    assert.equal(chain.handles('CREATE', configMaps, ''), false);
  });

  it("has upstream's default plugins in upstream's order", () => {
    const names = chainOf().chain.pluginNames;
    assert.deepEqual(names.slice(0, 4), ['RoleEscalation', 'NamespaceLifecycle', 'LimitRanger', 'ServiceAccount']);
    assert.equal(names.at(-1), 'ResourceQuota');
    assert.ok(!names.includes('NodeRestriction'));
  });

  it('takes flags', () => {
    const { chain } = chainOf(['NodeRestriction', 'PodGroupProtection'], ['PodSecurity']);
    assert.ok(chain.pluginNames.indexOf('NodeRestriction') > chain.pluginNames.indexOf('ServiceAccount'));
    assert.ok(!chain.pluginNames.includes('PodSecurity'));
  });

  it('refuses flags that contradict', () => {
    assert.throws(() => chainOf(['Foo']), { message: 'enable-admission-plugins plugin "Foo" is unknown' });
    assert.throws(() => chainOf([], ['Foo']), { message: 'disable-admission-plugins plugin "Foo" is unknown' });
    assert.throws(() => chainOf(['Priority'], ['Priority']), {
      message: '[Priority] in enable-admission-plugins and disable-admission-plugins overlapped',
    });
  });

  it('completes a pod as upstream does', async () => {
    const { chain, api } = chainOf();
    const { namespaces } = await import('../../api/gen/core-v1.ts');
    api.put(namespaces, { metadata: { name: 'a' }, spec: {}, status: { phase: 'Active' } });
    api.put(serviceAccounts, { metadata: { name: 'default', namespace: 'a' } });
    const attributes = attributesOf<Pod>({
      type: pods,
      object: { metadata: { name: 'web', namespace: 'a' }, spec: { containers: [{ name: 'c' }] } },
    });
    await chain.admit(attributes);
    await chain.validate(attributes);
    const { spec } = attributes.object as Pod;
    assert.deepEqual(
      [spec.serviceAccountName, spec.priority, spec.preemptionPolicy, spec.tolerations?.length, spec.volumes?.length],
      ['default', 0, 'PreemptLowerPriority', 2, 1],
    );
  });
});
