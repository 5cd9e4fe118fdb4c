/** The names by which tests claim to be upstream's conformance tests: `npm run conformance` counts them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conformanceMarks, conformanceNames } from '../scripts/conformance-marks.ts';

test('every test that bears a name of upstream’s conformance suite bears a true one', () => {
  const names = new Set(conformanceNames());
  assert.ok(names.size > 100);
  assert.deepEqual(
    conformanceMarks().filter(({ name }) => !names.has(name)),
    [],
  );
});

test('no name of upstream’s conformance suite is borne by two tests', () => {
  const places = Map.groupBy(conformanceMarks(), ({ name }) => name);
  assert.deepEqual(
    [...places.values()].filter((marks) => marks.length > 1),
    [],
  );
});
