/** What the handlers of both versions of HTTP need of the server they belong to. */
import type { TLSSocket } from 'node:tls';
import type { ApiRequest, ApiResponse } from '../request.ts';
import type { BodyReading, HttpRequest } from './http-request.ts';
import type { EncodedResponse, FrameJoiner } from './response-encoding.ts';

export interface ConnectionContext {
  readonly bodies: BodyReading;
  readonly joiner: FrameJoiner;
  /** Whether to end this HTTP/2 connection gently with the answer, by `--goaway-chance`. */
  sendsAway(): boolean;
  /** Never rejects. */
  respond(request: HttpRequest): Promise<EncodedResponse>;
  failure(error: unknown, request: Pick<ApiRequest, 'method' | 'path' | 'signal'>): ApiResponse;
  /** DER of the client's chain, leaf first; asked for once per connection. */
  certificatesOf(socket: TLSSocket): readonly Buffer[];
}
