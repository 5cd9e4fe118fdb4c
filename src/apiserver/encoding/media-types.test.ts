import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StatusError } from '../../apimachinery/status.ts';
import { inputFormat } from './media-types.ts';

describe('the content type of a body', () => {
  const known: readonly (readonly [contentType: string | undefined, format: string])[] = [
    [undefined, 'json'],
    ['', 'json'],
    ['application/json', 'json'],
    ['Application/YAML; charset=utf-8', 'yaml'],
    ['application/json;', 'json'],
    ['application/json; a=b ; c="d;e\\"f" ;', 'json'],
  ];
  for (const [contentType, format] of known) {
    it(`${contentType} means ${format}`, () => assert.equal(inputFormat(contentType), format));
  }

  const refused = ['text/plain', 'application/json;;', 'application/json; charset', 'application/json; a=b; A=c', ';'];
  for (const contentType of refused) {
    it(`${contentType} is refused`, () =>
      assert.throws(
        () => inputFormat(contentType),
        (error) => error instanceof StatusError && error.code === 415,
      ));
  }
});
