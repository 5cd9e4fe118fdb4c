import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flags } from '../../../apiserver/gen/flags.ts';
import { flags as proxyFlags } from '../../../proxy/gen/flags.ts';
import { type FlagDefinition, FlagError, parseFlags } from '../../../serving/flags.ts';
import { proxySettings } from '../kube-proxy.ts';
import { refuseApiServerPlace, refuseApiServerPolicy, refuseProblems, securePortProblems } from './flag-checks.ts';
import { GivenFlags } from './given-flags.ts';

const given = (table: readonly FlagDefinition[], words: readonly string[]) => new GivenFlags(parseFlags(table, words));

for (const { words, cidrs = ['10.96.0.0/16'], message } of [
  {
    words: ['--secure-port=99999'],
    message: '--secure-port 99999 must be between 1 and 65535, inclusive. It cannot be turned off with 0',
  },
  { words: [], cidrs: ['nonsense'], message: 'service-cluster-ip-range[0] is not a valid cidr' },
  { words: [], cidrs: ['10.0.0.0/16', '10.1'], message: 'service-cluster-ip-range[1] is not an ip net' },
  {
    words: ['--kubernetes-service-node-port=-1'],
    cidrs: ['10.0.0.0/16', '10.1.0.0/16'],
    message:
      '[--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family, --kubernetes-service-node-port -1 must be between 0 and 65535, inclusive. If 0, the Kubernetes master service will be of type ClusterIP]',
  },
])
  test(`no API server can stand where ${[...words, ...cidrs].join(' ')} says`, () => {
    assert.throws(() => refuseApiServerPlace(given(flags, words), cidrs), new FlagError(message));
  });

for (const [word, message] of [
  ['--max-requests-inflight=-4', '--max-requests-inflight can not be negative value'],
  ['--shutdown-delay-duration=-1s', '--shutdown-delay-duration can not be negative value'],
  ['--goaway-chance=0.5', '--goaway-chance can not be less than 0 or greater than 0.02'],
  ['--runtime-config=foo/v1=true,apps/v1=true', 'unknown api groups foo/v1'],
  ['--runtime-config=v1=true', 'runtime-config invalid key v1'],
  ['--enable-admission-plugins=NodeRestriction,Foo', 'enable-admission-plugins plugin "Foo" is unknown'],
  ['--runtime-config=api/all=false', 'invalid runtime-config with only api/all=false'],
] as const)
  test(`an API server does not start with ${word}`, () => {
    assert.throws(() => refuseApiServerPolicy(given(flags, [word])), new FlagError(message));
  });

test('what upstream takes is taken', () => {
  refuseApiServerPlace(given(flags, []), ['10.0.0.0/16', 'fd00::/108']);
  refuseApiServerPolicy(given(flags, ['--runtime-config=api/all=true,/v1=true,batch/v1/jobs=false']));
  refuseProblems([...securePortProblems(0), ...securePortProblems(65_535)]);
});

test('the scheduler and the controllers may be without a port, but not with one that is none', () => {
  assert.deepEqual(securePortProblems(99_999), [
    '--secure-port 99999 must be between 0 and 65535, inclusive. 0 for turning off secure port',
  ]);
});

test('the proxy knows its modes and ranges', () => {
  assert.throws(
    () => proxySettings(given(proxyFlags, ['--proxy-mode=foo', '--cluster-cidr=10.244.0.0/16,bar'])),
    new FlagError(
      'failed validate: [KubeProxyConfiguration.Mode.ProxyMode: Invalid value: "foo": must be iptables, ipvs, nftables or blank (blank means the best-available proxy [currently iptables]), KubeProxyConfiguration.DetectLocalConfiguration.ClusterCIDRs[1]: Invalid value: "bar": must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)]',
    ),
  );
  assert.equal(proxySettings(given(proxyFlags, ['--proxy-mode=iptables'])).mode, 'iptables');
});
