/** Finds out about peers of HTTP/2 that vanished without a word, and lets go of those who want nothing any more. */
import type { ServerHttp2Session } from 'node:http2';
import type { Clock } from '../../base/clock.ts';

export const pingIntervalMs = 30_000;
const sessionIdleTimeoutMs = 300_000;

type CheckedSession = Pick<
  ServerHttp2Session,
  'ping' | 'destroy' | 'destroyed' | 'close' | 'once' | 'setTimeout' | 'state'
>;

/** Until the session closes. A session is destroyed some time before it says that it has closed, and must not be pinged then. */
export function keepChecking(session: CheckedSession, clock: Clock): void {
  let answered = true;
  const beat = () => {
    timer = clock.after(pingIntervalMs, () => {
      if (session.destroyed) return;
      if (!answered) {
        session.destroy();
        return;
      }
      answered = false;
      session.ping(() => {
        answered = true;
      });
      beat();
    });
  };
  let timer = { cancel() {} };
  beat();
  session.once('close', () => timer.cancel());
  session.setTimeout(sessionIdleTimeoutMs, () => {
    const { activeStreams = 0 } = session.state as { activeStreams?: number };
    if (activeStreams === 0) session.close();
  });
}
