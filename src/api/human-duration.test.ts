import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { age, humanDuration } from './human-duration.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

describe('a duration as people read it', () => {
  const cases: readonly (readonly [durationMs: number, text: string])[] = [
    [0, '0s'],
    [999, '0s'],
    [second, '1s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [2 * minute + 5 * second, '2m5s'],
    [9 * minute + 59 * second, '9m59s'],
    [10 * minute + 5 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [3 * hour + 12 * minute, '3h12m'],
    [7 * hour + 59 * minute, '7h59m'],
    [8 * hour + 59 * minute, '8h'],
    [47 * hour, '47h'],
    [2 * day, '2d'],
    [2 * day + 4 * hour, '2d4h'],
    [7 * day + 23 * hour, '7d23h'],
    [8 * day + 23 * hour, '8d'],
    [729 * day, '729d'],
    [2 * year, '2y'],
    [2 * year + 13 * day, '2y13d'],
    [8 * year + 13 * day, '8y'],
    [-500, '0s'],
    [-1500, '0s'],
    [-5 * second, '<invalid>'],
  ];
  for (const [durationMs, text] of cases) {
    it(`${durationMs} ms is ${text}`, () => assert.equal(humanDuration(durationMs), text));
  }
});

describe('an age', () => {
  const nowMs = Date.parse('2026-01-01T00:00:00Z');

  it('is counted from the moment', () => assert.equal(age('2025-12-31T23:59:15Z', nowMs), '45s'));
  it('is unknown without one', () => assert.equal(age(undefined, nowMs), '<unknown>'));
});
