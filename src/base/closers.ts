/**
 * What was opened and has to be closed, the last first. As `AsyncDisposableStack`, which Node.js 22 does not have.
 */
type Close = () => PromiseLike<void> | void;

export class Closers implements AsyncDisposable {
  #closers: Close[] = [];

  defer(close: Close): void {
    this.#closers.push(close);
  }

  use<T extends AsyncDisposable>(resource: T): T {
    this.defer(() => resource[Symbol.asyncDispose]());
    return resource;
  }

  /** Closes everything, one after the other, even where one fails; rejects with what failed. A second call has nothing left to close. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 1) throw new AggregateError(failures, failures.map(String).join('; '));
    if (failures.length === 1) throw failures[0];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
