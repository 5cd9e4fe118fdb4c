import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import type { ApiRequest } from '../request.ts';
import { YamlThread, yamlConverter } from './yaml-thread.ts';

const yamlThread = new YamlThread(systemClock);
const { signal } = new AbortController();
const request = { yamlThread, signal } as unknown as ApiRequest;
const long = `data:\n${Array.from({ length: 2000 }, (_, index) => `  key-${index}: value\n`).join('')}`;

after(() => yamlThread.close());

test('long YAML is read elsewhere: meanwhile the loop goes on', async () => {
  let turns = 0;
  let reading = true;
  const count = () => {
    turns++;
    if (reading) setImmediate(count);
  };
  count();
  const convert = await yamlConverter(request, long);
  reading = false;
  assert.equal(Object.keys(JSON.parse(convert(long).json).data).length, 2000);
  assert.ok(turns > 10, `${turns} turns`);
});

test('what is wrong with it is told when it is asked for, in the same words', async () => {
  const broken = `${long}  : : x: [\n`;
  const convert = await yamlConverter(request, broken);
  assert.throws(() => convert(broken), /^Error: yaml: line \d+: /);
});

test('short YAML is read at once', async () => {
  const convert = await yamlConverter(request, 'a: 1');
  assert.deepEqual(convert('a: 1'), { json: '{"a":1}', strictErrors: [] });
});

test('so many may wait, and the others are asked to come back', async () => {
  const reading = Array.from({ length: 40 }, () =>
    yamlThread.read(long, signal).then(
      () => 'read',
      ({ code }) => code,
    ),
  );
  const outcomes = await Promise.all(reading);
  assert.equal(outcomes.filter((outcome) => outcome === 'read').length, 33);
  assert.equal(outcomes.filter((outcome) => outcome === 429).length, 7);
});

test('what nobody waits for any more is not read', async () => {
  const leaving = new AbortController();
  const abandoned = [yamlThread.read(long, leaving.signal), yamlThread.read(long, leaving.signal)];
  const waiting = yamlThread.read(long, signal);
  leaving.abort(new Error('gone'));
  for (const reading of abandoned) await assert.rejects(reading, /gone/);
  assert.ok((await waiting)(long));
  await assert.rejects(yamlThread.read(long, leaving.signal), /gone/);
});
