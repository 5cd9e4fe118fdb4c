import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { internalError, unauthorized } from '../../apimachinery/status.ts';
import { type Log, silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { batchingSink } from './batching-sink.ts';
import { type AuditEvent, encodeEvent, encodeEvents, legacyLine } from './event.ts';
import { rotatingFile } from './rotating-file.ts';
import { type AuditSink, lenientSink, logSink, truncatingSink, unionSink } from './sink.ts';
import { webhookSink } from './webhook-sink.ts';

function event(auditID: string, more: Partial<AuditEvent> = {}): AuditEvent {
  return {
    level: 'Request',
    auditID,
    stage: 'ResponseComplete',
    requestURI: '/api/v1/namespaces/a/pods?limit=1',
    verb: 'list',
    user: { username: 'ada', groups: ['x', 'y'] },
    sourceIPs: ['192.0.2.7'],
    userAgent: 'kubectl/v1.36',
    requestReceivedTimestamp: '2026-01-01T00:00:00.000000Z',
    stageTimestamp: '2026-01-01T00:00:00.001000Z',
    ...more,
  };
}

/** Keeps the batches it is given; `answer` says what becomes of them. */
function recorder(answer: () => boolean | Promise<boolean> = () => true) {
  const batches: string[][] = [];
  const sink: AuditSink = {
    process(events) {
      batches.push(events.map(({ auditID }) => auditID));
      return answer();
    },
    close: async () => {},
  };
  return { batches, sink };
}

function recordedLog() {
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (message, fields) => void errors.push(`${message}: ${fields?.error}`) };
  return { log, errors };
}

describe('An event', () => {
  it('is one line with upstream’s fields in upstream’s order, objects as they came', () => {
    const text = encodeEvent(event('1', { requestObject: '{"a":1}', annotations: { k: 'v' } }));
    assert.ok(!text.includes('\n'));
    assert.deepEqual(Object.keys(JSON.parse(text)), [
      'kind',
      'apiVersion',
      'level',
      'auditID',
      'stage',
      'requestURI',
      'verb',
      'user',
      'sourceIPs',
      'userAgent',
      'requestObject',
      'requestReceivedTimestamp',
      'stageTimestamp',
      'annotations',
    ]);
    const list = JSON.parse(encodeEvents([event('1'), event('2')]));
    assert.deepEqual([list.kind, list.items.map((item: AuditEvent) => item.auditID)], ['EventList', ['1', '2']]);
  });

  it('in the legacy format names who, what and how it went', () => {
    assert.equal(
      legacyLine(event('1', { objectRef: { namespace: 'a' }, responseStatus: { metadata: {}, code: 200 } })),
      '2026-01-01T00:00:00.000000Z AUDIT: id="1" stage="ResponseComplete" ip="192.0.2.7" method="list" user="ada" groups="\\"x\\",\\"y\\"" as="<self>" asgroups="<lookup>" user-agent="kubectl/v1.36" namespace="a" uri="/api/v1/namespaces/a/pods?limit=1" response="200"',
    );
  });
});

describe('A batching sink', () => {
  const options = (clock: FakeClock, log = silentLog) => ({
    clock,
    log,
    bufferSize: 4,
    maxBatchSize: 2,
    maxWaitMs: 1000,
    concurrent: false,
  });

  it('sends full batches at once and others after a while, one after the other', async () => {
    const clock = new FakeClock();
    const { batches, sink } = recorder();
    const batching = batchingSink(sink, options(clock));
    batching.process([event('1')]);
    assert.deepEqual(batches, []);
    batching.process([event('2'), event('3')]);
    assert.deepEqual(batches, [['1', '2']]);
    await clock.advance(999);
    assert.equal(batches.length, 1);
    await clock.advance(1);
    assert.deepEqual(batches, [['1', '2'], ['3']]);
  });

  it('loses what comes while the buffer is full, and says so', async () => {
    const clock = new FakeClock();
    const { log, errors } = recordedLog();
    const { batches, sink } = recorder(() => new Promise(() => {}));
    const batching = batchingSink(sink, options(clock, log));
    for (let i = 0; i < 8; i++) assert.equal(batching.process([event(String(i))]), true);
    assert.deepEqual(batches, [['0', '1']]);
    assert.deepEqual(errors, Array(2).fill('audit events were lost: audit buffer queue blocked'));
  });

  it('sends no faster than its throttle', async () => {
    const clock = new FakeClock();
    const { batches, sink } = recorder();
    const throttle = { perSecond: 1, burst: 1 };
    const batching = batchingSink(sink, { ...options(clock), maxBatchSize: 1, throttle });
    batching.process([event('1'), event('2'), event('3')]);
    assert.equal(batches.length, 1);
    await clock.advance(1000);
    assert.equal(batches.length, 2);
    await clock.advance(1000);
    assert.equal(batches.length, 3);
  });

  it('sends what is left when it is closed', async () => {
    const clock = new FakeClock();
    const { batches, sink } = recorder();
    const batching = batchingSink(sink, options(clock));
    batching.process([event('1')]);
    await batching.close();
    assert.deepEqual(batches, [['1']]);
    assert.equal(clock.pending, 0);
  });
});

