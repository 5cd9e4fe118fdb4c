/** The simulated runtime keeps the contract, and what containers do follows their Pod's words. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { seededRandom } from '../../../base/random.ts';
import { runtimeContract } from '../runtime.contract.ts';
import { AddressPool } from './address-pool.ts';
import { runScript } from './behaviour.ts';
import { SimulatedRuntime } from './simulated-runtime.ts';

runtimeContract('simulated', async () => {
  const runtime = new SimulatedRuntime({ clock: systemClock, random: seededRandom(1), podCidr: () => '10.1.0.0/24' });
  return {
    runtime,
    clock: systemClock,
    image: 'contract/shell:1',
    directory: '/none',
    cgroupParent: '/none',
    stop: async () => runtime.close(),
  };
});

it('understands commands of echo, sleep, true, false and exit', () => {
  const cases = [
    { command: ['sleep', '5'], runMs: 5000, exitCode: 0 },
    { command: ['sh', '-c', 'sleep 1m; exit 2'], runMs: 60_000, exitCode: 2 },
    { command: ['/bin/sh', '-ec', 'echo "a b" && false'], runMs: 0, exitCode: 1 },
    { command: ['sleep', 'infinity'], runMs: Number.POSITIVE_INFINITY, exitCode: 0 },
  ];
  for (const { command, runMs, exitCode } of cases) {
    const script = runScript(command);
    assert.deepEqual([script?.runMs, script?.exitCode], [runMs, exitCode], command.join(' '));
  }
  assert.equal(runScript(['nginx', '-g', 'daemon off;']), undefined);
  assert.equal(runScript([]), undefined);
  assert.deepEqual(runScript(['sh', '-c', 'sleep 1; echo "a b"'])?.output, [{ atMs: 1000, text: 'a b' }]);
});

it('gives each Pod another address, and an old one only when the range is used up', () => {
  const pool = new AddressPool(() => '10.2.0.0/29');
  const taken = [pool.take(), pool.take(), pool.take(), pool.take(), pool.take()];
  assert.deepEqual(taken, ['10.2.0.2', '10.2.0.3', '10.2.0.4', '10.2.0.5', '10.2.0.6']);
  assert.throws(() => pool.take(), /no IP addresses available/);
  pool.giveBack('10.2.0.4');
  assert.equal(pool.take(), '10.2.0.4');
});
