import assert from 'node:assert/strict';
import { it } from 'node:test';
import { missingParts, needs, unless } from './needs.ts';

/** What `ask` comes to on a machine where `CI` is so. */
function under<T>(ci: string | undefined, ask: () => T): T {
  const before = process.env.CI;
  const set = (value: string | undefined) => {
    if (value === undefined) delete process.env.CI;
    else process.env.CI = value;
  };
  set(ci);
  try {
    return ask();
  } finally {
    set(before);
  }
}

it('leaves nothing out where all is there', () => {
  for (const ci of [undefined, 'true'])
    assert.deepEqual(
      under(ci, () => needs('sh', process.execPath)),
      { skip: false },
    );
});

it('leaves a test out for what is missing, by name or by path, and says what that is', () => {
  assert.equal(missingParts('sh', 'no-such-program', '/no/such/file'), 'no-such-program, /no/such/file');
  assert.deepEqual(
    under(undefined, () => needs('no-such-program')),
    { skip: 'needs no-such-program' },
  );
});

it('leaves a test out for a reason that is no lack, in CI too', () => {
  for (const ci of [undefined, 'true']) {
    assert.deepEqual(
      under(ci, () => unless('nothing to try here')),
      { skip: 'nothing to try here' },
    );
    assert.deepEqual(
      under(ci, () => unless(undefined)),
      { skip: false },
    );
  }
});

it('is an error in CI', () => {
  under('true', () =>
    assert.throws(() => needs('sh', 'no-such-program'), /^Error: missing on this machine: no-such-program \(/),
  );
});
