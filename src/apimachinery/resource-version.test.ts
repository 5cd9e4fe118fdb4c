import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareResourceVersions } from './resource-version.ts';

const pairs: readonly { readonly older: string | undefined; readonly newer: string }[] = [
  { older: '9', newer: '10' },
  { older: '41', newer: '42' },
  { older: '9007199254740993', newer: '9007199254740994' },
  { older: undefined, newer: '1' },
];

for (const { older, newer } of pairs) {
  test(`${older ?? 'none'} is older than ${newer}`, () => {
    assert.ok(compareResourceVersions(older, newer) < 0);
    assert.ok(compareResourceVersions(newer, older) > 0);
    assert.equal(compareResourceVersions(newer, newer), 0);
  });
}
