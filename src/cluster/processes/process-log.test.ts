import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { internalError, StatusError } from '../../apimachinery/status.ts';
import { processLog } from './process-log.ts';

test('lines carry their time, level, message and fields, and stacks only of what nobody expected', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-log-'));
  const file = join(folder, 'run.log');
  const log = processLog({ file });
  log.child({ component: 'kubelet' }).info('started', { node: 'a' });
  log.warn('refused', { error: new StatusError(internalError('no').status) });
  log.error('broken', { error: new Error('bug') });
  log.debug('not asked for');
  const lines = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(lines.length, 3);
  const { time, ...first } = lines[0];
  assert.deepEqual(first, { level: 'info', component: 'kubelet', node: 'a', msg: 'started' });
  assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000);
  assert.ok(!lines[1].error.includes(' at '), lines[1].error);
  assert.match(lines[2].error, /Error: bug\n +at /);
  rmSync(folder, { recursive: true });
});
