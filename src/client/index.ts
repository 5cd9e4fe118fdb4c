/**
 * `coracle/client`: talk to any Kubernetes API server.
 *
 *     const config = parseKubeconfig(await readFile(path, 'utf8'), dirname(path));
 *     const transport = createHttpTransport(await transportOptions(config, { clock: systemClock, readFile }));
 *     const client = createClient(transport);
 *     for await (const event of client.watch(pods, { namespace: 'default' })) console.log(event.type);
 */

export type { Draft, KubeObject } from '../apimachinery/meta.ts';
export { draft, keyOf, splitKey } from '../apimachinery/meta.ts';
export { customResource, type ResourceType, resourcePath } from '../apimachinery/resource.ts';
export {
  isAlreadyExists,
  isConflict,
  isExpired,
  isForbidden,
  isInvalid,
  isNotFound,
  isTooManyRequests,
  isUnauthorized,
  type Status,
  StatusError,
} from '../apimachinery/status.ts';
export { systemClock } from '../base/clock.ts';
export type * from './client.ts';
export { ConnectionError, isConnectionError, isConnectionRefused } from './connection-error.ts';
export {
  createHttpTransport,
  HttpTransport,
  type HttpTransportOptions,
  type Impersonation,
  type TlsOptions,
} from './http-transport.ts';
export * from './kubeconfig.ts';
export { retryOnConflict } from './retry-on-conflict.ts';
export { createClient, patchContentTypes } from './typed-client.ts';
