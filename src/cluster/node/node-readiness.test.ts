import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Node, nodes } from '../../api/gen/core-v1.ts';
import { createClient } from '../../client/typed-client.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { MemoryApi } from '../../testing/memory-api.ts';
import { CommandError } from '../command-error.ts';
import { nodeReady, obstacleOf } from './node-readiness.ts';

const nodeWith = (status: string, heartbeat: string, message = ''): Node => ({
  metadata: { name: 'n' },
  spec: {},
  status: { conditions: [{ type: 'Ready', status, lastHeartbeatTime: heartbeat, message } as never] },
});

test('a Node is Ready by what it said since its process was started, to the second', () => {
  const sinceMs = Date.parse('2026-01-01T00:00:10.900Z');
  assert.equal(obstacleOf(nodeWith('True', '2026-01-01T00:00:10Z'), sinceMs), undefined);
  assert.equal(obstacleOf(nodeWith('True', '2026-01-01T00:00:09Z'), sinceMs), 'waiting for the kubelet');
  assert.equal(obstacleOf(nodeWith('True', '2025-01-01T00:00:00Z'), undefined), undefined);
});

test('a Node that is not Ready tells why', () => {
  assert.equal(obstacleOf({ metadata: { name: 'n' }, spec: {} }, undefined), 'waiting for the kubelet');
  assert.equal(obstacleOf(nodeWith('False', '2026-01-01T00:00:00Z', 'no network'), undefined), 'no network');
});

const waiting = (clock: FakeClock, signal = new AbortController().signal) => {
  const api = new MemoryApi({ clock });
  const client = createClient(api);
  const notes: string[] = [];
  const note = (text: string) => void notes.push(text);
  const done = nodeReady(client, { nodeName: 'n', sinceMs: undefined, withinMs: 5000, clock, signal, note });
  done.catch(() => {});
  return { api, notes, done };
};

test('waiting ends when the Node becomes Ready, and shows its reasons meanwhile', async () => {
  const clock = new FakeClock();
  const { api, notes, done } = waiting(clock);
  api.put(nodes, nodeWith('False', '2026-01-01T00:00:00Z', 'no network'));
  await clock.advance(10);
  api.put(nodes, nodeWith('True', '2026-01-01T00:00:00Z'));
  await clock.advance(10);
  await done;
  assert.deepEqual(notes, ['no network']);
  assert.equal(clock.pending, 0);
});

test('waiting gives up in time, with the Node´s own reason', async () => {
  const clock = new FakeClock();
  const { api, done } = waiting(clock);
  api.put(nodes, nodeWith('False', '2026-01-01T00:00:00Z', 'no network'));
  await clock.advance(5001);
  await assert.rejects(done, (error) => error instanceof CommandError && /after 5 s: no network/.test(error.message));
  assert.equal(clock.pending, 0);
});

test('waiting ends when the user has had enough', async () => {
  const clock = new FakeClock();
  const enough = new AbortController();
  const { done } = waiting(clock, enough.signal);
  await clock.advance(10);
  enough.abort(new Error('enough'));
  await clock.advance(200);
  await assert.rejects(done, /enough/);
});
