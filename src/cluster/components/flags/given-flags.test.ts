import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubeletFlags, kubeletSettings } from '../../../kubelet/options.ts';
import { flags as proxyFlags } from '../../../proxy/gen/flags.ts';
import { flags as schedulerFlags } from '../../../scheduler/gen/flags.ts';
import { type FlagDefinition, parseFlags } from '../../../serving/flags.ts';
import { helpText } from '../command.ts';
import { proxySettings } from '../kube-proxy.ts';
import { schedulerSettings } from '../kube-scheduler.ts';
import { GivenFlags } from './given-flags.ts';

const given = (table: readonly FlagDefinition[], ...words: string[]) => new GivenFlags(parseFlags(table, words));

test('a flag that nobody asked about has no effect, and is named', () => {
  const flags = given(kubeletFlags, '--max-pods=20', '--disabled-metrics=x', '--runtime-cgroups=/x');
  assert.equal(kubeletSettings(flags.parsed).configuration.maxPods, 20);
  assert.deepEqual(flags.withoutEffect(), ['disabled-metrics', 'runtime-cgroups']);
});

test('the scheduler´s flags say where it leads', () => {
  const { leader, kubeconfig } = schedulerSettings(
    given(schedulerFlags, '--leader-elect=false', '--leader-elect-lease-duration=30s', '--kubeconfig=/k'),
  );
  assert.equal(kubeconfig, '/k');
  assert.deepEqual(leader, {
    enabled: false,
    namespace: 'kube-system',
    name: 'kube-scheduler',
    leaseDurationMs: 30_000,
    renewDeadlineMs: 10_000,
    retryPeriodMs: 2000,
  });
});

test('the proxy´s flags become its settings', () => {
  const settings = proxySettings(
    given(proxyFlags, '--cluster-cidr=10.244.0.0/16,fd00::/48', '--masquerade-all', '--iptables-min-sync-period=2s'),
  );
  assert.deepEqual(settings.clusterCidrs, ['10.244.0.0/16', 'fd00::/48']);
  assert.equal(settings.masqueradeAll, true);
  assert.equal(settings.minSyncPeriodMs, 2000);
});

test('the help names every flag with its default', () => {
  const text = helpText('kube-proxy', proxyFlags);
  for (const { name } of proxyFlags) assert.ok(text.includes(`--${name}`), name);
  assert.match(text, /--config-sync-period duration +\(default "15m0s"\)/);
  assert.match(text, /--healthz-port int32 +\(default 10256\) \(DEPRECATED\)/);
});
