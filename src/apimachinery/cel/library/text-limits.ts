/** How long a text a function may make: costs are counted after a call, and some calls multiply their arguments. */
import { CelError } from '../index.ts';

/** Twenty times the largest request, and far below what the platform can hold. */
export const longestText: number = 2 ** 26;

export const tooLong = (): CelError => new CelError(`string is longer than ${longestText} characters`);
