import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import * as time from './time.ts';

test('times print to the second, micro times to the microsecond', () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  assert.equal(time.formatTime(at), '2026-01-02T03:04:05Z');
  assert.equal(time.formatMicroTime(at + 0.25), '2026-01-02T03:04:05.678250Z');
  assert.equal(time.formatMicroTime(at + 0.9999), '2026-01-02T03:04:05.679000Z');
});

test('RFC 3339 is read with offsets and fractions; what is none is undefined', () => {
  assert.equal(time.parseTime('2026-01-02T03:04:05Z'), Date.UTC(2026, 0, 2, 3, 4, 5));
  assert.equal(time.parseTime('2026-01-02T03:04:05.5+01:30'), Date.UTC(2026, 0, 2, 1, 34, 5, 500));
  for (const text of [
    '',
    'now',
    '2026-01-02',
    '2026-02-30T00:00:00Z',
    '2026-01-02T24:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-02t03:04:05z',
    '2026-01-02 03:04:05Z',
    '2026-01-02T03:04:05',
  ]) {
    assert.equal(time.parseTime(text), undefined, text);
  }
  assert.equal(time.timeOr(undefined, 7), 7);
});

test('times have one spelling, and errors are those of Go', () => {
  assert.equal(time.canonicalTime('2026-01-02T03:04:05.9+01:00'), '2026-01-02T02:04:05Z');
  assert.equal(time.canonicalMicroTime('2026-01-02T03:04:05.1234567Z'), '2026-01-02T03:04:05.123456Z');
  assert.equal(time.isCanonicalTime('2026-01-02T03:04:05Z'), true);
  assert.equal(time.isCanonicalTime('2026-01-02T03:04:05.0Z'), false);
  const message = (text: string) => {
    try {
      return time.canonicalTime(text);
    } catch (error) {
      return (error as Error).message;
    }
  };
  const prefix = 'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": ';
  assert.equal(message('yesterday'), `${prefix}cannot parse "yesterday" as "2006"`);
  assert.equal(message('2026-13-01T00:00:00Z'), 'parsing time "2026-13-01T00:00:00Z": month out of range');
});

test('what a quick look takes for canonical is what the long way makes of it', () => {
  const digits = fc.integer({ min: 0, max: 39 }).map((n) => String(n).padStart(2, '0'));
  const moments = fc
    .tuple(fc.constantFrom('2024', '2026', '0001', '1900'), digits, digits, digits, digits, digits)
    .map(([year, month, day, hour, minute, second]) => `${year}-${month}-${day}T${hour}:${minute}:${second}`);
  fc.assert(
    fc.property(moments, fc.integer({ min: 0, max: 999_999 }), (moment, fraction) => {
      const atMs = time.parseTime(`${moment}Z`);
      assert.equal(time.isCanonicalTime(`${moment}Z`), atMs !== undefined);
      const text = `${moment}.${String(fraction).padStart(6, '0')}Z`;
      // An offset of nothing is never canonical, so this goes the long way.
      const long = text.replace('Z', '+00:00');
      if (atMs === undefined) assert.throws(() => time.canonicalMicroTime(text));
      else assert.equal(time.canonicalMicroTime(text), time.canonicalMicroTime(long));
    }),
    { numRuns: 2000 },
  );
});

const durations: readonly [text: string, ms: number, printed: string][] = [
  ['0', 0, '0s'],
  ['5s', 5000, '5s'],
  ['1h30m', 5_400_000, '1h30m0s'],
  ['1.5s', 1500, '1.5s'],
  ['100ms', 100, '100ms'],
  ['-1m', -60_000, '-1m0s'],
  ['1us', 0.001, '1µs'],
  ['3ns', 0.000003, '3ns'],
  ['90m', 5_400_000, '1h30m0s'],
  ['.5h', 1_800_000, '30m0s'],
];

test('durations are read and printed as in Go', () => {
  for (const [text, ms, printed] of durations) {
    assert.ok(Math.abs(time.parseDuration(text)! - ms) < 1e-9, text);
    assert.equal(time.formatDuration(ms), printed);
  }
  for (const text of ['', '1', '1d', 's', '1h 5m', '--1s', '1e3s'])
    assert.equal(time.parseDuration(text), undefined, text);
});

test('a printed duration reads as itself', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 1e12 }), (micros) => {
      const printed = time.formatDuration(micros / 1000);
      assert.equal(time.formatDuration(time.parseDuration(printed)!), printed);
    }),
  );
});
