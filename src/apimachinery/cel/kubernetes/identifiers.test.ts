import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../../testing/properties.fixture.ts';
import { escapeIdentifier, unescapeIdentifier } from './identifiers.ts';

test('names that are no identifiers have a spelling', () => {
  const spellings: readonly (readonly [string, string])[] = [
    ['plain', 'plain'],
    ['_under', '_under'],
    ['a-b.c/d', 'a__dash__b__dot__c__slash__d'],
    ['x__y', 'x__underscores__y'],
    ['namespace', '__namespace__'],
    ['true', '__true__'],
    ['namespaced', 'namespaced'],
    ['-', '__dash__'],
  ];
  for (const [name, spelling] of spellings) {
    assert.equal(escapeIdentifier(name), spelling);
    assert.equal(unescapeIdentifier(spelling), name);
  }
});

test('other names have none', () => {
  for (const name of ['', '1a', 'a b', 'ä', '$ref', 'a:b']) assert.equal(escapeIdentifier(name), undefined);
});

test('a text between double underscores that is no escape is no spelling', () => {
  assert.equal(unescapeIdentifier('a__foo__b'), undefined);
  assert.equal(unescapeIdentifier('a__true__b'), undefined);
});

test('a spelling leads back to its name', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z_./-][a-z0-9_./-]{0,12}$/), (name) => {
      const spelling = escapeIdentifier(name)!;
      assert.match(spelling, /^[A-Za-z_][A-Za-z0-9_]*$/);
      assert.equal(unescapeIdentifier(spelling), name);
    }),
  );
});
