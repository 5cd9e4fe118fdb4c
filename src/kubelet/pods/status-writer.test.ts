/** What is written of a Pod's status: the difference, and nothing of others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodStatus } from '../../api/gen/core-v1.ts';
import { statusPatch } from './status-writer.ts';

const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' } as const;
const scheduled = { type: 'PodScheduled', status: 'True' } as const;

test('a condition that lost its reason loses it on the server too', () => {
  const notReady = { ...ready, status: 'False', reason: 'ContainersNotReady', message: 'c' } as const;
  const before: PodStatus = { conditions: [scheduled, notReady] };
  const patch = statusPatch(before, { conditions: [scheduled, ready] });
  assert.deepEqual(patch, { conditions: [{ ...ready, reason: null, message: null }] });
});
