/**
 * A watch over a WebSocket, for browsers: each event is one message, a text in JSON and binary in protobuf. What the client says is not
 * listened to; its going ends the watch. The handshake is refused as upstream's library refuses it: a page's origin must be told, and of
 * sub-protocols there may be one, besides the one that carries a token.
 */
import { finished } from 'node:stream';
import { webSocketLibrary } from '../../base/lazy-module.ts';
import { bearerProtocolPrefix } from '../authentication/token-authenticator.ts';
import type { UpgradeConnection, WatchSource } from '../request.ts';
import { drained } from './http2-stream.ts';

/** A protobuf frame of a stream begins with its length, which a message knows by itself. */
const lengthPrefixBytes = 4;

export interface ServedWatch {
  readonly frames: WatchSource;
  readonly contentType: string;
}

export function serveWatchOverWebSocket(upgrade: UpgradeConnection, { frames, contentType }: ServedWatch): void {
  const { socket, request, head } = upgrade;
  finished(socket, () => frames.cancel());
  const refusal = refusalOf(upgrade);
  if (refusal) {
    frames.cancel();
    socket.end(refusal);
    return;
  }
  const { WebSocketServer } = webSocketLibrary();
  const [protocol] = protocolsOf(upgrade);
  const server = new WebSocketServer({ noServer: true, handleProtocols: () => protocol ?? false });
  server.handleUpgrade(request, socket, head, (webSocket) => {
    const binary = contentType.startsWith('application/vnd.kubernetes.protobuf');
    webSocket.on('error', () => frames.cancel());
    webSocket.on('close', () => frames.cancel());
    frames.pumpTo({
      write(batch) {
        for (const frame of batch) {
          const bytes = frame.encoded();
          webSocket.send(binary ? bytes.subarray(lengthPrefixBytes) : bytes, { binary });
        }
        return socket.writableNeedDrain ? drained(socket) : undefined;
      },
      end() {
        webSocket.close(1000);
      },
    });
  });
}

function protocolsOf({ request }: UpgradeConnection): string[] {
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  return offered.filter((protocol) => protocol !== '' && !protocol.startsWith(bearerProtocolPrefix));
}

/** The whole answer to a handshake that cannot be; undefined for one that can. */
function refusalOf(upgrade: UpgradeConnection): string | undefined {
  const { origin, 'sec-websocket-key': key, 'sec-websocket-version': version } = upgrade.request.headers;
  if (!key) return 'HTTP/1.1 400 Bad Request\r\n\r\nmismatch challenge/response';
  if (version !== '13') {
    return 'HTTP/1.1 400 Bad Request\r\nSec-WebSocket-Version: 13\r\n\r\nmissing or bad WebSocket Version';
  }
  if (!origin || !URL.canParse(origin)) return 'HTTP/1.1 403 Forbidden\r\n\r\n';
  return protocolsOf(upgrade).length > 1 ? 'HTTP/1.1 400 Bad Request\r\n\r\n' : undefined;
}
