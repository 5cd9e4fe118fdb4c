import { FakeClock } from '../testing/fake-clock.ts';
import { MemoryApi } from '../testing/memory-api.ts';
import { describeClient } from './client.contract.ts';
import { createClient } from './typed-client.ts';

describeClient('the memory API', async () => {
  const api = new MemoryApi({ clock: new FakeClock() });
  return { client: createClient(api), close: () => api.close() };
});
