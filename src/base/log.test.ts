import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorLog } from './log.ts';

test('a log of errors tells errors with the fields of its parents, and nothing else', () => {
  const lines: string[] = [];
  const log = errorLog((line) => lines.push(line)).child({ component: 'kube-scheduler' });
  log.warn('slow');
  log.error('failed', { error: 'refused' });
  assert.deepEqual(lines, ['failed {"component":"kube-scheduler","error":"refused"}']);
});
