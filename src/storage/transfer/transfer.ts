/**
 * What all ways of moving a whole store have in common: snapshots, restores and migrations read a source once, object by object,
 * and write what they read into something that did not exist before or is told to be replaced.
 */

/** One object as it stands, with what is needed to make it stand the same elsewhere. */
export interface StoredObject {
  readonly key: string;
  readonly value: Buffer;
  readonly revision: number;
  readonly createRevision: number;
  /** Wall time at which it disappears; 0: never. */
  readonly expiresAtMs: number;
}

export interface TransferSource extends AsyncDisposable {
  /** The store's at the moment that is read: at least that of every object. */
  readonly revision: number;
  readonly count: number;
  /** In rising order of revision. Of a snapshot once only. */
  read(): AsyncIterable<StoredObject>;
}

/** Called now and then with how many objects are done. */
export type Told = (done: number, all: number) => void;

/** How many objects pass between two calls of `Told`. */
export const tellEvery = 1000;

/** The file or store is not what it must be; the message says what is wrong. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
}
