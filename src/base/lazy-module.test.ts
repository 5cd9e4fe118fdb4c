import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onFirstCall } from './lazy-module.ts';

describe('A function loaded by its first call', () => {
  it('is loaded once, and not before', async () => {
    let loads = 0;
    const double = onFirstCall(async () => {
      loads++;
      return (n: number) => n * 2;
    });
    assert.equal(loads, 0);
    assert.equal(await double(2), 4);
    assert.equal(await double(3), 6);
    assert.equal(loads, 1);
  });

  it('is asked for again when it could not be loaded', async () => {
    let attempts = 0;
    const answer = onFirstCall(async () => {
      if (++attempts === 1) throw new Error('no such file');
      return () => 42;
    });
    await assert.rejects(answer(), { message: 'no such file' });
    assert.equal(await answer(), 42);
  });
});
