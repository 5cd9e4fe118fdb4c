import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tellsProgress } from './releases.ts';

test('progress is trusted from 3.4.31 and 3.5.13 on', () => {
  const trusted = ['3.4.31', '3.4.40', '3.5.13', '3.5.16', '3.6.0-rc.1', '3.10.0', '4.0.0'];
  const others = ['3.4.23', '3.4.30', '3.5.0', '3.5.12', '3.3.99', '2.3.8', '', 'unknown'];
  assert.deepEqual([...trusted, ...others].filter(tellsProgress), trusted);
});
