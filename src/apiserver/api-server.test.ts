/** The client's contract, kept by the API server over both stores and both transports. */
import { describeClient } from '../client/client.contract.ts';
import { openServerWithDefault, type StoreName, serveHttps } from './api-server.fixture.ts';

for (const storeName of ['memory', 'LMDB'] satisfies StoreName[]) {
  describeClient(`direct calls, ${storeName} store`, () => openServerWithDefault({ storeName }));

  describeClient(`HTTPS, ${storeName} store`, async () => {
    const opened = await openServerWithDefault({ storeName });
    const https = await serveHttps(opened.server);
    return {
      client: https.client,
      async close() {
        await https.close();
        await opened.close();
      },
    };
  });
}
