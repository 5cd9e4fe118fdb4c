import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkedGates, isGateOn } from './feature-gates.ts';
import { FlagError } from './flags.ts';

describe('feature gates', () => {
  const refused = (asked: Readonly<Record<string, boolean>>) => {
    try {
      checkedGates(asked);
    } catch (error) {
      assert.ok(error instanceof FlagError);
      return error.message;
    }
    assert.fail('nothing was refused');
  };

  it('are as they are by default where nobody named them', () => {
    const { gates, warnings } = checkedGates({});
    assert.deepEqual([gates, warnings], [{}, []]);
    assert.equal(isGateOn(gates, 'APIServerIdentity'), true);
    assert.equal(isGateOn(gates, 'MemoryQoS'), false);
    assert.equal(isGateOn(gates, 'NobodysGate'), false);
  });

  it('are what was asked for', () => {
    const { gates } = checkedGates({ MemoryQoS: true, APIServerIdentity: false });
    assert.equal(isGateOn(gates, 'MemoryQoS'), true);
    assert.equal(isGateOn(gates, 'APIServerIdentity'), false);
  });

  it('that are locked stay as they are, and all that cannot be is told at once', () => {
    assert.equal(
      refused({ APIServerTracing: false }),
      'cannot set feature gate APIServerTracing to false, feature is locked to true',
    );
    assert.match(
      refused({ APIServerTracing: false, SidecarContainers: false }),
      /^\[cannot set .+APIServerTracing.+, cannot set .+SidecarContainers.+\]$/,
    );
    assert.deepEqual(checkedGates({ APIServerTracing: true }).gates, { APIServerTracing: true });
  });

  it('that need another are on only with it, and go off with it where nobody asked for them', () => {
    assert.equal(
      refused({ GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: true }),
      'GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: [GracefulNodeShutdown]',
    );
    const { gates } = checkedGates({ GracefulNodeShutdown: false });
    assert.equal(isGateOn(gates, 'GracefulNodeShutdownBasedOnPodPriority'), false);
  });

  it('of a whole stage are turned at once, those that are named besides as they are named', () => {
    const { gates } = checkedGates({ AllBeta: false, APIServerIdentity: true });
    assert.equal(isGateOn(gates, 'GracefulNodeShutdown'), false);
    assert.equal(isGateOn(gates, 'APIServerIdentity'), true);
    assert.equal(isGateOn(gates, 'SidecarContainers'), true, 'none of that stage');
  });

  it('that the documents name can be switched off though the release has them no more', () => {
    for (const name of ['TopologyManager', 'NodeOutOfServiceVolumeDetach', 'NodeSwap']) {
      assert.equal(isGateOn(checkedGates({}).gates, name), true, name);
      assert.deepEqual(checkedGates({ [name]: false }), { gates: { [name]: false }, warnings: [] });
    }
  });

  it('that nobody knows, or that will go, are warned of', () => {
    for (const name of ['Nonsense', 'constructor', 'toString'])
      assert.deepEqual(checkedGates({ [name]: true }), {
        gates: {},
        warnings: [`unrecognized feature gate: ${name}`],
      });
    assert.deepEqual(checkedGates({ SidecarContainers: true }).warnings, [
      'setting GA feature gate SidecarContainers=true. It will be removed in a future release.',
    ]);
  });
});
