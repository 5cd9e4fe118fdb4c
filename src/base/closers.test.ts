import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Closers } from './closers.ts';

describe('closers', () => {
  it('close the last that was opened first, one after the other', async () => {
    const events: string[] = [];
    const closers = new Closers();
    closers.use({ [Symbol.asyncDispose]: async () => void events.push('resource') });
    closers.defer(async () => {
      events.push('slow begins');
      await Promise.resolve();
      events.push('slow ends');
    });
    await closers.close();
    assert.deepEqual(events, ['slow begins', 'slow ends', 'resource']);
  });

  it('close once', async () => {
    let closed = 0;
    const closers = new Closers();
    closers.defer(() => void closed++);
    await Promise.all([closers.close(), closers.close()]);
    assert.equal(closed, 1);
  });

  it('close the others where one fails, and tell the failure', async () => {
    const events: string[] = [];
    const closers = new Closers();
    closers.defer(() => void events.push('first'));
    closers.defer(() => Promise.reject(new Error('no')));
    await assert.rejects(closers.close(), { message: 'no' });
    assert.deepEqual(events, ['first']);
  });

  it('tell all failures together', async () => {
    const closers = new Closers();
    closers.defer(() => Promise.reject(new Error('one')));
    closers.defer(() => Promise.reject(new Error('two')));
    await assert.rejects(closers.close(), { message: 'Error: two; Error: one' });
  });
});
