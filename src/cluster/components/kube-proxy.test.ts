import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceCIDRs } from '../../api/gen/networking-v1.ts';
import { MemoryApi } from '../../testing/memory-api.ts';
import { MemoryInformers } from '../../testing/memory-informers.ts';
import { withServiceCidrs } from './kube-proxy.ts';

test('the proxy works with the ranges that Services have, and anew when these change', async () => {
  const api = new MemoryApi();
  const cidr = (name: string, ...cidrs: string[]) =>
    api.put(serviceCIDRs, { metadata: { name, uid: name }, spec: { cidrs } });
  cidr('kubernetes', '10.96.0.0/16');
  const stopping = new AbortController();
  const runs: (readonly string[])[] = [];
  let begun = Promise.withResolvers<void>();
  const running = withServiceCidrs(
    { informers: new MemoryInformers(api), signal: stopping.signal },
    async (cidrs, inForce) => {
      runs.push(cidrs);
      begun.resolve();
      await new Promise<void>((resolve) => inForce.addEventListener('abort', () => resolve(), { once: true }));
    },
  );
  await begun.promise;
  begun = Promise.withResolvers();
  cidr('same', '10.96.0.0/16');
  cidr('more', 'fd00:1::/108');
  await begun.promise;
  stopping.abort();
  await running;
  assert.deepEqual(runs, [['10.96.0.0/16'], ['10.96.0.0/16', 'fd00:1::/108']]);
});
