/**
 * The store on etcd. With upstream's key layout:
 *
 *     await openEtcdStore({
 *       endpoints: ['https://10.0.0.1:2379', 'https://10.0.0.2:2379'],
 *       tls: { caPem, certificatePem, keyPem },
 *       root: registryRoot('/registry'),
 *       codec: bufferCodec,
 *       clock,
 *     });
 */
export { Compactor, type CompactorOptions } from './compactor.ts';
export type { EtcdTls } from './connection.ts';
export { type EtcdRequest, EtcdStore, type EtcdStoreOptions, openEtcdStore } from './etcd-store.ts';
export { type KeyRoot, registryRoot } from './key-space.ts';
