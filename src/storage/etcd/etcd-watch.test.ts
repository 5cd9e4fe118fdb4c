/** A watch at members that do as the test says: what real ones do by chance, and what a change of their release means for a watch that goes on. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { grpcServer } from '../../base/grpc/index.ts';
import type { Sent } from '../../base/protobuf/message-codec.ts';
import { bufferCodec } from '../codec.ts';
import { recordWatch } from '../watch-recorder.fixture.ts';
import { EtcdStore } from './etcd-store.ts';
import { methods, type WatchRequest, watchMethod } from './messages.ts';

type WatchAnswer = Sent<typeof watchMethod.response>;
type Answer = WatchAnswer | 'end';

/** What the members say when they are asked for it. */
const newest = 9;

interface ScriptedMember {
  readonly endpoint: string;
  /** The next stream that is opened here. */
  stream(): Promise<ScriptedStream>;
}

interface ScriptedStream {
  /** The next request. */
  asked(): Promise<WatchRequest>;
  /** Requests that have come and have not been taken. */
  readonly waiting: readonly WatchRequest[];
  answer(response: WatchAnswer): void;
  end(): void;
}

test('it asks for its own range, and for its progress once it has been created', async (t) => {
  const member = await scriptedMember(t, '3.5.13');
  const watch = watchAt(t, [member]);
  const stream = await member.stream();
  const { create } = await stream.asked();
  assert.deepEqual([text(create?.key), text(create?.rangeEnd)], ['/own/', '/own0']);
  // Of the second reading, so that a question after the first would have come.
  for (let i = 0; i < 2; i++) assert.equal(await watch.store.currentRevision(), 9);
  assert.deepEqual(stream.waiting, []);
  stream.answer({ header: { revision: 7 }, created: true });
  assert.ok((await stream.asked()).progress);
  stream.answer({ header: { revision: 9 } });
  await watch.record.untilProgress(9);
  assert.deepEqual(watch.record.told, [9]);
});

test('what an older member says of progress is passed over, and all its keys are asked for', async (t) => {
  const member = await scriptedMember(t, '3.5.12');
  const { record } = watchAt(t, [member]);
  const stream = await member.stream();
  const { create } = await stream.asked();
  assert.deepEqual([text(create?.key), text(create?.rangeEnd)], ['\0', '\0']);
  stream.answer({ header: { revision: 7 }, created: true });
  stream.answer({ header: { revision: 9 } });
  stream.answer({ header: { revision: 9 }, events: [put('/other/a', 8)] });
  await record.untilProgress(8);
  assert.deepEqual(record.told, [8]);
});

test('it goes on where it was at a member of another release, in the way of that one, and back', async (t) => {
  const members = [await scriptedMember(t, '3.5.13'), await scriptedMember(t, '3.4.23')] as const;
  const { record } = watchAt(t, members);
  const first = await members[0].stream();
  await first.asked();
  first.answer({ header: { revision: 5 }, created: true });
  first.answer({ header: { revision: 5 }, events: [put('/own/a', 5)] });
  first.answer({ header: { revision: 6 } });
  await record.untilProgress(6);
  first.end();

  const second = await members[1].stream();
  const { create } = await second.asked();
  assert.deepEqual([text(create?.key), create?.startRevision], ['\0', 6]);
  second.answer({ header: { revision: 9 }, created: true });
  second.answer({ header: { revision: 9 } });
  second.answer({ header: { revision: 9 }, events: [put('/own/b', 7), put('/other/a', 8)] });
  await record.untilProgress(8);
  second.end();

  const third = await members[0].stream();
  const again = (await third.asked()).create;
  assert.deepEqual([text(again?.key), again?.startRevision], ['/own/', 8]);
  third.answer({ header: { revision: 9 }, created: true });
  third.answer({ header: { revision: 9 }, events: [put('/own/c', 9)] });
  await record.untilEvents(3);
  assert.deepEqual(
    record.events.map(({ key, revision }) => `${key} ${revision}`),
    ['/own/a 5', '/own/b 7', '/own/c 9'],
  );
  assert.deepEqual(record.told, [5, 6, 7, 8, 9]);
});

/** A watch of `/own/` from revision 1 on, by a store that knows of no other revision. */
function watchAt(t: TestContext, members: readonly ScriptedMember[]) {
  const endpoints = members.map(({ endpoint }) => endpoint);
  const store = new EtcdStore<Buffer>({ endpoints, codec: bufferCodec, clock: systemClock });
  t.after(() => store.close());
  return { store, record: recordWatch(store, { start: '/own/', end: '/own0', afterRevision: 1 }) };
}

async function scriptedMember(t: TestContext, version: string): Promise<ScriptedMember> {
  const streams = queue<ScriptedStream>();
  const server = await grpcServer();
  server.unary(methods.status, async () => ({ version }));
  server.unary(methods.range, async () => ({ header: { revision: newest } }));
  server.duplex(watchMethod, (requests) => {
    const answers = queue<Answer>();
    streams.add(scriptedStream(requests, answers));
    return answersUntilEnd(answers);
  });
  const port = await server.listen('127.0.0.1:0');
  t.after(() => server.close());
  return { endpoint: `http://127.0.0.1:${port}`, stream: streams.take };
}

function scriptedStream(incoming: AsyncIterable<WatchRequest>, answers: Queue<Answer>): ScriptedStream {
  const requests = queue<WatchRequest>();
  const read = async () => {
    for await (const request of incoming) requests.add(request);
  };
  // It fails when the other side goes away.
  read().catch(() => {});
  return {
    asked: requests.take,
    waiting: requests.waiting,
    answer: answers.add,
    end: () => answers.add('end'),
  };
}

async function* answersUntilEnd(answers: Queue<Answer>): AsyncIterable<WatchAnswer> {
  for (;;) {
    const answer = await answers.take();
    if (answer === 'end') return;
    yield answer;
  }
}

interface Queue<T> {
  readonly waiting: readonly T[];
  add(item: T): void;
  take(): Promise<T>;
}

function queue<T>(): Queue<T> {
  const waiting: T[] = [];
  const takers: ((item: T) => void)[] = [];
  return {
    waiting,
    add(item: T): void {
      const taker = takers.shift();
      if (taker) taker(item);
      else waiting.push(item);
    },
    take: (): Promise<T> =>
      new Promise((resolve) => {
        if (waiting.length > 0) resolve(waiting.shift()!);
        else takers.push(resolve);
      }),
  };
}

function put(key: string, revision: number) {
  return { kv: { key: Buffer.from(key), createRevision: revision, modRevision: revision, value: Buffer.from('v') } };
}

function text(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString();
}
