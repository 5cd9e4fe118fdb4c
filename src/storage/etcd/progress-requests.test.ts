import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ProgressRequests } from './progress-requests.ts';

function asking() {
  const clock = new FakeClock();
  const state = { position: 1, questions: 0 };
  const requests = new ProgressRequests({
    clock,
    ask: () => void state.questions++,
    position: () => state.position,
  });
  return { clock, state, requests };
}

test('whoever waits has etcd asked at once, and nobody is asked for what is there', () => {
  const { clock, state, requests } = asking();
  requests.want(1);
  assert.equal(state.questions, 0);
  requests.want(2);
  assert.equal(state.questions, 1);
  state.position = 2;
  requests.answered();
  requests.want(2);
  assert.deepEqual([state.questions, clock.pending], [1, 0]);
});

test('one question is under way at a time; those that come meanwhile share the next', () => {
  const { state, requests } = asking();
  for (const revision of [2, 3, 4]) requests.want(revision);
  assert.equal(state.questions, 1);
  state.position = 2;
  requests.answered();
  assert.equal(state.questions, 2);
  requests.want(4);
  assert.equal(state.questions, 2);
});

test('without an answer the question is asked again, until it has come or nobody cares any more', async () => {
  const { clock, state, requests } = asking();
  requests.want(2);
  await clock.advance(250);
  assert.equal(state.questions, 3);
  requests.close();
  await clock.advance(1000);
  assert.equal(state.questions, 3);
});

test('a member that lags behind is given time before it is asked again', async () => {
  const { clock, state, requests } = asking();
  requests.want(5);
  for (let i = 0; i < 10; i++) requests.answered();
  assert.equal(state.questions, 1);
  await clock.advance(100);
  assert.equal(state.questions, 2);
});

test('while a watch catches up each step asks anew, and later events do not', () => {
  const { state, requests } = asking();
  requests.want(5);
  state.position = 3;
  requests.heard();
  assert.equal(state.questions, 2);
  requests.answered();
  requests.want(9);
  assert.equal(state.questions, 3);
  state.position = 4;
  requests.heard();
  assert.equal(state.questions, 3);
});

test('what is only expected is asked for when no event has brought it', async () => {
  const { clock, state, requests } = asking();
  requests.expect(2);
  await clock.advance(50);
  state.position = 2;
  requests.heard();
  await clock.advance(100);
  assert.deepEqual([state.questions, clock.pending], [0, 0]);
  requests.expect(3);
  await clock.advance(100);
  assert.equal(state.questions, 1);
});
