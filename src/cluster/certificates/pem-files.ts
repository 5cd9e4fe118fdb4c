/** PEM files that a flag names: what cannot be read is told with the flag. */
import { readFileSync } from 'node:fs';
import { CommandError } from '../command-error.ts';

export function readPem(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CommandError(
      `${flag} ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`,
      'Give the path of a PEM file.',
    );
  }
}

export function readOptionalPem(flag: string, path: string): string | undefined {
  return path === '' ? undefined : readPem(flag, path);
}
