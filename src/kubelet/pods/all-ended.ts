/** Work of a Pod's at the same time, of which none outlives the step that it belongs to. */

/** As `Promise.all`, but when one fails the others have ended too: nothing goes on behind the worker's back. */
export async function allEnded<T extends readonly unknown[]>(
  work: readonly [...T],
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
