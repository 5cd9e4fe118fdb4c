/** The API server as the composition root sees it. */

export { type HttpServerOptions, type ListeningServer, startHttpServer } from './http/http-server.ts';
export { loopbackUser } from './loopback-user.ts';
export {
  type ApiServer,
  type ApiServerOptions,
  type ApiStore,
  type BytesStore,
  createApiServer,
  type Security,
} from './server.ts';
