/** What is worked out when it is first asked for, and then remembered. */
export function once<T>(compute: () => T): () => T {
  let memo: { readonly value: T } | undefined;
  return () => {
    memo ??= { value: compute() };
    return memo.value;
  };
}
