/** What the tests of this folder share: a memory API, a fake clock, chance with a seed, and a log that can be read. */
import type { Log, LogFields } from '../base/log.ts';
import { seededRandom } from '../base/random.ts';
import { createClient } from '../client/typed-client.ts';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import { MemoryApi } from '../testing/memory-api.ts';
import { componentContext } from './component.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: LogFields | undefined;
}

export function harness() {
  const clock = new FakeClock();
  const api = new MemoryApi({ clock });
  const client = createClient(api);
  const stop = new AbortController();
  const lines: LogLine[] = [];
  const random = seededRandom(1);
  const log = recordingLog(lines);
  const context = componentContext({ client, clock, random, log, signal: stop.signal });
  return {
    api,
    client,
    clock,
    random,
    lines,
    log,
    context,
    informers: context.informers,
    signal: stop.signal,
    stop,
    settle,
  };
}

function recordingLog(lines: LogLine[]): Log {
  const at = (level: LogLine['level']) => (message: string, fields?: LogFields) =>
    void lines.push({ level, message, fields });
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log };
  return log;
}
