import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import { test } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import { keepChecking, pingIntervalMs } from './session-checks.ts';

/** As Node's: throws when it is pinged after its end. */
class PretendedSession extends EventEmitter {
  destroyed = false;
  pings = 0;
  answers = true;
  readonly state = {};

  ping(callback: () => void): boolean {
    if (this.destroyed) throw new Error('The session has been destroyed');
    this.pings++;
    if (this.answers) callback();
    return true;
  }

  destroy(): void {
    this.destroyed = true;
  }

  close(): void {}

  setTimeout(): void {}
}

function checked() {
  const clock = new FakeClock();
  const session = new PretendedSession();
  keepChecking(session as unknown as ServerHttp2Session, clock);
  return { clock, session };
}

test('a peer that answers is asked again and again', async () => {
  const { clock, session } = checked();
  for (let i = 0; i < 3; i++) await clock.advance(pingIntervalMs);
  assert.equal(session.pings, 3);
  assert.equal(session.destroyed, false);
});

test('a peer that no longer answers is let go', async () => {
  const { clock, session } = checked();
  session.answers = false;
  await clock.advance(pingIntervalMs);
  await clock.advance(pingIntervalMs);
  assert.equal(session.destroyed, true);
});

test('a session that has ended and not yet said so is left alone', async () => {
  const { clock, session } = checked();
  session.destroy();
  await clock.advance(pingIntervalMs);
  assert.equal(session.pings, 0);
});

test('nothing is asked after the close', async () => {
  const { clock, session } = checked();
  session.emit('close');
  await clock.advance(pingIntervalMs);
  assert.equal(session.pings, 0);
});
