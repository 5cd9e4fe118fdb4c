/** A failure that the person at the terminal can do something about: what is wrong, and what to do next. Printed without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly advice: string;
  constructor(problem: string, advice: string) {
    super(problem);
    this.advice = advice;
  }
}
