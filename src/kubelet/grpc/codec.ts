/**
 * Protocol buffers of the interfaces that a kubelet speaks, from generated tables: enumerations as names, numbers of 64 bits as `bigint`,
 * lists and maps that are never absent. Fields that the table does not know are skipped: a newer peer may send them.
 */
import type { GrpcMethod as Method, WireCodec } from '../../base/grpc/index.ts';
import {
  enumKind,
  type Field,
  MessageLayout,
  messageKind,
  scalarKinds,
  type ValueKind,
} from '../../base/protobuf/message-layout.ts';

/** A field on the wire: tag, name, kind, referenced type, 1 if repeated. A map is of text by text. */
export type WireField = readonly [tag: number, name: string, kind: string, reference: string, repeated: 0 | 1];

export interface WireRows<M> {
  readonly messages: Readonly<Record<keyof M, readonly WireField[]>>;
  /** An enum's values stand at their numbers. */
  readonly enums: Readonly<Record<string, readonly string[]>>;
}

/** `M`: message types by name. Each is laid out when it is first used. */
export class WireTable<M> {
  readonly #rows: WireRows<M>;
  readonly #layouts = new Map<keyof M, MessageLayout>();

  constructor(rows: WireRows<M>) {
    this.#rows = rows;
  }

  codec<N extends keyof M>(name: N): WireCodec<Outgoing<M[N]>, M[N]> {
    const { encode, decode } = this.#layout(name);
    return { encode: encode as (message: Outgoing<M[N]>) => Buffer, decode: decode as (bytes: Uint8Array) => M[N] };
  }

  #layout(name: keyof M): MessageLayout {
    let layout = this.#layouts.get(name);
    if (!layout) {
      layout = new MessageLayout(this.#rows.messages[name].map((row) => this.#field(row)));
      this.#layouts.set(name, layout);
    }
    return layout;
  }

  #field([number, name, kind, reference, repeated]: WireField): Field {
    if (kind === 'map') return { number, name, kind: scalarKinds.string, shape: 'map' };
    return { number, name, kind: this.#kind(kind, reference), shape: repeated ? 'list' : 'single' };
  }

  #kind(kind: string, reference: string): ValueKind {
    if (kind === 'message') return messageKind(() => this.#layout(reference as keyof M));
    if (kind === 'enum') return enumKind(reference, this.#rows.enums[reference]!);
    const scalar = scalarKinds[kind as keyof typeof scalarKinds];
    if (!scalar) throw new TypeError(`no encoding for ${kind}`);
    return scalar;
  }
}

/** `Methods`: types of request and response by method. */
export interface GrpcService<Methods> {
  /** With its package: `csi.v1.Node`. */
  readonly name: string;
  readonly wire: { codec(message: never): WireCodec<never, unknown> };
  /** Names of messages, and whether many of them answer. */
  readonly methods: Readonly<
    Record<keyof Methods, { readonly request: string; readonly response: string; readonly streams?: true }>
  >;
}

/** A method as a connection calls it, or a server answers it. */
export type GrpcMethod<Q, A> = Method<WireCodec<Outgoing<Q>, Q>, WireCodec<Outgoing<A>, A>>;

export type RequestOf<Methods, M extends keyof Methods> = Methods[M] extends { request: infer Q } ? Q : never;
export type ResponseOf<Methods, M extends keyof Methods> = Methods[M] extends { response: infer A } ? A : never;

/** `name`: of the service, where it goes by another one than in the facts. */
export function grpcMethod<Methods, M extends keyof Methods & string>(
  service: GrpcService<Methods>,
  method: M,
  name = service.name,
): GrpcMethod<RequestOf<Methods, M>, ResponseOf<Methods, M>> {
  const { request, response } = service.methods[method];
  return {
    path: `/${name}/${method}`,
    request: service.wire.codec(request as never) as GrpcMethod<RequestOf<Methods, M>, never>['request'],
    response: service.wire.codec(response as never) as GrpcMethod<never, ResponseOf<Methods, M>>['response'],
  };
}

/** A message to be sent: every field may be left out, and 64-bit numbers may be plain numbers. */
export type Outgoing<T> = T extends bigint
  ? bigint | number
  : T extends Uint8Array | string | number | boolean
    ? T
    : T extends readonly (infer E)[]
      ? readonly Outgoing<E>[]
      : T extends Readonly<Record<string, string>>
        ? T
        : { readonly [K in keyof T]?: Outgoing<T[K]> | undefined };