describe('A truncating sink', () => {
  it('takes objects out of events that are too large, and gives up those that still are', async () => {
    const { log, errors } = recordedLog();
    const seen: AuditEvent[] = [];
    const sink: AuditSink = { process: (events) => seen.push(...events) > 0, close: async () => {} };
    const truncating = truncatingSink(sink, { maxEventBytes: 800, maxBatchBytes: 10_000, log });
    await truncating.process([
      event('1', { requestObject: JSON.stringify({ a: 'x'.repeat(1000) }) }),
      event('2', { requestURI: 'y'.repeat(1000) }),
    ]);
    assert.deepEqual(
      seen.map(({ auditID, requestObject, annotations }) => [auditID, requestObject, annotations]),
      [['1', undefined, { 'audit.k8s.io/truncated': 'true' }]],
    );
    assert.deepEqual(errors, ['audit events were lost: event is too large even after truncating']);
  });

  it('splits batches that are too large', async () => {
    const { batches, sink } = recorder();
    const bytes = Buffer.byteLength(encodeEvent(event('1'))) + 1;
    const truncating = truncatingSink(sink, { maxEventBytes: 9999, maxBatchBytes: 2 * bytes, log: silentLog });
    await truncating.process(['1', '2', '3'].map((id) => event(id)));
    assert.deepEqual(batches, [['1', '2'], ['3']]);
  });
});

describe('A webhook sink', () => {
  const sinkOf = (answers: readonly (Error | undefined)[], clock: FakeClock) => {
    const calls: number[] = [];
    const tell = async () => {
      const answer = answers[calls.length];
      calls.push(clock.monotonic());
      if (answer) throw answer;
    };
    const options = { clock, random: seededRandom(1), log: silentLog, initialBackoffMs: 1000 };
    return { calls, sink: webhookSink({ tell }, options) };
  };

  it('tries again what may pass, with growing pauses, and gives up after five times', async () => {
    const clock = new FakeClock();
    const { calls, sink } = sinkOf(Array(9).fill(internalError('down')), clock);
    const told = Promise.resolve(sink.process([event('1')]));
    await clock.advance(60_000);
    assert.equal(await told, false);
    assert.equal(calls.length, 5);
    const pauses = calls.slice(1).map((at, index) => at - calls[index]!);
    assert.ok(
      pauses.every((pause, index) => pause >= 1000 * 1.5 ** index && pause <= 1200 * 1.5 ** index),
      String(pauses),
    );
  });

  it('repeats what was refused too, as upstream', async () => {
    const clock = new FakeClock();
    const { calls, sink } = sinkOf([unauthorized()], clock);
    const told = Promise.resolve(sink.process([event('1')]));
    await clock.advance(60_000);
    assert.equal(await told, true);
    assert.equal(calls.length, 2);
  });
});

describe('Sinks', () => {
  it('side by side have told an event when all of them have; a lenient one always has', async () => {
    const [good, bad] = [recorder(), recorder(() => false)];
    assert.equal(await unionSink([good.sink, bad.sink]).process([event('1')]), false);
    assert.equal(await unionSink([good.sink, lenientSink(bad.sink)]).process([event('1')]), true);
    assert.equal(bad.batches.length, 2);
  });

  it('that cannot write say so', async () => {
    const { log, errors } = recordedLog();
    const writer = {
      write() {
        throw new Error('disk full');
      },
      close() {},
    };
    assert.equal(logSink(writer, { format: 'json', log }).process([event('1')]), false);
    assert.deepEqual(errors, ['audit events were lost: disk full']);
  });
});

describe('A rotating file', () => {
  it('starts anew when it is full, keeps some backups, and compresses them when asked', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coracle-audit-'));
    try {
      const clock = new FakeClock();
      const path = join(folder, 'audit.log');
      const limits = { maxBytes: 10, maxBackups: 2, maxAgeDays: 1, compress: false };
      const file = rotatingFile({ path, clock, ...limits });
      for (const line of ['aaaaaaaa\n', 'bbbbbbbb\n', 'cccccccc\n', 'dddddddd\n']) {
        file.write(line);
        await clock.advance(1000);
      }
      assert.deepEqual(readdirSync(folder).sort(), [
        'audit-2026-01-01T00-00-02.000.log',
        'audit-2026-01-01T00-00-03.000.log',
        'audit.log',
      ]);
      assert.equal(readFileSync(path, 'utf8'), 'dddddddd\n');
      await clock.advance(2 * 86_400_000);
      file.write('eeeeeeee\n');
      file.close();
      assert.deepEqual(readdirSync(folder).sort(), ['audit-2026-01-03T00-00-04.000.log', 'audit.log']);
      const compressing = rotatingFile({ path, clock, ...limits, compress: true });
      await clock.advance(1000);
      compressing.write('ffffffff\n');
      compressing.close();
      const compressed = () => readdirSync(folder).includes('audit-2026-01-03T00-00-05.000.log.gz');
      while (!compressed()) await settle(1);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
