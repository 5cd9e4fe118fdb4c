/** How a gRPC call can end: the codes' numbers, and their names as Go's library writes them, which users know from events and metrics. */

export const grpcCodes = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const;

const goNames: ReadonlyMap<number, string> = new Map([
  ...Object.entries(grpcCodes).map(([name, code]) => [code, `${name[0]!.toUpperCase()}${name.slice(1)}`] as const),
  [grpcCodes.ok, 'OK'] as const,
  [grpcCodes.cancelled, 'Canceled'] as const,
]);

/** `NotFound` for 5. */
export function grpcCodeName(code: number): string {
  return goNames.get(code) ?? 'Unknown';
}
