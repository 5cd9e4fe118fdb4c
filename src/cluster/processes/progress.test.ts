import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProgressEvent, printProgress } from './progress.ts';

const printed = (events: readonly ProgressEvent[], isTTY: boolean) => {
  let text = '';
  const report = printProgress({ isTTY, columns: 30, write: (part: string) => (text += part) });
  events.forEach(report);
  return text;
};

const events: readonly ProgressEvent[] = [
  { kind: 'begin', step: 'node' },
  { kind: 'note', text: 'a reason that is longer than the line is wide' },
  { kind: 'done', step: 'node', tookMs: 1240 },
  { kind: 'ready', what: 'The cluster is ready. Next:', next: ['kubectl get nodes'] },
];

test('a file gets a line for each step that is done', () => {
  assert.equal(printed(events, false), '  ✓ node (1.2 s)\n\nThe cluster is ready. Next:\n  kubectl get nodes\n\n');
});

test('a terminal sees the step at work on one line that is rewritten', () => {
  const lines = printed(events, true).split('\r\u001b[2K');
  assert.deepEqual(lines.slice(1, 4), ['  … node', '  … node: a reason that is l…', '  ✓ node (1.2 s)\n']);
});
