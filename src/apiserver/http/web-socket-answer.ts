/**
 * Answers that leave over a WebSocket, for browsers: each event of a watch is one message, a text in JSON and binary in protobuf, and a log
 * leaves in messages as it comes. What the client says is not listened to; its going ends the answer. A reader who does not read is waited
 * for. The handshake is refused as upstream's library refuses it.
 */
import { finished } from 'node:stream';
import type { WebSocket } from 'ws';
import { isRequestUri } from '../../apimachinery/go-url.ts';
import { webSocketLibrary } from '../../base/lazy-module.ts';
import { bearerProtocolPrefix } from '../authentication/token-authenticator.ts';
import { joinedChunks } from '../encoding/list-encoding.ts';
import type { Chunk, UpgradeConnection, WatchSource } from '../request.ts';
import { drained } from './http2-stream.ts';
import type { EncodedResponse } from './response-encoding.ts';

/** A protobuf frame of a stream begins with its length, which a message knows by itself. */
const lengthPrefixBytes = 4;
/** Of a log in one message, as upstream reads it. */
const messageBytes = 2048;
/** A client says nothing that would be listened to: this much of it is kept until it is whole. */
const maxPayload = 1 << 20;

export async function answerOverWebSocket(
  upgrade: UpgradeConnection,
  { headers, body }: EncodedResponse,
): Promise<void> {
  if (body.kind === 'watch') serveWatch(upgrade, body.frames, headers['content-type'] ?? '');
  else if (body.kind === 'stream') await servePieces(upgrade, body.chunks);
}

/** Whatever single sub-protocol a page names is its own affair, but it must say where it comes from. */
function serveWatch(upgrade: UpgradeConnection, frames: WatchSource, contentType: string): void {
  const { socket } = upgrade;
  finished(socket, () => frames.cancel());
  const protocols = protocolsOf(upgrade);
  const { origin = '' } = upgrade.request.headers;
  const refusal =
    handshakeRefusal(upgrade) ??
    (isRequestUri(origin) ? undefined : forbidden) ??
    (protocols[1] ? badRequest : undefined);
  if (refusal) {
    frames.cancel();
    refuse(upgrade, refusal);
    return;
  }
  const binary = contentType.startsWith('application/vnd.kubernetes.protobuf');
  accept(upgrade, protocols[0], (webSocket) => {
    webSocket.on('close', () => frames.cancel());
    frames.pumpTo({
      write(batch) {
        for (const frame of batch) {
          const bytes = frame.encoded();
          webSocket.send(binary ? bytes.subarray(lengthPrefixBytes) : bytes, { binary });
        }
        return socket.writableNeedDrain ? drained(socket) : undefined;
      },
      end: () => close(webSocket, upgrade),
    });
  });
}

const binaryProtocols: ReadonlySet<string> = new Set(['', 'binary.k8s.io']);
const base64Protocol = 'base64.binary.k8s.io';

/** Begins with an empty message, so that the client knows that it was understood before there is anything to tell. */
async function servePieces(upgrade: UpgradeConnection, chunks: AsyncIterable<Chunk>): Promise<void> {
  const offered = protocolsOf(upgrade);
  if (offered.length === 0) offered.push('');
  const protocol = offered.find((name) => name === base64Protocol || binaryProtocols.has(name));
  const refusal = handshakeRefusal(upgrade) ?? (protocol === undefined ? forbidden : undefined);
  let webSocket: WebSocket | undefined;
  if (refusal) refuse(upgrade, refusal);
  else
    accept(upgrade, protocol, (accepted) => {
      webSocket = accepted;
    });
  const binary = protocol !== base64Protocol;
  const { socket } = upgrade;
  webSocket?.send('', { binary });
  try {
    // Where nobody listens the source is still begun, and left at once: only then does it let go of what it holds.
    for await (const chunk of joinedChunks(chunks)) {
      if (!webSocket || webSocket.readyState !== webSocket.OPEN) break;
      for (let at = 0; at < chunk.length; at += messageBytes) {
        const piece = chunk.subarray(at, at + messageBytes);
        webSocket.send(binary ? piece : Buffer.from(piece).toString('base64'), { binary });
      }
      if (socket.writableNeedDrain) await drained(socket);
    }
  } catch {
    // What came before the source broke off is all there is to tell.
  }
  if (webSocket) close(webSocket, upgrade);
}

/** Calls back at once; does not when the client has gone. */
function accept(upgrade: UpgradeConnection, protocol: string | undefined, use: (webSocket: WebSocket) => void): void {
  const { request, socket, head } = upgrade;
  const { WebSocketServer } = webSocketLibrary();
  const options = { noServer: true, maxPayload, autoPong: false, handleProtocols: () => protocol || false } as const;
  new WebSocketServer(options).handleUpgrade(request, socket, head, (webSocket) => {
    // The library has told the client what is wrong, and would wait for an answer.
    webSocket.on('error', () => socket.end(() => socket.destroy()));
    // Answers to pings must not pile up before a client who reads none of them.
    webSocket.on('ping', (data) => {
      if (!socket.writableNeedDrain) webSocket.pong(data);
    });
    use(webSocket);
  });
}

/** Says that it is over and hangs up, without waiting for the client to say so too. */
function close(webSocket: WebSocket, { socket }: UpgradeConnection): void {
  webSocket.close(1000);
  socket.end();
}

function protocolsOf({ request }: UpgradeConnection): string[] {
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  return offered.filter((protocol) => protocol !== '' && !protocol.startsWith(bearerProtocolPrefix));
}

const forbidden = 'HTTP/1.1 403 Forbidden\r\n\r\n';
const badRequest = 'HTTP/1.1 400 Bad Request\r\n\r\n';

/** The whole answer to a handshake that cannot be; undefined for one that can. */
function handshakeRefusal({ request }: UpgradeConnection): string | undefined {
  const { 'sec-websocket-key': key, 'sec-websocket-version': version } = request.headers;
  if (request.method !== 'GET') return 'HTTP/1.1 405 Method Not Allowed\r\n\r\nbad method';
  if (!key) return `${badRequest}mismatch challenge/response`;
  if (version === '13') return undefined;
  return 'HTTP/1.1 400 Bad Request\r\nSec-WebSocket-Version: 13\r\n\r\nmissing or bad WebSocket Version';
}

function refuse({ socket }: UpgradeConnection, answer: string): void {
  socket.end(answer, () => socket.destroy());
}
