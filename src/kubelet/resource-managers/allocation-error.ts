/** Why a node cannot give a Pod what it is to have for itself: the reason and the message of its rejection. */
export class AllocationError extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.name = 'AllocationError';
    this.reason = reason;
  }
}
