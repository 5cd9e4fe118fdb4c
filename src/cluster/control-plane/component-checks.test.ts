import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { ComponentSupervisor } from '../processes/component-supervisor.ts';
import { inProcessChecks } from './component-checks.ts';

test('a component of this process is known, and another is asked where it would be', async () => {
  const components = new ComponentSupervisor(new FakeClock(), silentLog);
  const elsewhere = ['scheduler', 'controller-manager'].map((name) => ({
    name,
    check: async () => ({ healthy: false, message: `no ${name} there` }),
  }));
  const checks = inProcessChecks(components, elsewhere);
  const all = () => Promise.all(checks.map(({ check }) => check()));
  components.run(
    'kube-controller-manager',
    (signal) => new Promise((end) => signal.addEventListener('abort', () => end())),
  );
  assert.deepEqual(await all(), [
    { healthy: false, message: 'no scheduler there' },
    { healthy: true, message: 'ok' },
  ]);
  components.run('kube-scheduler', () => Promise.reject(new Error('no rights')));
  await settle();
  assert.deepEqual((await all())[0], { healthy: false, message: 'no rights' });
  await components.stop();
});
