import { join } from 'node:path';
import { Child } from './parts/child.ts';
import { ask, openSession } from './parts/https-client.ts';
import { createDefaultAccount } from './parts/objects.ts';
import { temporaryFolder } from './parts/temporary.ts';
import { subjects } from './parts/write-objects.ts';
import type { StartedServer } from './processes/server.ts';
const [mode, subjectName, what = 'create', count = '3000'] = process.argv.slice(2);
const subject = subjects.find((s) => s.name === subjectName)!;
await using server = new Child('server', { flags: process.env.PROF ? ['--cpu-prof', '--cpu-prof-dir=/tmp/lead/prof', '--cpu-prof-interval=200'] : [] });
const directory = process.env.MEM ? undefined : join(temporaryFolder(), 'store');
const { admin } = await server.ask<StartedServer>({ kind: 'start', directory, controllers: [] });
await createDefaultAccount(admin);
const sessions = await Promise.all(Array.from({ length: 8 }, () => openSession(admin)));
const send = async (requests: any[]) => {
  if (mode === 'pipeline') return ((await server.ask<any>({ kind: 'send', requests, concurrency: Number(process.env.CONC ?? 32), keepBodies: false })) as any).microseconds;
  const began = await server.ask<number>({ kind: 'cpu' });
  let next = 0;
  await Promise.all(Array.from({ length: 32 }, async (_: unknown, client: number) => {
    while (next < requests.length) {
      const { method, target, contentType, body } = requests[next++];
      const a = await ask(sessions[client % 8]!, target, { method, ...(body ? { body, contentType: contentType ?? 'application/json' } : {}) });
      if (a.status >= 300) throw new Error(`${a.status}`);
    }
  }));
  return (await server.ask<number>({ kind: 'cpu' })) - began;
};
for (let round = 0; round < 5; round++) {
  const names = Array.from({ length: Number(count) / 5 }, (_, i) => `r${round}-${i}`);
  const creates = names.map((name) => ({ method: 'POST', target: subject.path, contentType: 'application/json', body: JSON.stringify(subject.object(name)) }));
  let us = await send(creates);
  if (what === 'update') {
    const gets = names.map((name) => ({ method: 'GET', target: `${subject.path}/${name}` }));
    const bodies = ((await server.ask<any>({ kind: 'send', requests: gets, concurrency: 32, keepBodies: true })) as any).bodies as string[];
    us = await send(names.map((name, i) => ({ method: 'PUT', target: `${subject.path}/${name}`, contentType: 'application/json', body: bodies[i]!.replace(...subject.change) })));
  }
  console.log(round, (us / names.length).toFixed(0));
}
for (const s of sessions) s.destroy();
await server.ask({ kind: 'stop' });

process.exit();
