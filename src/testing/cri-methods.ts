/** The methods of the Container Runtime Interface, as those of a test's runtime are answered. */
import type { Outgoing } from '../kubelet/grpc/codec.ts';
import type { ImageServiceMethods, RuntimeServiceMethods } from '../kubelet/runtime/cri/gen/cri-v1.ts';

export type CriMethods = RuntimeServiceMethods & ImageServiceMethods;
export type CriMethod = keyof CriMethods & string;
type Request<M extends CriMethod> = CriMethods[M]['request'];
type Response<M extends CriMethod> = Outgoing<CriMethods[M]['response']>;

export type CriAnswer<M extends CriMethod> = (request: Request<M>) => Promise<Response<M>> | Response<M>;
export type CriAnswers = { readonly [M in CriMethod]?: CriAnswer<M> };
