import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFlags } from '../serving/flags.ts';
import { controllers, isEnabled, unknownControllers } from './controllers.ts';
import { implementations } from './implementations.ts';
import { controllerManagerFlags, controllerManagerOptions } from './options.ts';

const entry = (name: string) => controllers.find((one) => one.name === name)!;

const selections: readonly {
  readonly selection: readonly string[];
  readonly name: string;
  readonly enabled: boolean;
}[] = [
  { selection: ['*'], name: 'deployment-controller', enabled: true },
  { selection: ['*'], name: 'bootstrap-signer-controller', enabled: false },
  { selection: ['*', 'bootstrapsigner'], name: 'bootstrap-signer-controller', enabled: true },
  { selection: ['*', '-deployment'], name: 'deployment-controller', enabled: false },
  { selection: ['-deployment-controller', '*'], name: 'deployment-controller', enabled: false },
  { selection: ['job'], name: 'job-controller', enabled: true },
  { selection: ['job'], name: 'deployment-controller', enabled: false },
];

for (const { selection, name, enabled } of selections) {
  test(`--controllers=${selection.join()} ${enabled ? 'runs' : 'leaves out'} ${name}`, () => {
    assert.equal(isEnabled(entry(name), selection), enabled);
  });
}

test('an unknown controller is named', () => {
  assert.deepEqual(unknownControllers(['*', '-podgc', 'nonsense']), ['nonsense']);
});

test('every implementation has a name of the table', () => {
  const known = new Set(controllers.map(({ name }) => name));
  assert.deepEqual(
    Object.keys(implementations).filter((name) => !known.has(name)),
    [],
  );
});

test('without flags the documents and the release set the defaults', () => {
  const { nodeLifecycle, nodeIpam, podGarbageCollection } = controllerManagerOptions(
    parseFlags(controllerManagerFlags, []).values,
  );
  assert.deepEqual(nodeLifecycle, {
    monitorPeriodMs: 5000,
    monitorGraceMs: 40_000,
    startupGraceMs: 60_000,
    evictionRate: 0.1,
    secondaryEvictionRate: 0.01,
    largeClusterThreshold: 50,
    unhealthyThreshold: 0.55,
  });
  assert.equal(nodeIpam, undefined);
  assert.equal(podGarbageCollection?.terminatedThreshold, 12_500);
});

test('without the gate of Nodes that are out of service nobody acts on their taint', () => {
  const { values } = parseFlags(controllerManagerFlags, []);
  for (const [gates, ignored] of [
    [{}, false],
    [{ NodeOutOfServiceVolumeDetach: false }, true],
  ] as const) {
    const { attachDetach, podGarbageCollection } = controllerManagerOptions(values, gates);
    assert.deepEqual(
      [attachDetach?.ignoresOutOfService, podGarbageCollection?.ignoresOutOfService],
      [ignored, ignored],
    );
  }
});

test('flags of the release and of older ones are taken', () => {
  const { values } = parseFlags(controllerManagerFlags, [
    '--pod-eviction-timeout=1m',
    '--controllers=*,-job',
    '--node-monitor-grace-period=16s',
    '--allocate-node-cidrs',
    '--cluster-cidr=10.244.0.0/16,fd00::/56',
    '--node-cidr-mask-size=25',
    '--concurrent-job-syncs=9',
  ]);
  const options = controllerManagerOptions(values);
  assert.deepEqual(options.controllers, ['*', '-job']);
  assert.equal(options.nodeLifecycle?.monitorGraceMs, 16_000);
  assert.deepEqual(options.nodeIpam?.clusterCidrs, ['10.244.0.0/16', 'fd00::/56']);
  assert.equal(options.nodeIpam?.maskSizeIpv4, 25);
  assert.equal(options.workers?.['job-controller'], 9);
});
