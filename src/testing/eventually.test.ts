import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from './eventually.ts';

/** Answers them one after the other, and the last one from then on. */
const inTurn = (...answers: readonly unknown[]) => {
  let asked = 0;
  return () => {
    const answer = answers[Math.min(asked++, answers.length - 1)];
    if (answer instanceof Error) throw answer;
    return answer;
  };
};
const pause = async () => {};

describe('what comes true eventually', () => {
  it('is the first answer that is neither false nor an error', async () => {
    assert.equal(await eventually(inTurn(false, new Error('not there'), 7, 8)), 7);
    assert.equal(await eventually(inTurn(undefined)), undefined);
  });

  it('is the first one that is right', async () => {
    const isEven = (answer: unknown) => Number(answer) % 2 === 0;
    assert.equal(await eventually(inTurn(1, new Error('not there'), 3, 4), isEven, { pause }), 4);
    assert.equal(await eventually(inTurn('starting', 'ready'), /ready/, { pause }), 'ready');
  });

  it('fails with what was asked and the last answer or error when the time is up', async () => {
    const options = { withinMs: 0, pause };
    await assert.rejects(eventually(inTurn('starting'), /ready/, options), (error: Error) => {
      assert.match(error.message, /^not within 0 s: [\s\S]*, \/ready\/\nlast: 'starting'$/);
      return true;
    });
    const cause = new Error('not there');
    await assert.rejects(eventually(inTurn(cause), Boolean, options), { message: /\nlast: Error: not there/, cause });
  });
});
