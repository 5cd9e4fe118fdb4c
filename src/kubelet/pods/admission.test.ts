/** Which Pods a node takes, and in which words it refuses the others. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { rejectionOf } from './admission.ts';
import { SysctlRules, sysctlName } from './sysctls.ts';

const pod = (spec: Partial<Pod['spec']>): Pod => ({ metadata: {}, spec: { containers: [], ...spec } });

describe('kernel settings', () => {
  const rules = new SysctlRules(['kernel.msg*', 'net.core.somaxconn'], '6.1.0-30-amd64');
  const asking = (name: string, more: Partial<Pod['spec']> = {}) =>
    rules.rejection(pod({ securityContext: { sysctls: [{ name, value: '1' }] }, ...more }))?.message;

  it("that are safe, or that an administrator has allowed, are a Pod's to change", () => {
    for (const name of ['net.ipv4.tcp_syncookies', 'net/ipv4/tcp_rmem', 'kernel.msgmax', 'net.core.somaxconn'])
      assert.equal(asking(name), undefined, name);
    assert.equal(rules.rejection(pod({})), undefined);
  });

  it("of the machine, or of a namespace that is the node's, are not", () => {
    assert.equal(asking('vm.swappiness'), 'forbidden sysctl: "vm.swappiness" not allowlisted');
    assert.equal(asking('kernel.shmmax'), 'forbidden sysctl: "kernel.shmmax" not allowlisted');
    assert.equal(
      asking('net/core/somaxconn', { hostNetwork: true }),
      'forbidden sysctl: "net.core.somaxconn" not allowed with host Net enabled',
    );
    assert.equal(
      asking('kernel.msgmax', { hostIPC: true }),
      'forbidden sysctl: "kernel.msgmax" not allowed with host IPC enabled',
    );
  });

  it('are safe only where the kernel keeps them per namespace', () => {
    const settings = { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem', value: '1' }] } };
    const rejected = (kernel: string) => new SysctlRules([], kernel).rejection(pod(settings)) !== undefined;
    assert.deepEqual([rejected('4.14.9'), rejected('4.15-rc1'), rejected('5.0')], [true, false, false]);
  });

  it("cannot be allowed when they are the whole machine's", () => {
    assert.throws(() => new SysctlRules(['vm.*'], '6.1'), {
      message: 'the sysctls "vm." are not known to be namespaced',
    });
    assert.throws(() => new SysctlRules(['Net!'], '6.1'), /^Error: sysctl "Net!" must have at most 253 characters/);
  });

  it('have names with dots or with slashes', () => {
    assert.equal(sysctlName('net/ipv4/conf/eno2.100/rp_filter'), 'net.ipv4.conf.eno2/100.rp_filter');
    assert.equal(sysctlName('net.ipv4.conf.eno2/100.rp_filter'), 'net.ipv4.conf.eno2/100.rp_filter');
  });
});

it('refuses strict supplemental groups where the runtime does not know them', () => {
  const node = (supplementalGroupsPolicy: boolean): Node => ({
    metadata: {},
    spec: {},
    status: { allocatable: { pods: '10' }, features: { supplementalGroupsPolicy } },
  });
  const strict = pod({ securityContext: { supplementalGroupsPolicy: 'Strict' } });
  assert.deepEqual(rejectionOf(strict, [], { node: node(false) }), {
    reason: 'SupplementalGroupsPolicyNotSupported',
    message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
  });
  assert.equal(rejectionOf(strict, [], { node: node(true) }), undefined);
  assert.equal(
    rejectionOf(pod({ securityContext: { supplementalGroupsPolicy: 'Merge' } }), [], { node: node(false) }),
    undefined,
  );
});
