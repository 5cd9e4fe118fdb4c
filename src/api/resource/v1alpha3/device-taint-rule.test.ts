import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorsOf, now, updateErrorsOf } from '../../given.fixture.ts';
import { deviceTaintRuleBehaviour } from './device-taint-rule.ts';

const rule = (effect: string, deviceSelector: object = {}) => ({
  spec: { deviceSelector, taint: { key: 'a.example/broken', effect } },
});
const condition = (type: string) => ({ type, status: 'True', reason: 'R', lastTransitionTime: now });
const effectError =
  'spec.taint.effect: Unsupported value: "Later": supported values: "NoExecute", "NoSchedule", "None"';

describe('a DeviceTaintRule', () => {
  it('selects devices by names that there can be', () => {
    assert.deepEqual(
      errorsOf(deviceTaintRuleBehaviour, rule('None', { driver: 'd.example', pool: 'a/b', device: 'c' })),
      [],
    );
    const errors = errorsOf(deviceTaintRuleBehaviour, rule('None', { driver: '-', pool: '', device: 'C' }));
    assert.equal(errors.length, 3);
    assert.match(errors[0]!, /^spec\.deviceSelector\.driver: Invalid value: "-": a lowercase RFC 1123 subdomain must/);
    assert.equal(errors[1], 'spec.deviceSelector.pool: Required value');
    assert.match(errors[2]!, /^spec\.deviceSelector\.device: Invalid value: "C": a lowercase RFC 1123 label must/);
  });

  it('has a taint with an effect that is known, or was there before', () => {
    assert.deepEqual(errorsOf(deviceTaintRuleBehaviour, rule('')), ['spec.taint.effect: Required value']);
    assert.deepEqual(errorsOf(deviceTaintRuleBehaviour, rule('Later')), [effectError]);
    assert.deepEqual(updateErrorsOf(deviceTaintRuleBehaviour, rule('None'), rule('Later')), [effectError]);
    assert.deepEqual(updateErrorsOf(deviceTaintRuleBehaviour, rule('Later'), rule('Later')), []);
  });

  it('has a few conditions that are whole', () => {
    const errors = (conditions: readonly object[]) =>
      updateErrorsOf(deviceTaintRuleBehaviour, rule('None'), { ...rule('None'), status: { conditions } }, 'status');
    assert.deepEqual(errors([condition('A'), { ...condition('B'), reason: '' }]), [
      'status.conditions[1].reason: Required value: must be set',
    ]);
    assert.deepEqual(errors(Array.from({ length: 9 }, (_, index) => condition(`C${index}`))), [
      'status.conditions: Too many: 9: must have at most 8 items',
    ]);
  });
});
