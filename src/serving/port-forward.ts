/**
 * Port-forward at the end that has the ports: the client opens an error and a data stream for each connection, tied by a request id;
 * the data stream is joined to the port. Used where no container runtime does it for us.
 */
import { messageOf } from '../apimachinery/status.ts';
import { webSocketLibrary } from '../base/lazy-module.ts';
import { offeredProtocols } from './remote-command.ts';
import { SpdyConnection, type SpdyConnectionOptions, type SpdyStream } from './spdy/connection.ts';
import { acceptUpgrade, type UpgradeRequest } from './upgrade.ts';

/** Runs one forwarded connection to its end; throwing tells the client why it failed. */
export type ForwardConnection = (
  port: number,
  data: { readonly incoming: AsyncIterable<Uint8Array>; write(chunk: Uint8Array): Promise<void> },
  signal: AbortSignal,
) => Promise<void>;

const portForwardProtocol = 'portforward.k8s.io';

/** A client that speaks SPDY. */
export function acceptPortForward(client: UpgradeRequest, forward: ForwardConnection): void {
  acceptUpgrade(client.socket, {
    Connection: 'Upgrade',
    Upgrade: 'SPDY/3.1',
    'X-Stream-Protocol-Version': portForwardProtocol,
  });
  new SpdyConnection(client.socket, client.head, serverOptions(forward));
}

/** A client that speaks SPDY inside a WebSocket. */
export function acceptTunnel(client: UpgradeRequest, forward: ForwardConnection): void {
  const protocol = `SPDY/3.1+${portForwardProtocol}`;
  const isOffered = offeredProtocols(client.request.headers, 'sec-websocket-protocol').includes(protocol);
  const { createWebSocketStream, WebSocketServer } = webSocketLibrary();
  const server = new WebSocketServer({ noServer: true, handleProtocols: () => isOffered && protocol });
  server.handleUpgrade(client.request, client.socket, client.head, (socket) => {
    new SpdyConnection(createWebSocketStream(socket), Buffer.alloc(0), serverOptions(forward));
  });
}

function serverOptions(forward: ForwardConnection): SpdyConnectionOptions {
  const pairs = new Map<string, { error?: SpdyStream; data?: SpdyStream }>();
  const gone = new AbortController();
  return {
    role: 'server',
    onStream(stream) {
      const { streamtype, requestid = '', port } = stream.headers;
      const pair = pairs.get(requestid) ?? {};
      pairs.set(requestid, pair);
      if (streamtype === 'error') pair.error = stream;
      else pair.data = stream;
      const { error, data } = pair;
      if (!error || !data) return;
      pairs.delete(requestid);
      void forward(Number(port), data, gone.signal)
        .catch((reason: unknown) =>
          error.write(Buffer.from(`error forwarding port ${port} to pod: ${messageOf(reason)}`)),
        )
        .finally(() => {
          error.finish();
          data.finish();
        });
    },
    onClose: () => gone.abort(),
  };
}
