/** A method of a gRPC service: where it is, and how its messages are written and read. */

/** What is sent may be looser than what is received: it may leave fields out. */
export interface WireCodec<Sent, Received> {
  readonly encode: (message: Sent) => Buffer;
  /** Throws for bytes that are no such message. */
  readonly decode: (bytes: Uint8Array) => Received;
}

/** As much of a method as its caller needs. */
export interface CalledMethod<SentRequest, Response> {
  /** With its package and service: `/csi.v1.Node/NodeGetInfo`. */
  readonly path: string;
  readonly request: Pick<WireCodec<SentRequest, unknown>, 'encode'>;
  readonly response: Pick<WireCodec<never, Response>, 'decode'>;
}

/** As much of a method as its server needs. */
export interface ServedMethod<Request, SentResponse> {
  readonly path: string;
  readonly request: Pick<WireCodec<never, Request>, 'decode'>;
  readonly response: Pick<WireCodec<SentResponse, unknown>, 'encode'>;
}

/** Both ends of it. */
export interface GrpcMethod<Request extends WireCodec<never, unknown>, Response extends WireCodec<never, unknown>> {
  readonly path: string;
  readonly request: Request;
  readonly response: Response;
}
